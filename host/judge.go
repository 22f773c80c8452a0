package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/elicitation"
	"github.com/parley-mcp/parley/internal/exact"
	"github.com/parley-mcp/parley/internal/wiretap"
)

// JSON-RPC and MCP error codes that decide what a reply means.
const (
	codeMethodNotFound = -32601
	codeInvalidParams  = -32602
	codeServerError    = -32000
	codeHeaderMismatch = -32020 // MCP 2026-07-28 basic/transports, standard request headers
	codeUnsupported    = -32022 // MCP 2026-07-28 basic/versioning, UnsupportedProtocolVersionError
	codeURLsNeeded     = -32042 // MCP 2025-11-25 client/elicitation, "URL Elicitation Required Error"; of that revision only
)

// judgement is what a reply means for its call.
type judgement int

const (
	outcomeDone     judgement = iota // the result is final
	outcomeFailed                    // an error, or a result that says error
	outcomeAsks                      // a round of questions
	outcomeLater                     // request state without questions: send again after a while
	outcomeLapsed                    // the paused work is not accepted any more
	outcomeList                      // -32020: list the tools and send once more
	outcomeRevision                  // -32022: begin a new session and send once more
	outcomeUnknown                   // the server itself does not know what became of the work
)

// A verdict is a judgement with what goes with it.
type verdict struct {
	judgement
	reason       string          // key of the table in reason.go
	word         string          // fills the reason's sentence
	result       json.RawMessage // the `result` or `error` member, as it came
	isError      bool            // result is a JSON-RPC error
	requestState string
	emptyState   bool // requestState was there, as ""
	expiresAt    time.Time
	wait         time.Duration // outcomeLater: what the server asked for
	questions    []inbox.NewQuestion
	refused      int                    // questions that are too many to be shown to anyone
	unshown      *inbox.RefusedQuestion // what the policy does not let through
}

// judgeError reads the error member of a reply of that era. sentState says that the
// request carried request state; listed, that the tools were listed and the
// request sent once more already.
func judgeError(raw json.RawMessage, era inbox.Era, sentState, listed bool) verdict {
	v := verdict{judgement: outcomeFailed, reason: ReasonServerError, result: raw, isError: true}
	e, err := wiretap.ParseError(raw)
	if err != nil {
		return v
	}
	v.word = e.Message
	var data struct {
		Reason       string            `json:"reason"`
		Elicitations []json.RawMessage `json:"elicitations"`
	}
	_ = exact.Unmarshal(e.Data, &data) // data may be anything; what cannot be read says nothing
	switch {
	case e.Code == codeInvalidParams && data.Reason == "invalid_request_state":
		v.judgement, v.reason = outcomeLapsed, ReasonLapsed
	case e.Code == codeInvalidParams && sentState:
		// Other kits refuse request state without that reason.
		v.judgement, v.reason = outcomeLapsed, ReasonProbablyLapsed
	case e.Code == codeHeaderMismatch && !listed:
		v.judgement = outcomeList
	case e.Code == codeUnsupported:
		v.judgement = outcomeRevision
	case e.Code == codeServerError && data.Reason == "outcome_unknown":
		v.judgement, v.reason = outcomeUnknown, ReasonOutcomeUnknown
	case e.Code == codeServerError && data.Reason == "call_in_progress":
		v.judgement, v.reason = outcomeUnknown, ReasonInProgress
	case e.Code == codeURLsNeeded && era == inbox.Modern:
		// MCP 2026-07-28 schema: reserved, "2025-11-25 only". There is no request state to go on with.
		v.reason, v.word = ReasonBadQuestion, "it named pages to open in an error, which its protocol revision does not have"
	case e.Code == codeURLsNeeded:
		return judgeURLsNeeded(v, data.Elicitations)
	}
	return v
}

