package metrics

import (
	"slices"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/serve"
)

// What a label may be. All else is "other": a label that strangers choose would make
// as many series as they like.
var (
	actors         = []string{string(inbox.Person), string(inbox.Model)}
	modes          = []string{string(inbox.Form), string(inbox.URL)}
	questionStates = []string{string(inbox.Accepted), string(inbox.Declined), string(inbox.Cancelled), string(inbox.Expired), string(inbox.Withdrawn)}
	approvalStates = []string{string(inbox.ApprovalAllowed), string(inbox.ApprovalDenied), string(inbox.ApprovalExpired), string(inbox.ApprovalWithdrawn)}
	callStates     = []string{
		string(inbox.Done), string(inbox.Failed), string(inbox.Denied), string(inbox.Stopped),
		string(inbox.CallExpired), string(inbox.Interrupted), string(inbox.Lapsed),
	}

	// limits are the reasons that say that a limit was reached.
	limits = []string{
		inbox.ReasonKeepsAsking, inbox.ReasonTooManyRounds, inbox.ReasonTooManyQuestions, inbox.ReasonTooLarge,
		inbox.ReasonTooManyResends, inbox.ReasonTooLateToResend, inbox.ReasonDeadClaims, inbox.ReasonBlockedTooLong, inbox.ReasonPerMinute,
	}

	// requestLimits are those of answers 429.
	requestLimits = slices.Concat(limits, []string{serve.ReasonTooManyStreams, serve.ReasonTooManyIssuerStreams, serve.ReasonTooManyAllStreams})

	reasons = slices.Concat(limits, []string{
		inbox.ReasonHostStopped, inbox.ReasonLostOwner, inbox.ReasonNoReply, inbox.ReasonStopped,
		inbox.ReasonDeadline,
		inbox.ReasonUnanswered, inbox.ReasonGaveUp, inbox.ReasonItHappened, inbox.ReasonRunAgain, inbox.ReasonSignIn,
		inbox.ReasonUnreachable, inbox.ReasonServerRemoved, inbox.ReasonServerChanged, inbox.ReasonDenied, inbox.ReasonNotAllowed,
		inbox.ReasonNotDecided, inbox.ReasonDisabled, inbox.ReasonNeedsApproval,
		host.ReasonServerError, host.ReasonToolError, host.ReasonLapsed, host.ReasonProbablyLapsed, host.ReasonForeignRequest,
		host.ReasonBadQuestion, host.ReasonBadResult, host.ReasonUnknownResult, host.ReasonAskedInVain, host.ReasonTimeout,
		host.ReasonTooMuch, host.ReasonNoMessage, host.ReasonTooLong,
		host.ReasonOutcomeUnknown, host.ReasonInProgress, host.ReasonDeclined, host.ReasonRefused, host.ReasonLapsedUncertain,
	})
)

// one returns the word if it is in the list.
func one(list []string, word string) string {
	if slices.Contains(list, word) {
		return word
	}
	return other
}

// reason is a code, or empty if there is none.
func reason(code string) string {
	if code == "" {
		return ""
	}
	return one(reasons, code)
}

// era is unknown for a call that never was sent.
func era(e inbox.Era) string {
	switch e {
	case inbox.Legacy, inbox.Modern:
		return string(e)
	}
	return "unknown"
}
