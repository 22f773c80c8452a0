package inbox

import (
	"bytes"
	"fmt"
	"time"
)

const approvalPurpose = "inbox approval"

// approvalDetail is the readable part of an approval's row.
type approvalDetail struct {
	Actor     Actor    `json:"actor,omitempty"`
	Method    string   `json:"method,omitempty"`
	Rule      string   `json:"rule,omitempty"`
	NotAsker  bool     `json:"not_asker,omitempty"`
	Offer     []Scope  `json:"offer,omitempty"`
	Scope     Scope    `json:"scope,omitempty"`
	DecidedBy string   `json:"decided_by,omitempty"`
	Via       string   `json:"via,omitempty"`
	Assurance string   `json:"assurance,omitempty"`
	ExpiresAt micros   `json:"expires_at"`
	Remind    micros   `json:"remind,omitempty"`
	Told      int64    `json:"told,omitempty"`
	Shown     []string `json:"shown,omitempty"`
	Removed   bool     `json:"removed,omitempty"`
	Lost      bool     `json:"lost,omitempty"` // as a call's
}

// approvalContent is the sealed part. The arguments are there once more: with
// the call's row a list of approvals would read the results too.
type approvalContent struct {
	Tool        string             `json:"tool,omitempty"`
	Arguments   []byte             `json:"arguments,omitempty"`
	Description string             `json:"description,omitempty"`
	Fingerprint string             `json:"fingerprint,omitempty"`
	Reason      string             `json:"reason,omitempty"`
	Answered    []AnsweredQuestion `json:"answered,omitempty"`
	Changed     *ToolChange        `json:"changed,omitempty"`
	Seen        *toolSeen          `json:"seen,omitempty"`
}

type approvalRecord struct {
	Approval
	standing string    // its standingKey while it stands
	told     int64     // the version that its assignee has an event of
	remind   time.Time // when an entry of the audit log tells that it will expire; zero: it did, or never
	shown    []string
	tool     *toolSeen // what the card shows of the tool

	fault    error  // as a call's
	lost     bool   // the readable part was damaged
	assigned string // the assignee in the row, which stays while there is a fault

	sealed, plain []byte
	more, within  members
	dirty         dirt
}

// openApproval is openCall for an approval.
func (w *work) openApproval(row *ApprovalRow) (*approvalRecord, error) {
	var detail approvalDetail
	more, err := w.decode(row.Detail, &detail)
	if err != nil {
		detail, more = approvalDetail{Actor: Model, Lost: true}, nil
	}
	var content approvalContent
	plain, within, fault, err := w.open(approvalPurpose, "approval", string(row.ID), row.Content, &content)
	if err != nil {
		return nil, err
	}
	assignee, err := parseAssignee(row.Assignee)
	var decider Principal
	if err == nil && detail.DecidedBy != "" {
		decider, err = ParsePrincipal(detail.DecidedBy)
	}
	if detail.Lost {
		content = approvalContent{}
	}
	if fault == nil && (err != nil || detail.Lost) {
		fault = &unreadableError{"approval " + string(row.ID), errDamaged}
	}
	a := &approvalRecord{
		Approval: Approval{
			ID: row.ID, Seq: row.Seq, Call: row.Call, Principal: w.principal,
			Conversation: row.Conversation, Server: row.Server,
			Actor: detail.Actor, Method: detail.Method, Tool: content.Tool, Arguments: content.Arguments, Description: content.Description, Changed: content.Changed, Fingerprint: content.Fingerprint,
			Rule: detail.Rule, Reason: content.Reason, Assignee: assignee, NotAsker: detail.NotAsker,
			Offer: detail.Offer, Answered: content.Answered, State: row.State, Scope: detail.Scope, Standing: row.Standing != "",
			Via: detail.Via, Assurance: detail.Assurance, Version: row.Version,
			Created: row.Created, ExpiresAt: detail.ExpiresAt.time(), Closed: row.Closed, Removed: detail.Removed,
		},
		standing: row.Standing, told: detail.Told, remind: detail.Remind.time(), shown: detail.Shown, tool: content.Seen, lost: detail.Lost, assigned: row.Assignee,
		sealed: row.Content, plain: plain, more: more, within: within,
	}
	a.DecidedBy = decider
	if a.lost {
		a.remind = row.Due // if it was for that
	}
	if fault != nil {
		a.fault, a.Unreadable, a.Reason = fault, true, contentGone
	}
	return a, nil
}

