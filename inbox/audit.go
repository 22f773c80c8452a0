package inbox

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// AuditKind says what happened.
type AuditKind string

const (
	AuditComposed         AuditKind = "composed"   // a call; with what allows it, if nobody has to be asked
	AuditAllowed          AuditKind = "allowed"    // a call, as it was marked to leave, by another rule or approval than the trail told last
	AuditAsked            AuditKind = "asked"      // a question, or the same one again
	AuditShown            AuditKind = "shown"      // a question or an approval, by a surface
	AuditExpiring         AuditKind = "expiring"   // a question has no answer and will expire soon
	AuditRefused          AuditKind = "refused"    // Count questions, by the policy; by the limit in Reason: for Options.Observe only, the log could be filled with them
	AuditOpened           AuditKind = "opened"     // the person agreed to go to an address
	AuditAnswered         AuditKind = "answered"   // a question
	AuditChecked          AuditKind = "checked"    // an answer did not fit and was refused
	AuditTakenBack        AuditKind = "taken_back" // an answer
	AuditDelivered        AuditKind = "delivered"  // answers were marked to leave: all of a round, or one of a held question; with what allows it
	AuditClosed           AuditKind = "closed"     // a question ended without an answer
	AuditCompleted        AuditKind = "completed"  // the server says that the person is done at an address
	AuditBlocked          AuditKind = "blocked"    // a call cannot go on before something else has happened: see Reason
	AuditUncertain        AuditKind = "uncertain"  // a call was sent, and nobody knows
	AuditFinished         AuditKind = "finished"   // a call ended
	AuditDenied           AuditKind = "denied"     // a call ended, denied
	AuditStopped          AuditKind = "stopped"    // a call was stopped; State says whether it ended with it
	AuditResolved         AuditKind = "resolved"   // an uncertain call, by a person
	AuditApprovalAsked    AuditKind = "approval_asked"
	AuditApprovalExpiring AuditKind = "approval_expiring" // nobody has decided it, and it will expire soon
	AuditApprovalDecided  AuditKind = "approval_decided"
	AuditApprovalClosed   AuditKind = "approval_closed"  // without a decision
	AuditApprovalRevoked  AuditKind = "approval_revoked" // a standing one
	AuditDisabled         AuditKind = "disabled"         // a person
	AuditEnabled          AuditKind = "enabled"          // a person
	AuditErased           AuditKind = "erased"           // a person
	AuditCredentialRead   AuditKind = "credential_read"  //nolint:gosec // no credential
	AuditSignedIn         AuditKind = "signed_in"        // a person to a server; State: first, again or other_account
	AuditSignedOut        AuditKind = "signed_out"       // a person of a server
	AuditNotRevoked       AuditKind = "not_revoked"      // what a person signed out of, by its authorization server; State: pending or gave_up
)

const (
	maxChecks   = 20  // checked entries of one question
	maxEvidence = 512 // bytes
	maxSurfaces = 16  // that have shown a question or an approval
)

// AuditPurpose and the context (the person's key, the id of the call or
// question) are what [Keys.SameDigest] needs to tell whether a digest is of a
// given text: the params of a question, the content of an answer, a result.
const AuditPurpose = "inbox audit"

// AuditEntry is one thing that happened: who, when, what, from where. It is
// written in the transaction of what it tells of, so neither is there without
// the other, and no operation changes it. It holds no content: no argument, no
// answer, no result, no address; where those matter there is a digest of them.
// Its JSON is what is exported.
type AuditEntry struct {
	ID        int64     `json:"id"` // rises, over all people
	At        time.Time `json:"at"`
	Kind      AuditKind `json:"kind"`
	Principal Principal `json:"principal,omitzero"` // whose rows it is about; zero: of an erased person

	Call     CallID     `json:"call,omitempty"`
	Question QuestionID `json:"question,omitempty"`
	Approval ApprovalID `json:"approval,omitempty"`
	Server   string     `json:"server,omitempty"`
	Tool     string     `json:"tool,omitempty"` // the call's name
	Method   string     `json:"method,omitempty"`
	Actor    Actor      `json:"actor,omitempty"`
	Mode     Mode       `json:"mode,omitempty"`
	Era      Era        `json:"era,omitempty"`
	Replaces CallID     `json:"replaces,omitempty"` // of a call that runs another one again
	Round    int        `json:"round,omitempty"`
	Waited   int64      `json:"waited_ms,omitempty"` // of an answered question: milliseconds since it was first asked
	Count    int        `json:"count,omitempty"`     // of the answers that were delivered; of the sends of a call that ended

	// Who did it: a machine, another person (an approver, an operator), or, with
	// neither, the principal.
	Machine   string    `json:"machine,omitempty"`
	By        Principal `json:"by,omitzero"`
	Via       string    `json:"via,omitempty"`
	Assurance string    `json:"assurance,omitempty"`
	Remote    string    `json:"remote,omitempty"`
	UserAgent string    `json:"user_agent,omitempty"`
	Evidence  string    `json:"evidence,omitempty"` // of what was shown, in the surface's own words

	State  string   `json:"state,omitempty"`  // that it led to
	Reason string   `json:"reason,omitempty"` // a stable code
	Rule   string   `json:"rule,omitempty"`   // of the policy
	Scope  Scope    `json:"scope,omitempty"`
	Codes  []string `json:"codes,omitempty"`  // why an answer was refused
	Digest string   `json:"digest,omitempty"` // of arguments, question, answer or result; see [AuditPurpose]

	// Unreadable says that the row is damaged: the entry has what its columns say, and
	// nothing of the rest.
	Unreadable bool `json:"unreadable,omitempty"`

	// Trace is that of the call, for Options.Observe only: it is not written.
	Trace Trace `json:"-"`
}

