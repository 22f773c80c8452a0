package client

import (
	"encoding/json"
	"time"

	"github.com/parley-mcp/parley/form"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/link"
)

// An Answer is what the person did. Content is for programs; people see Review.
type Answer struct {
	Action  inbox.Action    `json:"action"`
	Content json.RawMessage `json:"content"`
	Review  []ReviewRow     `json:"review"`
	Omitted []OmittedField  `json:"omitted"`
	At      *time.Time      `json:"at"`
	Via     string          `json:"via"`
}

// An AnsweredQuestion names a question, never its answer.
type AnsweredQuestion struct {
	Question inbox.QuestionID `json:"question"`
	Message  string           `json:"message"`
}

// An Approval is the host's own request for permission as pages draw it. It is no
// question: no server asked it.
type Approval struct {
	ID           inbox.ApprovalID    `json:"id"`
	Version      int64               `json:"version"`
	Call         inbox.CallID        `json:"call"`
	Conversation string              `json:"conversation" doc:"empty on calls of other people"`
	Mine         bool                `json:"mine" doc:"it is about a call of this person"`
	Asker        Principal           `json:"asker"`
	Actor        inbox.Actor         `json:"actor"`
	Server       string              `json:"server"`
	ServerLocal  bool                `json:"server_local"`
	Method       string              `json:"method"`
	Tool         string              `json:"tool"`
	ToolTitle    string              `json:"tool_title"`
	Description  string              `json:"description" doc:"of the tool, in the server's words"`
	Arguments    json.RawMessage     `json:"arguments" doc:"what will be sent; in lists and events null if it is larger than 256 KiB: the approval by its id has it whole"`
	Change       *ToolChange         `json:"change" doc:"of the tool, since it was last allowed or seen; null if nothing has changed"`
	Rule         string              `json:"rule"`
	Reason       string              `json:"reason"`
	Assignee     *Assignee           `json:"assignee" doc:"who decides, if not the asker"`
	OtherPerson  bool                `json:"other_person" doc:"the asker may not decide"`
	Offer        []inbox.Scope       `json:"offer"`
	Answered     []AnsweredQuestion  `json:"answered" doc:"questions whose answers would leave with the next send"`
	State        inbox.ApprovalState `json:"state"`
	Scope        inbox.Scope         `json:"scope,omitempty"`
	Standing     bool                `json:"standing" doc:"it covers calls to come"`
	DecidedBy    *Principal          `json:"decided_by"`
	Via          string              `json:"via,omitempty"`
	CanDecide    bool                `json:"can_decide"`
	CreatedAt    *time.Time          `json:"created_at"`
	ExpiresAt    *time.Time          `json:"expires_at"`
	ClosedAt     *time.Time          `json:"closed_at"`

	ArgumentsSize int  `json:"arguments_size,omitempty"`
	Unreadable    bool `json:"unreadable,omitempty" doc:"what is stored of it cannot be read: it can be denied, and not allowed"`
}

// An ApprovalList holds approvals, the oldest first.
type ApprovalList struct {
	Approvals []*Approval `json:"approvals"`
}

// An Assignee names a person or a group.
type Assignee struct {
	Principal *Principal `json:"principal"`
	Group     string     `json:"group,omitempty"`
}

// A Call is a call as pages see it. The request state is not in it: it never
// leaves the host.
//
// Arguments, result and error are what a server or a model made of any size. In
// every row but the one of GET /v1/calls/{id} each is null if it is larger than
// 256 KiB, or if the rows before it filled the answer, and its size in bytes is
// beside it.
type Call struct {
	ID           inbox.CallID       `json:"id"`
	Seq          int64              `json:"seq"`
	Version      int64              `json:"version"`
	Conversation string             `json:"conversation"`
	Server       string             `json:"server"`
	ServerLocal  bool               `json:"server_local"`
	Actor        inbox.Actor        `json:"actor" doc:"who composed it"`
	Method       string             `json:"method"`
	Name         string             `json:"name"`
	Title        string             `json:"title"`
	Arguments    json.RawMessage    `json:"arguments"`
	State        inbox.CallState    `json:"state"`
	Reason       string             `json:"reason,omitempty"`
	Text         string             `json:"text"`
	Round        int                `json:"round"`
	Held         bool               `json:"held"`
	CreatedAt    *time.Time         `json:"created_at"`
	UpdatedAt    *time.Time         `json:"updated_at"`
	EndedAt      *time.Time         `json:"ended_at"`
	ExpiresAt    *time.Time         `json:"expires_at"`
	Result       json.RawMessage    `json:"result"`
	Error        json.RawMessage    `json:"error"`
	Replaces     inbox.CallID       `json:"replaces,omitempty"`
	ReplacedBy   inbox.CallID       `json:"replaced_by,omitempty"`
	Questions    []inbox.QuestionID `json:"questions"`
	Can          CallCan            `json:"can"`

	ArgumentsSize int `json:"arguments_size,omitempty"` // of what was left out
	ResultSize    int `json:"result_size,omitempty"`
	ErrorSize     int `json:"error_size,omitempty"`

	Unreadable bool `json:"unreadable,omitempty" doc:"what is stored of it cannot be read: it can be stopped, and not go on"`
	Withheld   bool `json:"withheld,omitempty" doc:"to a model: what the server answered was left out, since addresses for the person may be in it"`
}

