// Package inbox is the core of Parley: calls that wait for people, the
// questions in them, and the answers. It holds their states and rules and does
// no I/O of its own: rows go to a [Store], hints to a [Notifier], and bytes to
// servers are the business of a host.
//
// A person composes a call. A machine claims it, commits a mark, sends it, and
// records what the wire says: an end, or questions. Questions park the call in
// the store (modern servers) or hold it on its open connection (legacy ones).
// The person answers through any surface; when the round is complete any
// machine claims the call and sends it again with the answers.
//
//	claim, call, err := in.ClaimNext(ctx, nil)
//	call, err = in.Mark(ctx, claim, binding)   // committed before the first byte
//	... send; the reply asks ...
//	call, err = in.Park(ctx, claim, asked)
//	... the person answers: in.Answer(ctx, principal, question, answer) ...
//	claim, call, err = in.ClaimNext(ctx, nil)
//	answers, err := in.Answers(ctx, claim)     // what the next send carries
//	call, err = in.Mark(ctx, claim, binding)
//	... send; the reply is a result ...
//	call, err = in.Finish(ctx, claim, outcome)
//
// # States
//
// These tables are generated from those that every change of state goes
// through.
//
// Call:
//
//	new       -> ready        composed by the person, or allowed
//	          -> approving    policy asks the person first
//	          -> denied       policy forbids it
//	approving -> ready        allowed
//	          -> denied       not allowed; or the person was disabled
//	          -> expired      nobody decided in time
//	          -> stopped      the person stopped it
//	          -> uncertain    nobody decided in time, or somebody else did not allow it, and an earlier send may have happened
//	ready     -> claimed      a machine takes it
//	          -> waiting      an answer was taken back
//	          -> blocked      no machine claims it: the server was removed
//	          -> stopped      the person stopped it
//	          -> expired      the server's deadline passed
//	          -> denied       the person was disabled
//	          -> uncertain    the server's deadline passed, and an earlier send may have happened
//	claimed   -> sent         the mark is committed
//	          -> ready        given back, or its owner died
//	          -> failed       its owner died for the eighth time, or it cannot be sent
//	          -> approving    policy on resume asks the person
//	          -> denied       policy on resume forbids it; or the person was disabled
//	          -> blocked      something else has to happen first
//	          -> stopped      the person stopped it
//	          -> expired      the server's deadline passed before the mark
//	          -> uncertain    to be sent again, and too late for that; or its owner died for the eighth time, or policy forbids it, and an earlier send may have happened
//	sent      -> waiting      the server asks
//	          -> ready        request state without questions, or proof that nothing ran
//	          -> blocked      401 or 403: nothing ran
//	          -> done         a result
//	          -> failed       an error, or a rule ended it
//	          -> lapsed       the server no longer accepts the paused work
//	          -> uncertain    no reply and no proof
//	          -> stopped      held and nothing delivered; or stop was wanted and the reply asks, or nothing ran
//	          -> interrupted  its machine went away; held and nothing delivered
//	          -> denied       held and nothing delivered: policy before a delivery forbids it; or the person was disabled and it comes back
//	waiting   -> ready        the round is complete
//	          -> blocked      the server was removed or has changed
//	          -> stopped      the person stopped it
//	          -> expired      all questions expired, or the server's deadline passed
//	          -> denied       the person was disabled
//	blocked   -> ready        unblocked, the round is complete
//	          -> waiting      unblocked, questions are open
//	          -> stopped      the person stopped it, or runs it again
//	          -> expired      blocked too long, or the deadline passed
//	          -> denied       the person was disabled
//	          -> uncertain    blocked too long, or the deadline passed, and an earlier send may have happened
//	uncertain -> ready        send again
//	          -> done         it happened, or a late reply
//	          -> failed       given up, or a late reply
//	          -> waiting      a late reply asks
//	          -> stopped      a late reply asks, and stop was wanted
//	          -> denied       a late reply asks, and the person was disabled
//
// Question (opened only in url mode):
//
//	open      -> opened       url: the person agrees to this address
//	          -> accepted     form: an answer that fits; url: the server says that it is done
//	          -> declined     an answer
//	          -> cancelled    an answer
//	          -> expired      its time passed
//	          -> withdrawn    by the server, or its call ended
//	opened    -> accepted     an answer; or the server says that it is done
//	          -> declined     an answer
//	          -> cancelled    an answer
//	          -> expired      its time passed
//	          -> withdrawn    by the server, or its call ended
//	accepted  -> open         taken back; url: asked again with a fresh address
//	          -> opened       url: asked again, not finished yet
//	declined  -> open         taken back
//	cancelled -> open         taken back
//
// Approval:
//
//	open      -> allowed      who decides allows it
//	          -> denied       who decides does not
//	          -> expired      nobody decided in time
//	          -> withdrawn    its call ended
//
// # Who owns the next step
//
//   - approving: who decides the approval, with [Inbox.Decide], or its expiry.
//   - ready: any machine that serves the call's server, once NotBefore has passed. If
//     none does, another one blocks it ([Inbox.BlockReady]).
//   - claimed, sent: the machine whose claim it is, and nobody else. It renews
//     its lease; each claim has a higher fencing number, and an operation with
//     an older one is refused. The person can stop it: before the mark they
//     win, after it the wish is recorded and the wire decides.
//   - sent and held: the person owes an answer, or the machine a delivery. Each
//     answer is delivered alone, with a mark of its own before its first byte.
//   - waiting: the person. An answer can be taken back until a machine claims
//     the complete round, and again if that machine gives it back unsent. A legacy
//     server that named pages to visit may say that one is finished, once
//     ([Inbox.Complete]); nobody has answered then, and nothing is sent of it.
//   - blocked: whoever can do what Reason says: the person signs in, the
//     operator repairs the server. Then [Inbox.Unblock] or [Inbox.UnblockFor]. If
//     the server cannot be reached, any machine's [Inbox.Sweep] tries again.
//   - uncertain: the person, with [Inbox.Resolve]; or a host that knows that
//     sending twice is harmless, with [Inbox.Resend], for as long as it is; or a
//     reply that comes late.
//   - an end: nobody. The call does not change any more; [Inbox.RunAgain]
//     makes a new one.
//
// # Permission
//
// The inbox knows no policy. A host asks its own and says what it said: when a
// call is composed ([NewCall]), before every send and before an answer to a held
// question is delivered ([Inbox.Ask], [Inbox.Deny]). What is asked for is an
// [Approval], a row beside the call: no question, and no answer to a question
// stands in for it. Allowed once, it covers the call over all its rounds while
// the tool stays the same; a standing one covers calls to come, of exactly this
// tool of this server, until it is revoked. Ask looks for both in the transaction
// that goes on or not.
//
// An approval lives with the call, on the rows of the call's principal, also
// where somebody else decides: so the decision and what becomes of the call are
// one transaction. It is found by its assignee, a person or a group of the
// asker's tenant, and to everybody else it is not there.
//
// On a held call there is no waiting for a decision that may take a day: a
// policy that asks anew before a delivery, since it or the tool has changed,
// ends the call as if it denied, with the reason needs_approval. If answers were
// delivered before, the call has run in part and is uncertain.
//
// Whatever has a time is ended by [Inbox.Sweep] on any machine, and by every
// operation that meets it first: the store's time decides, not who comes first.
//
// # When things fail
//
// A machine dies. Its leases end, after [Options.Lease] or at once with
// [Inbox.Recover] when it starts again. What was claimed becomes ready (after
// eight such deaths it fails: the call may be what kills them). What was sent
// becomes uncertain, because the request may have run. What was held is
// interrupted if no answer was delivered and uncertain otherwise.
//
// No reply comes. Only proof that nothing ran makes a call ready again without
// a decision ([Inbox.NothingRan]). After anything else it is uncertain, and once
// it is sent again in the same round MarkedBefore stays, so that no page ever
// says of it that nothing happened. A host that sends it again without a person's
// decision may do so for as long as the server knows it by its idempotency key; that
// time is looked at again with the mark, by the store's clock. Where a time that has
// passed, the eighth death, a rule of the policy or the approver of somebody else's call
// would end a call with MarkedBefore, it is uncertain again: its key is kept for its
// person, who decides.
//
// A machine comes back that was thought dead. Its claim is fenced; only its
// reply is still taken, with [Inbox.LateReply], while nobody has acted on the
// call since.
//
// A hint is lost. Every waiting operation looks at the store by itself each
// [Options.Poll].
//
// A row cannot be read, because a key is gone or the store is damaged. What needs
// its content fails with [ErrUnreadable], which names it, and lists show it as one
// that cannot be read; it can be stopped, it expires, and its content is removed in
// its time. All that concerns many rows goes on with the others.
//
// A newer version works on the same store. What it wrote into a row and this
// version does not know stays there when this version stores the row again.
//
// A person who is disabled ([Inbox.Disable]) goes on with nothing: every arrow
// that leads to approving, ready, claimed, waiting or blocked leads to denied for
// them.
//
// # Audit
//
// Whatever happens to a call, a question or an approval writes an [AuditEntry]
// in the same transaction: without the record the thing does not happen. Entries
// say who, when, what and from where ([WithSource]); of content they hold a keyed
// digest at most, so that whoever has a text and the keys can tell whether it is
// the one. No operation changes or removes one, but time
// ([Options.AuditRetention]) and [Inbox.Erase], which leaves one that says so.
// [Inbox.Audit] is for the person, [Inbox.AuditAll] for operators.
//
// # How long things are kept
//
// [Options.Retention] after a call has ended, [Inbox.Sweep] removes what it
// contained: arguments, result, request state, and of its questions what was
// asked, answered and suggested. The rows stay, with Removed set, as the record
// of who called which tool when and how it ended. What has not ended keeps its
// content; uncertain calls do until their person decides. [Inbox.Erase] removes
// a person altogether, rows included.
//
// Removing is up to the store's own housekeeping on its disk: SQLite and
// PostgreSQL overwrite freed space when they need it, and backups keep what
// they hold. What is left there is sealed.
//
// # Privacy
//
// Every transaction is bound to one principal, so another person's row is
// [ErrNotFound] like one that is not there. What people, servers and models
// wrote is sealed before it reaches the store, bound to its row. Ids grant
// nothing. Hints and events carry ids only.
package inbox
