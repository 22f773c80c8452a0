package host

import (
	"fmt"
	"strings"

	"github.com/parley-mcp/parley/inbox"
)

// Reasons that the host gives calls, beside those of package inbox. They are
// stable codes; [Explain] has a sentence for each.
const (
	ReasonServerError    = "server_error"      // a JSON-RPC error
	ReasonToolError      = "tool_error"        // a result that says error
	ReasonLapsed         = "lapsed"            // the server does not accept its request state any more
	ReasonProbablyLapsed = "probably_lapsed"   // it refused the request that carried request state
	ReasonForeignRequest = "foreign_request"   // it asked for sampling, roots or something unknown
	ReasonBadQuestion    = "bad_question"      // it asked in a way that cannot be shown
	ReasonBadResult      = "bad_result"        // its result is none of the protocol
	ReasonUnknownResult  = "unknown_result"    // a resultType that was not declared
	ReasonAskedInVain    = "asked_in_vain"     // questions in a result that cannot hold any
	ReasonNoReply        = "no_reply"          // the connection ended, or broke, before a reply
	ReasonTooMuch        = "too_much"          // the reply was larger, or nested deeper, than is read
	ReasonNoMessage      = "no_message"        // what came in the place of a reply was none
	ReasonTimeout        = "timeout"           // no sign of progress for the send time-out
	ReasonTooLong        = "too_long"          // signs of progress, and no end
	ReasonOutcomeUnknown = "outcome_unknown"   // the server says that it does not know
	ReasonInProgress     = "in_progress"       // the server says that an earlier send still runs
	ReasonDeclined       = "declined"          // the person did not go to a page that is needed
	ReasonRefused        = inbox.ReasonRefused // the policy does not let the question be shown
	// ReasonLapsedUncertain is ReasonLapsed after a send of the same round that ended uncertain.
	ReasonLapsedUncertain = "lapsed_uncertain"
)

// An explanation is the sentence of a reason that the host gives: %s is the
// server's name, and {} the word that goes with the case. What the inbox itself
// decides, it words itself, in [inbox.Call].Detail.
var explanations = map[string]string{
	ReasonServerError:     "%s answered with an error: {}",
	ReasonToolError:       "%s ran the tool, and the tool said that it failed.",
	ReasonLapsed:          "%s no longer accepts this paused work; run it again to start anew.",
	ReasonProbablyLapsed:  "%s refused to go on; probably it no longer accepts this paused work. Run it again to start anew.",
	ReasonForeignRequest:  "%s asked for {}, which Parley does not offer; the call has ended.",
	ReasonBadQuestion:     "%s asked a question that cannot be shown: {}.",
	ReasonBadResult:       "%s answered with something that is not a result; whether the work was done is for its makers to say.",
	ReasonUnknownResult:   "%s answered with a kind of result that was not asked for and is not understood here.",
	ReasonAskedInVain:     "%s asked a further question in a place where it cannot be answered, and stopped half way; its makers need to mend this.",
	ReasonNoReply:         "The connection to %s ended before it answered; whether the work was done is not known.",
	ReasonTooMuch:         "%s answered with more than is accepted, so its answer was not read; whether the work was done is not known.",
	ReasonNoMessage:       "%s answered with something that is no message of the protocol; whether the work was done is not known.",
	ReasonTooLong:         "%s said for too long that it was at work; whether the work was done is not known.",
	ReasonTimeout:         "%s gave no sign of life for too long; whether the work was done is not known.",
	ReasonOutcomeUnknown:  "%s was interrupted and does not know whether the work was done.",
	ReasonInProgress:      "%s is still busy with this call from an earlier attempt.",
	ReasonDeclined:        "You did not go to a page that %s needs, so the call has ended. Nothing more was sent.",
	ReasonRefused:         "%s asked something that the rules of this host do not let through: {}",
	ReasonLapsedUncertain: "%s no longer accepts this paused work. It was sent before without a reply, so it may have happened.",

	inbox.ReasonKeepsAsking:      "%s asked again what you had refused twice; the call has ended.",
	inbox.ReasonTooManyRounds:    "%s asked too many times in one call; the call has ended.",
	inbox.ReasonTooManyQuestions: "%s asked too many questions; the call has ended.",
	inbox.ReasonTooLarge:         "%s sent more than is accepted; the call has ended.",
	inbox.ReasonHostStopped:      "The machine that held the connection to %s was stopped while the question was open; your answers are kept for another run.",
	inbox.ReasonLostOwner:        "The machine that had sent this to %s went away; whether the work was done is not known.",
	inbox.ReasonTooLateToResend:  "%s gave no reply, and by now it may not be sent again by itself any more; whether the work was done is not known.",
	inbox.ReasonSignIn:           "%s wants you to sign in first.",
	inbox.ReasonUnreachable:      "%s cannot be reached: {}",
	inbox.ReasonServerRemoved:    "%s is no longer among the servers, so the call cannot go on.",
	inbox.ReasonServerChanged:    "%s, or its tool, has changed since the call was made, so the call cannot go on; run it again to start anew.",
}