// CallCan says which buttons make sense now.
type CallCan struct {
	Stop        bool `json:"stop"`
	Resolve     bool `json:"resolve"`
	RunAgain    bool `json:"run_again"`
	DeclineRest bool `json:"decline_rest"`
}

// Checked is what Send would send.
type Checked struct {
	Content json.RawMessage `json:"content" doc:"the exact content"`
	Review  []ReviewRow     `json:"review"`
	Omitted []OmittedField  `json:"omitted"`
}

// A Consent says which address the person agreed to.
type Consent struct {
	URLSHA256 string `json:"url_sha256" doc:"SHA-256 of url.href as it was shown, in hex"`
	Via       string `json:"via,omitempty" enum:"chat,inbox,terminal,api"`
}

// A Conversation is a line of the list of conversations.
type Conversation struct {
	ID            string     `json:"id"`
	Title         string     `json:"title"`
	UpdatedAt     *time.Time `json:"updated_at"`
	OpenQuestions int        `json:"open_questions"`
}

// A ConversationList holds them, the one that changed last first.
type ConversationList struct {
	Conversations []*Conversation `json:"conversations"`
}

// An EmbedToken is for the page.
type EmbedToken struct {
	ID           string    `json:"id" doc:"to revoke it; no secret"`
	Token        string    `json:"token" doc:"the page sends it as bearer"`
	ExpiresAt    time.Time `json:"expires_at"`
	Principal    Principal `json:"principal"`
	Conversation string    `json:"conversation"`
	Scopes       []Scope   `json:"scopes"`

	Actor    inbox.Actor      `json:"actor,omitempty" doc:"model: whoever has the token is no person"`
	Approval inbox.ApprovalID `json:"approval,omitempty" doc:"the only one that the page sees; then there is no conversation"`
}

// Entries are what a person typed, by field.
type Entries struct {
	Input form.Input `json:"input"`
}

// A FreshToken is another one-time token.
type FreshToken struct {
	Token     string `json:"token"`
	ExpiresIn int    `json:"expires_in" doc:"seconds"`
}

// A NewAnswer is a person's answer.
type NewAnswer struct {
	Action  inbox.Action    `json:"action"`
	Input   form.Input      `json:"input,omitempty" doc:"with accept: what was typed, by field; or content"`
	Content json.RawMessage `json:"content,omitempty" doc:"with accept: a JSON object; or input"`
	Via     string          `json:"via,omitempty" enum:"chat,inbox,terminal,api"`
}

// A NewCall is a call that a person, or a model for them, put together.
type NewCall struct {
	Conversation string          `json:"conversation" doc:"a name of 1 to 100 bytes; may be left out by a session that is bound to one"`
	Server       string          `json:"server"`
	Tool         string          `json:"tool"`
	Input        form.Input      `json:"input,omitempty" doc:"what was typed, by field; or arguments"`
	Arguments    json.RawMessage `json:"arguments,omitempty" doc:"a JSON object; or input"`

	Actor inbox.Actor `json:"actor,omitempty" doc:"who put it together; by default person, whose own approval it then is. The policy asks about a model's"`
	Via   string      `json:"via,omitempty" enum:"chat,inbox,terminal,api"`
}

// A NewDecision is what a person decides.
type NewDecision struct {
	Allow bool        `json:"allow"`
	Scope inbox.Scope `json:"scope,omitempty" doc:"of an allowance; by default once"`
	Via   string      `json:"via,omitempty" enum:"chat,inbox,terminal,api"`
}

// A NewResolution is a person's decision on a call that nobody knows the end of.
type NewResolution struct {
	How inbox.Resolution `json:"how" doc:"send_again needs the scope call too"`
	Via string           `json:"via,omitempty" enum:"chat,inbox,terminal,api"`
}