// Source says where a request comes from. It is evidence, nothing is decided by it.
type Source struct {
	By        Principal // who asks for it, if not the person whose rows it is about: an operator
	Via       string    // the surface
	Assurance string
	Remote    string // address
	UserAgent string // its beginning is kept
}

type sourceKey struct{}

// WithSource makes all that is done with the context record where it comes from.
func WithSource(ctx context.Context, s Source) context.Context {
	return context.WithValue(ctx, sourceKey{}, s)
}

func sourceOf(ctx context.Context) Source {
	s, _ := ctx.Value(sourceKey{}).(Source)
	return s
}

// audit writes what happened, with who did it.
func (w *work) audit(e AuditEntry) error {
	row, err := w.auditRow(e)
	if err != nil {
		return err
	}
	w.observe(e)
	return w.tx.AppendAudit(row)
}

// byMachine does what nobody has asked for: a time has passed, or a policy decides. The
// trail does not say that it was done by whoever comes just then.
func (w *work) byMachine(f func() error) error {
	before := w.machine
	w.machine = true
	defer func() { w.machine = before }()
	return f()
}

// observe shows what happened to Options.Observe, after the commit.
func (w *work) observe(e AuditEntry) {
	if w.in.options.Observe == nil {
		return
	}
	e.At, e.Principal = w.now, w.principal
	if c := w.calls[e.Call]; c != nil {
		e.Trace = c.Trace
	}
	w.observed = append(w.observed, e)
}

func (w *work) auditRow(e AuditEntry) (*AuditRow, error) {
	if w.machine {
		e.Machine = w.in.options.Owner
	} else {
		if e.By == (Principal{}) {
			e.By = w.source.By
		}
		if e.By == w.principal {
			e.By = Principal{}
		}
		if e.Via == "" {
			e.Via = w.source.Via
		}
		if e.Assurance == "" {
			e.Assurance = w.source.Assurance
		}
		e.Remote, e.UserAgent = w.source.Remote, w.source.UserAgent
	}
	for _, text := range []*string{&e.Via, &e.Assurance, &e.Remote, &e.UserAgent, &e.Tool, &e.Server} {
		*text = clip(*text)
	}
	row := &AuditRow{At: w.now, Kind: e.Kind, Call: e.Call}
	e.ID, e.At, e.Kind, e.Call, e.Principal = 0, time.Time{}, "", "", Principal{}
	detail, err := json.Marshal(auditDetail{AuditEntry: e})
	row.Detail = detail
	return row, err
}

// auditDetail is what a row has beside its columns.
type auditDetail struct {
	AuditEntry
	ID   struct{} `json:"id,omitzero"` // hide those of the entry
	At   struct{} `json:"at,omitzero"`
	Kind struct{} `json:"kind,omitzero"`
}

// openAudit reads a row. A damaged one must not keep the others from who reads the log.
func openAudit(row *AuditRow) *AuditEntry {
	e := &AuditEntry{}
	if err := json.Unmarshal(row.Detail, e); err != nil {
		e = &AuditEntry{Unreadable: true}
	}
	e.ID, e.At, e.Kind, e.Call, e.Principal = row.ID, row.At, row.Kind, row.Call, Principal{}
	if row.Principal != "" {
		p, err := ParsePrincipal(row.Principal)
		e.Principal, e.Unreadable = p, e.Unreadable || err != nil
	}
	return e
}

// auditCall and auditQuestion begin an entry about a row.
func (w *work) auditCall(kind AuditKind, c *callRecord) AuditEntry {
	return AuditEntry{Kind: kind, Call: c.ID, Server: c.Server, Tool: c.Name, Era: c.Era}
}

func (w *work) auditQuestion(kind AuditKind, q *questionRecord) AuditEntry {
	return AuditEntry{Kind: kind, Call: q.Call, Question: q.ID, Server: q.Server, Mode: q.Mode, Round: q.Round}
}

func (w *work) auditApproval(kind AuditKind, a *approvalRecord) AuditEntry {
	return AuditEntry{Kind: kind, Call: a.Call, Approval: a.ID, Server: a.Server, Tool: a.Tool, Rule: a.Rule, State: string(a.State)}
}

