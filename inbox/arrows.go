package inbox

import "fmt"

// An arrow is one permitted change of state. The tables below are the only
// place that says what may follow what: every change goes through them, the
// diagram in the package documentation is generated from them, and the tests
// hold what they observe against them.
type arrow[S ~string] struct {
	from, to S
	why      string
}

var callArrows = []arrow[CallState]{
	{CallNew, Ready, "composed by the person, or allowed"},
	{CallNew, Approving, "policy asks the person first"},
	{CallNew, Denied, "policy forbids it"},

	{Approving, Ready, "allowed"},
	{Approving, Denied, "not allowed; or the person was disabled"},
	{Approving, CallExpired, "nobody decided in time"},
	{Approving, Stopped, "the person stopped it"},
	{Approving, Uncertain, "nobody decided in time, or somebody else did not allow it, and an earlier send may have happened"},

	{Ready, Claimed, "a machine takes it"},
	{Ready, Waiting, "an answer was taken back"},
	{Ready, Blocked, "no machine claims it: the server was removed"},
	{Ready, Stopped, "the person stopped it"},
	{Ready, CallExpired, "the server's deadline passed"},
	{Ready, Denied, "the person was disabled"},
	{Ready, Uncertain, "the server's deadline passed, and an earlier send may have happened"},

	{Claimed, Sent, "the mark is committed"},
	{Claimed, Ready, "given back, or its owner died"},
	{Claimed, Failed, "its owner died for the eighth time, or it cannot be sent"},
	{Claimed, Approving, "policy on resume asks the person"},
	{Claimed, Denied, "policy on resume forbids it; or the person was disabled"},
	{Claimed, Blocked, "something else has to happen first"},
	{Claimed, Stopped, "the person stopped it"},
	{Claimed, CallExpired, "the server's deadline passed before the mark"},
	{Claimed, Uncertain, "to be sent again, and too late for that; or its owner died for the eighth time, or policy forbids it, and an earlier send may have happened"},

	{Sent, Waiting, "the server asks"},
	{Sent, Ready, "request state without questions, or proof that nothing ran"},
	{Sent, Blocked, "401 or 403: nothing ran"},
	{Sent, Done, "a result"},
	{Sent, Failed, "an error, or a rule ended it"},
	{Sent, Lapsed, "the server no longer accepts the paused work"},
	{Sent, Uncertain, "no reply and no proof"},
	{Sent, Stopped, "held and nothing delivered; or stop was wanted and the reply asks, or nothing ran"},
	{Sent, Interrupted, "its machine went away; held and nothing delivered"},
	{Sent, Denied, "held and nothing delivered: policy before a delivery forbids it; or the person was disabled and it comes back"},

	{Waiting, Ready, "the round is complete"},
	{Waiting, Blocked, "the server was removed or has changed"},
	{Waiting, Stopped, "the person stopped it"},
	{Waiting, CallExpired, "all questions expired, or the server's deadline passed"},
	{Waiting, Denied, "the person was disabled"},

	{Blocked, Ready, "unblocked, the round is complete"},
	{Blocked, Waiting, "unblocked, questions are open"},
	{Blocked, Stopped, "the person stopped it, or runs it again"},
	{Blocked, CallExpired, "blocked too long, or the deadline passed"},
	{Blocked, Denied, "the person was disabled"},
	{Blocked, Uncertain, "blocked too long, or the deadline passed, and an earlier send may have happened"},

	{Uncertain, Ready, "send again"},
	{Uncertain, Done, "it happened, or a late reply"},
	{Uncertain, Failed, "given up, or a late reply"},
	{Uncertain, Waiting, "a late reply asks"},
	{Uncertain, Stopped, "a late reply asks, and stop was wanted"},
	{Uncertain, Denied, "a late reply asks, and the person was disabled"},
}

var questionArrows = []arrow[QuestionState]{
	{Open, Opened, "url: the person agrees to this address"},
	{Open, Accepted, "form: an answer that fits; url: the server says that it is done"},
	{Open, Declined, "an answer"},
	{Open, Cancelled, "an answer"},
	{Open, Expired, "its time passed"},
	{Open, Withdrawn, "by the server, or its call ended"},

	{Opened, Accepted, "an answer; or the server says that it is done"},
	{Opened, Declined, "an answer"},
	{Opened, Cancelled, "an answer"},
	{Opened, Expired, "its time passed"},
	{Opened, Withdrawn, "by the server, or its call ended"},

	{Accepted, Open, "taken back; url: asked again with a fresh address"},
	{Accepted, Opened, "url: asked again, not finished yet"},
	{Declined, Open, "taken back"},
	{Cancelled, Open, "taken back"},
}

var approvalArrows = []arrow[ApprovalState]{
	{ApprovalOpen, ApprovalAllowed, "who decides allows it"},
	{ApprovalOpen, ApprovalDenied, "who decides does not"},
	{ApprovalOpen, ApprovalExpired, "nobody decided in time"},
	{ApprovalOpen, ApprovalWithdrawn, "its call ended"},
}

// follow returns an error for a change that no table permits. It is a fault of
// this package, and the transaction that met it is rolled back.
func follow[S ~string](arrows []arrow[S], from, to S) error {
	for _, a := range arrows {
		if a.from == from && a.to == to {
			return nil
		}
	}
	return fmt.Errorf("inbox: no arrow leads from %s to %s", from, to)
}