// An OmittedField is a field that is not part of the answer.
type OmittedField struct {
	Name  string `json:"name"`
	Label string `json:"label"`
}

// A OneTimeToken is what an address carries.
type OneTimeToken struct {
	Token string `json:"token"`
}

// A Principal is a verified person.
type Principal struct {
	Issuer  string `json:"issuer"`
	Tenant  string `json:"tenant"`
	Subject string `json:"subject"`
}

// A Problem is what went wrong: the wire form of every error (RFC 9457).
type Problem struct {
	Type     string         `json:"type"`
	Title    string         `json:"title"`
	Status   int            `json:"status"`
	Code     string         `json:"code"`
	Detail   string         `json:"detail,omitempty"`
	Params   map[string]any `json:"params,omitempty"`
	Errors   form.Errors    `json:"errors,omitempty"`
	ClosedBy inbox.Closer   `json:"closed_by,omitempty"`
}

// A Question is a question as pages draw it.
type Question struct {
	ID            inbox.QuestionID    `json:"id"`
	Seq           int64               `json:"seq"`
	Version       int64               `json:"version"`
	Call          inbox.CallID        `json:"call"`
	Conversation  string              `json:"conversation"`
	Server        string              `json:"server"`
	ServerLocal   bool                `json:"server_local"`
	ServerAddress string              `json:"server_address"`
	Tool          string              `json:"tool"`
	ToolTitle     string              `json:"tool_title"`
	Mode          inbox.Mode          `json:"mode"`
	Message       string              `json:"message"`
	Findings      []string            `json:"message_findings"`
	View          *form.View          `json:"view"`
	Refused       string              `json:"refused,omitempty"`
	URL           *link.Report        `json:"url"`
	State         inbox.QuestionState `json:"state"`
	Round         int                 `json:"round"`
	Position      int                 `json:"position"` // from 1
	Of            int                 `json:"of"`
	Held          bool                `json:"held"`
	Suggested     form.Input          `json:"suggested"`
	Note          string              `json:"note,omitempty"`
	Answer        *Answer             `json:"answer"`
	ClosedBy      inbox.Closer        `json:"closed_by,omitempty"`
	CanTakeBack   bool                `json:"can_take_back"`
	Unreadable    bool                `json:"unreadable,omitempty" doc:"what is stored of it cannot be read: nobody can answer it, and its call can be stopped"`
	Withheld      bool                `json:"withheld,omitempty" doc:"to a model: the address, or what the person answered, was left out"`
	CompletedAt   *time.Time          `json:"completed_at" doc:"url: when the server first said that the person is done there"`
	CreatedAt     *time.Time          `json:"created_at"`
	ExpiresAt     *time.Time          `json:"expires_at"`
}

// A QuestionList holds the newest questions, the oldest of them first.
type QuestionList struct {
	Questions []*Question `json:"questions"`
}

// A ReviewRow is one value as it will leave, or has left, the person's hands. Value
// is text made on the server, so that no number passes through JavaScript.
type ReviewRow struct {
	Name  string `json:"name"`
	Label string `json:"label"`
	Value string `json:"value"`
	// From is where the value comes from: you, default or earlier.
	From string `json:"from,omitempty"`
}

// A Revocation ends tokens of a person.
type Revocation struct {
	Issuer  string `json:"issuer,omitempty"`
	Tenant  string `json:"tenant,omitempty"`
	Subject string `json:"subject"`
	ID      string `json:"id,omitempty" doc:"of one token; without it all of the person's end"`
}

// A Server is a server of the servers file. It holds no secret: the address is
// the file's own text, with variables unexpanded.
type Server struct {
	ID       string   `json:"id"`
	Kind     string   `json:"kind"`
	Local    bool     `json:"local"`
	Address  string   `json:"address"`
	Domain   string   `json:"domain"`
	Status   string   `json:"status" doc:"\"idle\", \"connected\", \"sign_in\" (it wants a sign-in first) or \"failed\""`
	Era      string   `json:"era,omitempty"`
	Revision string   `json:"revision,omitempty"`
	Error    string   `json:"error,omitempty"`
	Notes    []string `json:"notes"`

	SignIn     string   `json:"sign_in" doc:"\"none\", \"needed\" or \"done\""`
	CanSignIn  bool     `json:"can_sign_in"`
	CanSignOut bool     `json:"can_sign_out"`
	Account    string   `json:"account,omitempty" doc:"who is signed in, if the authorization server says so"`
	Missing    []string `json:"missing,omitempty" doc:"scopes that the server missed since the last sign-in"`
}

