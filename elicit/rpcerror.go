package elicit

import (
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A refusal is a row of the table of JSON-RPC errors that clients get.
type refusal string

const (
	refuseArguments  refusal = "arguments"
	refuseAnswers    refusal = "answers"
	refuseTooMuch    refusal = "too much"
	refuseState      refusal = "state"
	refusePrincipal  refusal = "principal"
	refuseLookup     refusal = "lookup"
	refuseMethod     refusal = "method"
	refuseRequests   refusal = "requests"
	refuseKey        refusal = "key"
	refuseShortKey   refusal = "short key"
	refuseReusedKey  refusal = "reused key"
	refuseRunning    refusal = "running"
	refuseUnknown    refusal = "unknown"
	refuseLost       refusal = "lost"
	refuseUnrecorded refusal = "unrecorded"
	refuseReplayed   refusal = "replayed"
	refuseFailed     refusal = "failed"
	refuseCapability refusal = "capability"

	refuseURLRequired refusal = "url required"
)

// codeServerError is the first of JSON-RPC's codes for errors of a server's own.
const codeServerError = -32000

// refusals has a code, data.reason (empty: none) and a sentence for each; {} in
// it are the words of the case.
var refusals = map[refusal]struct {
	code             int64
	reason, sentence string
}{
	refuseArguments: {jsonrpc.CodeInvalidParams, "", "arguments: {}"},
	refuseAnswers:   {jsonrpc.CodeInvalidParams, "", "inputResponses is not an object"},
	refuseTooMuch:   {jsonrpc.CodeInvalidParams, "", "{}"},
	// The one answer to every request state that does not fit: altered, of
	// another tool, with other arguments, of another person or server, too old,
	// used before. Which of them it was goes to nobody. Other SDKs have the same
	// reason.
	refuseState:     {jsonrpc.CodeInvalidParams, "invalid_request_state", "the request state is not valid for this request: start the call again without it"},
	refusePrincipal: {jsonrpc.CodeInvalidRequest, "", "the person behind this request could not be verified"},
	refuseLookup:    {jsonrpc.CodeInternalError, "", "the person behind this request cannot be found out at the moment: nothing has run, send the request again"},
	refuseMethod:    {jsonrpc.CodeMethodNotFound, "", "method not found: {}"}, // the SDK's words
	// The SDK's keep-alive takes this code for an end of its pings, and others
	// for a dead connection.
	refuseRequests: {jsonrpc.CodeMethodNotFound, "", "this revision has no requests from the server"},

	refuseKey:        {jsonrpc.CodeInvalidParams, "", "the idempotency key is not text of 1 to 128 visible ASCII characters"},
	refuseShortKey:   {jsonrpc.CodeInvalidParams, "", "the idempotency key of a caller who is not signed in needs at least 16 characters: whoever has it gets the outcome"},
	refuseReusedKey:  {jsonrpc.CodeInvalidParams, "idempotency_key_reused", "the idempotency key came before with another request"},
	refuseRunning:    {codeServerError, "call_in_progress", "the same request is still running"},
	refuseUnknown:    {codeServerError, "outcome_unknown", "the same request was started before, and its outcome is not known"},
	refuseLost:       {codeServerError, "outcome_unknown", "the same request ran to its end, and its result was too large to be kept"},
	refuseUnrecorded: {jsonrpc.CodeInternalError, "", "the record of calls cannot be reached: nothing has run, send the request again"},
	refuseReplayed:   {codeServerError, "replayed", "the outcome is in the ticket"}, // never sent: the outcome is

	refuseFailed:     {jsonrpc.CodeInternalError, "", "{}"},
	refuseCapability: {mcp.CodeMissingRequiredClientCapabilities, "", "{}"}, // its data: errCapability

	refuseURLRequired: {mcp.CodeURLElicitationRequired, "", "{}"}, // its data: urlRequired

	// A question without an answer, where there are no error results.
	refusal(Pending):      {codeServerError, string(Pending), "{}"},
	refusal(Declined):     {codeServerError, string(Declined), "{}"},
	refusal(Cancelled):    {codeServerError, string(Cancelled), "{}"},
	refusal(Expired):      {codeServerError, string(Expired), "{}"},
	refusal(Unanswerable): {codeServerError, string(Unanswerable), "{}"},
	refusal(Invalid):      {codeServerError, string(Invalid), "{}"},
}

// refuse returns the error of a row.
func refuse(which refusal) *jsonrpc.Error { return refuseWith(which, "") }

// refuseWith is refuse for a sentence with words of the case.
func refuseWith(which refusal, words string) *jsonrpc.Error {
	row := refusals[which]
	e := &jsonrpc.Error{Code: row.code, Message: strings.Replace(row.sentence, "{}", words, 1)}
	if row.reason != "" {
		e.Data = json.RawMessage(`{"reason":"` + row.reason + `"}`)
	}
	return e
}

// errCapability is MCP 2026-07-28's MissingRequiredClientCapabilitiesError.
func errCapability(u *Unanswered) *jsonrpc.Error {
	capability, err := json.Marshal(map[string]any{
		"requiredCapabilities": map[string]any{"elicitation": map[Mode]any{u.mode: struct{}{}}},
	})
	if err != nil {
		panic(err) // strings only
	}
	e := refuseWith(refuseCapability, u.instead())
	e.Data = capability
	return e
}

// errOutcome is what requests without error results get for a question that
// has no answer.
func errOutcome(u *Unanswered) *jsonrpc.Error {
	return refuseWith(refusal(u.Outcome), u.result())
}

// rpc is the error that a record kept.
func (e *wireError) rpc() *jsonrpc.Error {
	return &jsonrpc.Error{Code: e.Code, Message: e.Message, Data: e.Data}
}
