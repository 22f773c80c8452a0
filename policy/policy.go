package policy

import (
	"context"
	"encoding/json"

	"github.com/parley-mcp/parley/inbox"
)

// A Policy decides for a host. Implementations are safe for concurrent use, keep
// nothing of their input, and decide quickly: a call waits for them, with its
// claim held.
type Policy interface {
	// Call decides whether a call may go on. It is asked in the phases Compose,
	// Resume and Deliver.
	Call(ctx context.Context, in *Input) (Decision, error)
	// Question decides whether a question may be shown. It is asked in the phase
	// Asked, in which in is the call that the question belongs to.
	Question(ctx context.Context, in *Input, q Question) (Showing, error)
}

// A Phase is the moment at which a policy is asked.
type Phase string

const (
	Compose Phase = "compose" // a new call, before it is first sent
	Resume  Phase = "resume"  // before the call is sent again, with or without answers
	Deliver Phase = "deliver" // before an answer leaves on a held connection
	Asked   Phase = "asked"   // the server asks: may the question be shown?
)

// Methods of calls, as MCP names them.
const (
	ToolsCall     = "tools/call"
	PromptsGet    = "prompts/get"
	ResourcesRead = "resources/read"
)

// An Input is what a policy knows of a call. It holds no answer, no result and
// no text of a question, so none of them can change a decision.
type Input struct {
	Phase Phase

	Actor        inbox.Actor     // who composed the call
	Principal    inbox.Principal // on whose behalf
	Groups       []string        // of the principal, as its issuer says now; names mean something within that issuer and tenant only
	Conversation string

	Server  string // its key in the servers file
	Trusted bool   // the operator believes what the server says about its tools
	Method  string // ToolsCall, PromptsGet or ResourcesRead
	Name    string // of the tool or prompt; the resource's URI

	// Annotations are the tool's own, as the server listed them; the zero value
	// for what is no tool. Policies read [Input.Hints] instead.
	Annotations Annotations
	// Arguments are the bytes that will be sent: a JSON object or empty. They are
	// a model's or a page's words, and may be anything.
	Arguments json.RawMessage
}

// Annotations are a tool's hints about itself, under the names of MCP's
// ToolAnnotations; nil is a hint that was not given.
type Annotations struct {
	ReadOnly    *bool `json:"readOnlyHint"`
	Destructive *bool `json:"destructiveHint"`
	Idempotent  *bool `json:"idempotentHint"`
	OpenWorld   *bool `json:"openWorldHint"`
}

// Hints are annotations that may be relied on.
type Hints struct {
	ReadOnly    bool // it changes nothing
	Destructive bool // it may delete or overwrite
	Idempotent  bool // calling it twice with the same arguments is as calling it once
	OpenWorld   bool // it deals with what is outside the server
}

// Hints returns what may be believed about the tool: the annotations of a
// trusted server, with the protocol's defaults for what it did not say, and the
// worst for all others (MCP 2026-07-28, ToolAnnotations: "Clients should never
// make tool use decisions based on ToolAnnotations received from untrusted
// servers"). A tool that calls itself read-only and destructive is taken for
// destructive.
func (in *Input) Hints() Hints {
	worst := Hints{Destructive: true, OpenWorld: true}
	if !in.Trusted || in.Method != ToolsCall {
		return worst
	}
	said := func(hint *bool, otherwise bool) bool {
		if hint == nil {
			return otherwise
		}
		return *hint
	}
	a := in.Annotations
	h := Hints{OpenWorld: said(a.OpenWorld, worst.OpenWorld)}
	h.ReadOnly = said(a.ReadOnly, false) && !said(a.Destructive, false)
	if h.ReadOnly {
		h.Idempotent = true // what changes nothing can be done twice
		return h
	}
	h.Destructive = said(a.Destructive, worst.Destructive)
	h.Idempotent = said(a.Idempotent, false)
	return h
}

// A Question is what a policy knows of a question: how it is asked and where it
// would lead, never what it says or what was answered.
type Question struct {
	Mode inbox.Mode
	// Domain is the host of the address in URL mode, as link.Report.Host has it:
	// ASCII, lower case, without port. Empty in form mode, and where no program
	// could tell which host is meant.
	Domain string
}

// A Showing is the decision about a question.
type Showing struct {
	Show   bool   // false: the question is refused, and the server gets an error
	Rule   string // the name of the rule that decided
	Reason string // one plain sentence for people
}