// stateExplanations stand in where a call has no reason.
var stateExplanations = map[inbox.CallState]string{
	inbox.CallNew:     "The call to %s is being prepared.",
	inbox.Approving:   "The call to %s waits for permission.",
	inbox.Ready:       "The call to %s is about to be sent.",
	inbox.Claimed:     "The call to %s is about to be sent.",
	inbox.Sent:        "%s is working on it.",
	inbox.Waiting:     "%s asks you something.",
	inbox.Blocked:     "Something stands in the way of this call to %s.",
	inbox.Uncertain:   "Whether %s did the work is not known.",
	inbox.Done:        "%s did the work.",
	inbox.Failed:      "The call to %s failed.",
	inbox.Denied:      "The call to %s was not allowed.",
	inbox.Stopped:     "You stopped this call to %s.",
	inbox.CallExpired: "The time for this call to %s has passed.",
	inbox.Interrupted: "The call to %s was interrupted before any answer reached it; your answers are kept for another run.",
	inbox.Lapsed:      "%s no longer accepts this paused work; run it again to start anew.",
}

// Explain tells a person in one plain sentence what is going on with a call,
// or what became of it. server is the server's name as people know it; empty
// means its id.
func Explain(c *inbox.Call, server string) string {
	if server == "" {
		server = c.Server
	}
	if c.Held {
		return fmt.Sprintf("%s asks you something and waits on the line.", server)
	}
	if c.Detail != "" {
		// The inbox does not know what the server is called.
		if rest, ok := strings.CutPrefix(c.Detail, "The server"); ok {
			return server + rest
		}
		return c.Detail
	}
	if c.Reason != "" {
		if text := explain(c.Reason, server, ""); text != "" {
			return text
		}
	}
	if text, ok := stateExplanations[c.State]; ok {
		return fmt.Sprintf(text, server)
	}
	return ""
}

// signInSentence says that the server wants a sign-in, and who can do something about it.
func (h *Host) signInSentence(s *Server) string {
	switch {
	case h.vault != nil && s.signable():
		return explain(inbox.ReasonSignIn, s.name(), "")
	case s.authorized():
		return fmt.Sprintf("%s does not accept the Authorization header that the servers file has for it; whoever runs this host has to mend that.", s.name())
	case h.vault == nil:
		return fmt.Sprintf("%s wants a sign-in, and this host keeps none.", s.name())
	}
	return fmt.Sprintf("%s wants a sign-in, and is reached without TLS, so that nobody signs in to it here.", s.name())
}

// missingSentence says which permissions a server misses.
func missingSentence(server string, scopes []string) string {
	if len(scopes) == 0 {
		return fmt.Sprintf("%s wants you to sign in again: it needs more than you have allowed so far.", server)
	}
	return fmt.Sprintf("%s wants you to sign in again and allow it more: %s.", server, tidy(strings.Join(scopes, ", ")))
}

// explain fills a reason's sentence; empty if there is none. word is cut to
// a length that fits a line.
func explain(reason, server, word string) string {
	text, ok := explanations[reason]
	if !ok {
		return ""
	}
	text = fmt.Sprintf(text, server)
	if word == "" {
		word = "it gave no reason"
	}
	text = strings.Replace(text, "{}", tidy(word), 1)
	if !strings.HasSuffix(text, ".") && !strings.HasSuffix(text, "…") {
		text += "."
	}
	return text
}