// auditEnd tells how a call ended, or that nobody knows.
func (w *work) auditEnd(c *callRecord) error {
	kind := AuditFinished
	switch c.State {
	case Denied:
		kind = AuditDenied
	case Stopped:
		kind = AuditStopped
	case Uncertain:
		kind = AuditUncertain
	}
	e := w.auditCall(kind, c)
	e.State, e.Reason, e.Rule, e.Round, e.Count = string(c.State), c.Reason, c.Rule, c.Round, c.Sends
	switch e.Digest = w.digest(string(c.ID), c.Result); {
	case c.Reason == ReasonDenied: // a rule ended it
	case c.Reason == ReasonNotAllowed, c.Reason == ReasonNotDecided: // the last that was asked for ended it
		e.Approval = c.Approval
	case c.told == authority{}: // nothing left, or a version before it was told sent it
		e.Approval = c.Approval
	default:
		e.Approval = c.told.approval
	}
	return w.audit(e)
}

// digest is that of content that an entry leaves out; empty of none.
func (w *work) digest(id string, content []byte) string {
	if len(content) == 0 {
		return ""
	}
	return w.in.keys.Digest(AuditPurpose, []string{w.key, id}, content)
}

// AuditFilter selects audit entries; zero fields do not select.
type AuditFilter struct {
	Call   CallID
	Kinds  []AuditKind
	Before int64 // the ID of the last entry of the page before
	Limit  int   // default 100, at most 500
}

// Audit lists what happened to the person's rows, newest first.
func (in *Inbox) Audit(ctx context.Context, p Principal, f AuditFilter) ([]*AuditEntry, error) {
	list := []*AuditEntry{}
	var faults []string
	err := in.view(ctx, p.Key(), func(w *work) error {
		rows, err := w.tx.Audits(AuditQuery{Call: f.Call, Kinds: f.Kinds, Before: f.Before, Limit: pageSize(f.Limit)})
		if err != nil {
			return err
		}
		list, faults = openAudits(rows)
		return nil
	})
	in.report(faults)
	return list, err
}

// AuditAll lists what happened to anybody's rows, oldest first, after the entry
// with the given ID, at most limit (default 100, at most 500). It is for
// operators: nothing is left out by person. No entry with a lower ID than one
// that was listed comes later, so the last ID is where to go on.
func (in *Inbox) AuditAll(ctx context.Context, after int64, limit int) ([]*AuditEntry, error) {
	rows, err := in.store.Audit(ctx, after, pageSize(limit))
	if err != nil {
		return nil, err
	}
	list, faults := openAudits(rows)
	in.report(faults)
	return list, nil
}

func openAudits(rows []*AuditRow) (list []*AuditEntry, faults []string) {
	list = make([]*AuditEntry, 0, len(rows))
	for _, row := range rows {
		e := openAudit(row)
		if e.Unreadable {
			faults = append(faults, fmt.Sprint("audit entry ", row.ID))
		}
		list = append(list, e)
	}
	return list, faults
}

// CredentialUse says which credential was read, and what for. It never holds a value.
type CredentialUse struct {
	Call       CallID // empty: for no call
	Server     string
	Credential string // its name
	Purpose    string
}

// CredentialRead records that a person's credential was read, before it is used:
// without the record there is no use.
func (in *Inbox) CredentialRead(ctx context.Context, p Principal, use CredentialUse) error {
	if err := p.check(); err != nil {
		return err
	}
	if err := checkText("the use of a credential", string(use.Call), use.Server, use.Credential, use.Purpose); err != nil {
		return err
	}
	return in.update(ctx, p.Key(), func(w *work) error {
		return w.audit(AuditEntry{
			Kind: AuditCredentialRead, Call: use.Call, Server: use.Server, Evidence: clip(use.Credential), Reason: clip(use.Purpose),
		})
	})
}

// A CredentialChange says that what a person has at a server began or ended.
type CredentialChange struct {
	Kind   AuditKind // AuditSignedIn, AuditSignedOut or AuditNotRevoked
	Server string
	State  string
}

// CredentialChanged records that what a person has at a server began or ended.
func (in *Inbox) CredentialChanged(ctx context.Context, p Principal, change CredentialChange) error {
	if err := p.check(); err != nil {
		return err
	}
	switch change.Kind {
	case AuditSignedIn, AuditSignedOut, AuditNotRevoked:
	default:
		return fmt.Errorf("%w: %q is no change of a credential", ErrInvalid, change.Kind)
	}
	if err := checkText("the change of a credential", change.Server, change.State); err != nil {
		return err
	}
	return in.update(ctx, p.Key(), func(w *work) error {
		return w.audit(AuditEntry{Kind: change.Kind, Server: change.Server, State: clip(change.State)})
	})
}

// trimAudit removes what is older than it has to be kept.
func (in *Inbox) trimAudit(ctx context.Context) error {
	const batch = 1000
	for in.options.AuditRetention > 0 {
		n, err := in.store.TrimAudit(ctx, in.options.AuditRetention, batch)
		if err != nil || n < batch {
			return err
		}
	}
	return nil
}

// checkEvidence bounds what a surface says of what it has shown.
func checkEvidence(evidence string) error {
	if len(evidence) > maxEvidence {
		return fmt.Errorf("%w: the evidence is longer than %d bytes", ErrInvalid, maxEvidence)
	}
	return checkText("the evidence", evidence)
}