// A ServerList holds the servers of the host.
type ServerList struct {
	Servers []Server `json:"servers"`
}

// A Session says who is signed in and what they may do.
type Session struct {
	Principal    Principal `json:"principal"`
	Name         string    `json:"name"`
	Scopes       []Scope   `json:"scopes"`
	Conversation string    `json:"conversation" doc:"the only one that the session sees; empty: all"`
	Operator     bool      `json:"operator"`

	Actor    inbox.Actor      `json:"actor" doc:"model: whoever has the session is no person. Its calls are a model's, and it decides nothing"`
	Approval inbox.ApprovalID `json:"approval,omitempty" doc:"the only thing that the session sees"`

	SignOut bool   `json:"sign_out" doc:"there is POST /sign-out"`
	Product string `json:"product"`
	Version string `json:"version"`
	Model   bool   `json:"model" doc:"a model is connected; if not, the person picks the tools"`
}

// SignedIn is what a page keeps.
type SignedIn struct {
	Token     string    `json:"token" doc:"the bearer"`
	Principal Principal `json:"principal"`
}

// A Snapshot is all that a page shows of a conversation.
type Snapshot struct {
	ID        string      `json:"id"`
	Calls     []*Call     `json:"calls"`
	Questions []*Question `json:"questions"`
	Approvals []*Approval `json:"approvals" doc:"the newest, the oldest of them first"`
	Event     int64       `json:"event" doc:"the last event that is surely in it: go on from there"`
}

// A TokenRequest says whom a token is for, and what for.
type TokenRequest struct {
	Issuer       string   `json:"issuer,omitempty" doc:"that of the API key, which is the default"`
	Tenant       string   `json:"tenant,omitempty"`
	Subject      string   `json:"subject" doc:"the person, as your product knows them for ever"`
	Name         string   `json:"name,omitempty" doc:"to show"`
	Groups       []string `json:"groups,omitempty" doc:"approvals may be assigned to one"`
	Conversation string   `json:"conversation,omitempty" doc:"the only one that the page sees; this or approval"`
	Scopes       []Scope  `json:"scopes"`
	ExpiresIn    int      `json:"expires_in,omitempty" doc:"seconds, at most and by default 600"`

	Actor inbox.Actor `json:"actor,omitempty" doc:"model: the token is for an agent, not for a page. Its calls are a model's, and it has no scope answer"`

	Approval inbox.ApprovalID `json:"approval,omitempty" doc:"in place of a conversation: the only one that the page sees, also of another person's call; with the scopes read and answer"`
}

// A Surface is where a person does something, for the trail: all that changes something
// may say so. It is evidence, nothing is decided by it.
type Surface struct {
	Via string `json:"via,omitempty" enum:"chat,inbox,terminal,api" doc:"by default api"`
}

// A Tool is a tool with the form for its arguments.
type Tool struct {
	Name        string     `json:"name"`
	Title       string     `json:"title"`
	Description string     `json:"description"`
	View        *form.View `json:"view"`
	Refused     string     `json:"refused,omitempty"`

	Fingerprint string      `json:"fingerprint" doc:"of its name, description, input schema and annotations"`
	Changed     bool        `json:"changed" doc:"since the person last saw or allowed it"`
	Change      *ToolChange `json:"change" doc:"what has changed; null if nothing has"`
}

// A ToolChange says how a tool differs from what the person last saw or allowed.
type ToolChange struct {
	New   bool       `json:"new" doc:"it was not among the server's tools then"`
	Parts []ToolPart `json:"parts"`
}

// A ToolPart is one part of a tool that has changed, in the server's words.
type ToolPart struct {
	Part   string `json:"part" doc:"description, input_schema or annotations"`
	Before string `json:"before"`
	After  string `json:"after"`
	Cut    bool   `json:"cut" doc:"only the beginnings are here, or nothing"`
}

// SeenTools names tools that the person has seen, as they were shown.
type SeenTools struct {
	Tools []SeenTool `json:"tools"`
}

// A SeenTool is a tool with the fingerprint that it was shown with.
type SeenTool struct {
	Name        string `json:"name"`
	Fingerprint string `json:"fingerprint"`
}

// A ToolList holds the tools of a server.
type ToolList struct {
	Tools []Tool `json:"tools"`
}

// A Scope is a group of routes that a session may use.
type Scope string

const (
	ScopeRead   Scope = "read"   // conversations, calls, questions, approvals, events
	ScopeAnswer Scope = "answer" // answers, approvals, and what a person decides on a call that runs
	ScopeCall   Scope = "call"   // servers, their tools, and new calls
)
