package inbox

import "fmt"

// An arrow is one permitted change of state. The tables below are the only
// place that says what may follow what: every change goes through them, the
// diagram in the package documentation is generated from them, and the tests
// hold what they observe against them.
type arrow[S ~string] struct {
	from, to S
	why      string
	later    bool // the states exist, the operation comes with policy
}

var callArrows = []arrow[CallState]{
	{CallNew, Ready, "composed by the person, or allowed", false},
	{CallNew, Approving, "policy asks the person first", true},
	{CallNew, Denied, "policy forbids it", true},

	{Approving, Ready, "allowed", true},
	{Approving, Denied, "not allowed", true},
	{Approving, CallExpired, "nobody decided in time", true},
	{Approving, Stopped, "the person stopped it", true},

	{Ready, Claimed, "a machine takes it", false},
	{Ready, Waiting, "an answer was taken back", false},
	{Ready, Stopped, "the person stopped it", false},
	{Ready, CallExpired, "the server's deadline passed", false},

	{Claimed, Sent, "the mark is committed", false},
	{Claimed, Ready, "given back, or its owner died", false},
	{Claimed, Failed, "its owner died for the eighth time, or it cannot be sent", false},
	{Claimed, Approving, "policy on resume asks the person", true},
	{Claimed, Denied, "policy on resume forbids it", true},
	{Claimed, Blocked, "something else has to happen first", false},
	{Claimed, Stopped, "the person stopped it", false},
	{Claimed, CallExpired, "the server's deadline passed before the mark", false},

	{Sent, Waiting, "the server asks", false},
	{Sent, Ready, "request state without questions, or proof that nothing ran", false},
	{Sent, Blocked, "401 or 403: nothing ran", false},
	{Sent, Done, "a result", false},
	{Sent, Failed, "an error, or a rule ended it", false},
	{Sent, Lapsed, "the server no longer accepts the paused work", false},
	{Sent, Uncertain, "no reply and no proof", false},
	{Sent, Stopped, "held and nothing delivered; or stop was wanted and the reply asks, or nothing ran", false},
	{Sent, Interrupted, "its machine went away; held and nothing delivered", false},
	{Sent, Denied, "policy before a delivery forbids it; held and nothing delivered", true},

	{Waiting, Ready, "the round is complete", false},
	{Waiting, Blocked, "the server was removed or has changed", false},
	{Waiting, Stopped, "the person stopped it", false},
	{Waiting, CallExpired, "all questions expired, or the server's deadline passed", false},

	{Blocked, Ready, "unblocked, the round is complete", false},
	{Blocked, Waiting, "unblocked, questions are open", false},
	{Blocked, Stopped, "the person stopped it, or runs it again", false},
	{Blocked, CallExpired, "blocked too long, or the deadline passed", false},

	{Uncertain, Ready, "send again", false},
	{Uncertain, Done, "it happened, or a late reply", false},
	{Uncertain, Failed, "given up, or a late reply", false},
	{Uncertain, Waiting, "a late reply asks", false},
	{Uncertain, Stopped, "a late reply asks, and stop was wanted", false},
}

var questionArrows = []arrow[QuestionState]{
	{Open, Opened, "url: the person agrees to this address", false},
	{Open, Accepted, "form: an answer that fits", false},
	{Open, Declined, "an answer", false},
	{Open, Cancelled, "an answer", false},
	{Open, Expired, "its time passed", false},
	{Open, Withdrawn, "by the server, or its call ended", false},

	{Opened, Accepted, "an answer", false},
	{Opened, Declined, "an answer", false},
	{Opened, Cancelled, "an answer", false},
	{Opened, Expired, "its time passed", false},
	{Opened, Withdrawn, "by the server, or its call ended", false},

	{Accepted, Open, "taken back; url: asked again with a fresh address", false},
	{Accepted, Opened, "url: asked again, not finished yet", false},
	{Declined, Open, "taken back", false},
	{Cancelled, Open, "taken back", false},
}

var approvalArrows = []arrow[ApprovalState]{
	{ApprovalOpen, ApprovalAllowed, "the person allows it", true},
	{ApprovalOpen, ApprovalDenied, "only a person denies", true},
	{ApprovalOpen, ApprovalExpired, "nobody decided in time", true},
	{ApprovalOpen, ApprovalWithdrawn, "its call ended", true},
}

// follow returns an error for a change that no table permits. It is a fault of
// this package, and the transaction that met it is rolled back.
func follow[S ~string](arrows []arrow[S], from, to S) error {
	for _, a := range arrows {
		if a.from == from && a.to == to && !a.later {
			return nil
		}
	}
	return fmt.Errorf("inbox: no arrow leads from %s to %s", from, to)
}
