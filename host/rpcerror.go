package host

import (
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/wiretap"
)

// A refusal is a row of the table of JSON-RPC errors that servers get for their
// requests.
type refusal string

const (
	refuseMethod     refusal = "method"
	refuseModern     refusal = "modern"
	refuseUnreadable refusal = "unreadable"
	refuseUnshowable refusal = "unshowable"
	refuseNoCall     refusal = "no call"
	refuseGone       refusal = "gone"
	refuseWithdrawn  refusal = "withdrawn"
	refuseClosed     refusal = "closed"
	refuseStopped    refusal = "stopped"
	refuseLeaving    refusal = "leaving"
	refuseSignIn     refusal = "sign in"
	refuseDenied     refusal = "denied"
	refuseShow       refusal = "refused_by_policy"
)

// refusals has a code, data.reason (empty: none) and a sentence for each; {} in
// it are the words of the case.
var refusals = map[refusal]struct {
	code             int64
	reason, sentence string
}{
	refuseMethod: {codeMethodNotFound, "", "this client offers elicitation only"},
	// MCP 2026-07-28 mrtr, "top" S1: servers no longer send requests.
	refuseModern:     {codeMethodNotFound, "", "questions travel in results in this revision"},
	refuseUnreadable: {codeInvalidParams, "", "the question cannot be read"},
	// MCP 2025-11-25 client/elicitation, "Error Handling" C1: -32602 for a mode that was not declared.
	refuseUnshowable: {codeInvalidParams, "", "the question cannot be shown: {}"},

	refuseNoCall:    {codeServerError, "no_call", "{}"},
	refuseGone:      {codeServerError, "withdrawn", "the question is not open any more"},
	refuseWithdrawn: {codeServerError, "withdrawn", "the question was withdrawn"},
	refuseClosed:    {codeServerError, "withdrawn", "the question is closed"},
	refuseStopped:   {codeServerError, "stopped", "the person stopped the call"},
	refuseLeaving:   {codeServerError, "host_stopped", "this machine is going away"},
	refuseSignIn:    {codeServerError, "sign_in", "the person has to sign in again"},

	refuseDenied: {codeServerError, "denied", "the rules of this host do not allow an answer"},
	refuseShow:   {codeServerError, ReasonRefused, "the rules of this host do not allow the question: {}"},

	// Limits, of the inbox and of the server's entry.
	refusal(inbox.ReasonKeepsAsking):      {codeServerError, inbox.ReasonKeepsAsking, wiretap.OverLimit},
	refusal(inbox.ReasonTooManyRounds):    {codeServerError, inbox.ReasonTooManyRounds, wiretap.OverLimit},
	refusal(inbox.ReasonTooManyQuestions): {codeServerError, inbox.ReasonTooManyQuestions, wiretap.OverLimit},
	refusal(inbox.ReasonTooLarge):         {codeServerError, inbox.ReasonTooLarge, wiretap.OverLimit},
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