// judgeURLsNeeded reads error -32042: the request can go on once the person
// has been to these addresses; it is then sent again as it was.
// MCP 2025-11-25 client/elicitation, "URL Elicitation Required Error" S2, S3.
func judgeURLsNeeded(v verdict, list []json.RawMessage) verdict {
	bad := func(what string) verdict {
		v.reason, v.word = ReasonBadQuestion, what
		return v
	}
	switch {
	case len(list) == 0:
		return bad("it names no page to open")
	case len(list) > wiretap.MaxInputRequests:
		v.reason, v.refused = inbox.ReasonTooManyQuestions, len(list)
		return v
	}
	asks := verdict{judgement: outcomeAsks}
	seen := map[string]bool{}
	for i, params := range list {
		p, what := checkElicitation(params)
		if what == "" && p.Mode != elicitation.URL {
			what = "only pages to open may be named there"
		}
		if what != "" {
			return bad(what)
		}
		id := p.ID
		if id == "" { // MCP 2025-11-25 requires one; without it the place in the list will do
			id = fmt.Sprintf("url-%d", i+1)
		}
		for seen[id] {
			id += "'"
		}
		seen[id] = true
		asks.questions = append(asks.questions, inbox.NewQuestion{Key: id, Params: params})
	}
	return asks
}

// judgeResult reads the result member of a reply.
//
// It works on the bytes of the wire and not on what the SDK made of them: the
// SDK takes unknown result types for success, cannot decode foreign input
// requests, and loses the order of fields and exact numbers.
func judgeResult(raw json.RawMessage, method string, era inbox.Era) verdict {
	failed := func(reason, word string) verdict {
		return verdict{judgement: outcomeFailed, reason: reason, word: word, result: raw}
	}
	in, asks, err := wiretap.ParseResult(raw)
	switch {
	case errors.Is(err, wiretap.ErrUndeclared) && era == inbox.Legacy:
		// The field does not exist in these revisions: a server may use the
		// name for its own ends.
		asks = false
	case errors.Is(err, wiretap.ErrUndeclared):
		return failed(ReasonUnknownResult, "")
	case errors.Is(err, wiretap.ErrMisplaced), err == nil && asks && era == inbox.Legacy:
		// A server library that asks where it cannot: the work stopped half
		// way, and the result that comes with it is empty.
		return failed(ReasonAskedInVain, "")
	case errors.Is(err, wiretap.ErrMalformed):
		return failed(ReasonBadResult, "")
	case err != nil: // a limit; what is over it is not kept either
		return verdict{judgement: outcomeFailed, reason: inbox.ReasonTooLarge}
	}
	if !asks {
		var r struct {
			IsError json.RawMessage `json:"isError"`
		}
		if _ = exact.Unmarshal(raw, &r); method == "tools/call" && string(r.IsError) == "true" {
			return failed(ReasonToolError, "")
		}
		return verdict{judgement: outcomeDone, result: raw}
	}

	v := verdict{judgement: outcomeAsks, requestState: in.State, emptyState: in.HasState && in.State == "", expiresAt: in.ExpiresAt, wait: min(in.TTL, time.Hour)}
	if len(in.Requests) == 0 {
		// MCP 2026-07-28 basic/patterns/mrtr: without inputRequests "the client
		// MAY retry the original request immediately".
		if v.requestState == "" {
			return failed(ReasonBadResult, "")
		}
		v.judgement = outcomeLater
		return v
	}
	for _, r := range in.Requests {
		if r.Foreign() {
			// Not declared, so not to be asked: MCP 2026-07-28 mrtr, "Server Requirements" S2, S11.
			return failed(ReasonForeignRequest, foreign(r.Method))
		}
		if _, what := checkElicitation(r.Params); what != "" {
			return failed(ReasonBadQuestion, what)
		}
		q := inbox.NewQuestion{Key: r.Key, Params: r.Params}
		v.questions = append(v.questions, q)
	}
	return v
}

// foreign says what a server wanted instead of asking a person.
func foreign(method string) string {
	switch method {
	case "sampling/createMessage":
		return "the use of a language model"
	case "roots/list":
		return "a list of folders"
	}
	return "something unknown here"
}

// checkElicitation reads the parameters of elicitation/create as far as the
// host must know them; what says what is wrong with them, if they cannot be
// shown to anyone. A schema outside the subset is no fault here: the question
// is parked, and the surface says why it cannot be drawn.
func checkElicitation(params json.RawMessage) (p elicitation.Params, what string) {
	p, err := elicitation.Read(params)
	if err != nil {
		return p, err.Error()
	}
	switch {
	case p.Mode != elicitation.Form && p.Mode != elicitation.URL:
		return p, "it is of a kind unknown here"
	case !p.HasMessage:
		return p, "it has no text"
	case p.Mode == elicitation.Form && p.URL != "":
		return p, "it is a form and an address at once"
	case p.Mode == elicitation.URL && p.URL == "":
		return p, "it names no address"
	}
	return p, ""
}