func (w *work) approvalRow(a *approvalRecord) (*ApprovalRow, error) {
	d := approvalDetail{
		Actor: a.Actor, Method: a.Method, Rule: a.Rule, NotAsker: a.NotAsker, Offer: a.Offer, Scope: a.Scope, Via: a.Via, Assurance: a.Assurance,
		ExpiresAt: toMicros(a.ExpiresAt), Remind: toMicros(a.remind), Told: a.told, Shown: a.shown, Removed: a.Removed, Lost: a.lost,
	}
	if a.DecidedBy != (Principal{}) {
		d.DecidedBy = a.DecidedBy.Key()
	}
	detail, err := a.more.with(d)
	if err != nil {
		return nil, err
	}
	plain, err := a.within.with(approvalContent{
		Tool: a.Tool, Arguments: a.Arguments, Description: a.Description, Fingerprint: a.Fingerprint, Reason: a.Reason, Answered: a.Answered,
		Changed: a.Changed, Seen: a.tool,
	})
	if err != nil {
		return nil, err
	}
	if a.fault == nil && (a.sealed == nil || !bytes.Equal(plain, a.plain)) {
		a.sealed, a.plain = w.in.keys.Seal(approvalPurpose, []string{w.key, string(a.ID)}, plain), plain
	}
	row := &ApprovalRow{
		ID: a.ID, Seq: a.Seq, Call: a.Call, Conversation: a.Conversation, Server: a.Server, State: a.State,
		Version: a.Version, Assignee: a.Assignee.key(w.principal), Standing: a.standing,
		Created: a.Created, Closed: a.Closed, Detail: detail, Content: a.sealed,
	}
	if a.fault != nil {
		row.Assignee = a.assigned
	}
	switch {
	case a.untold():
		row.Due = w.now
	case !a.State.Closed():
		row.Due = a.remind
	}
	return row, nil
}

// untold reports whether the person who decides has no event of this version yet.
func (a *approvalRecord) untold() bool {
	p := a.Assignee.Principal
	return p != Principal{} && p != a.Principal && p != erased && a.told < a.Version
}

func (w *work) flushApproval(a *approvalRecord) error {
	if a.dirty == seen {
		seq, err := w.event(ApprovalEvent, string(a.ID))
		if err != nil {
			return err
		}
		if a.Seq == 0 {
			a.Seq = seq
		}
		a.Version++
		w.hints = append(w.hints, Hint{Principal: w.key, Call: a.Call})
		switch key := a.Assignee.key(w.principal); {
		case a.untold():
			w.tells = append(w.tells, a.ID)
		case key != "" && key != w.key:
			w.hints = append(w.hints, Hint{Principal: key, Call: a.Call})
		}
	}
	row, err := w.approvalRow(a)
	if err != nil {
		return err
	}
	a.dirty = clean
	return w.tx.PutApproval(row)
}

// approval is call for an approval.
func (w *work) approval(id ApprovalID) (*approvalRecord, error) { return readable(w.anyApproval(id)) }

func (w *work) anyApproval(id ApprovalID) (*approvalRecord, error) {
	if a := w.approvals[id]; a != nil {
		return a, nil
	}
	row, err := w.tx.Approval(id)
	if err != nil {
		return nil, err
	}
	return w.adoptApproval(row)
}

func (w *work) adoptApproval(row *ApprovalRow) (*approvalRecord, error) {
	if a := w.approvals[row.ID]; a != nil {
		return a, nil
	}
	a, err := w.openApproval(row)
	if err != nil {
		return nil, err
	}
	keep(&w.approvals, row.ID, a)
	return a, nil
}

func (w *work) touchApproval(a *approvalRecord) {
	if a.dirty == clean {
		w.touched = append(w.touched, a)
	}
	a.dirty = seen
}

func (w *work) touchApprovalQuietly(a *approvalRecord) {
	if a.dirty == clean {
		w.touched = append(w.touched, a)
		a.dirty = quiet
	}
}

func (w *work) closeApproval(a *approvalRecord, to ApprovalState) error {
	if err := follow(approvalArrows, a.State, to); err != nil {
		return fmt.Errorf("%w (approval %s)", err, a.ID)
	}
	a.State, a.Closed = to, w.now
	w.touchApproval(a)
	if to == ApprovalAllowed || to == ApprovalDenied {
		e := w.auditApproval(AuditApprovalDecided, a)
		e.By, e.Scope, e.Via, e.Assurance = a.DecidedBy, a.Scope, a.Via, a.Assurance
		return w.audit(e)
	}
	return w.audit(w.auditApproval(AuditApprovalClosed, a))
}
