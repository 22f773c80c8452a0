// Package policy says what a host may do by itself: whether a call may leave,
// has to be approved first, or is forbidden, and whether a question may be
// shown. It holds the types, the [Policy] interface that a host asks, the
// policy that holds where no other was given ([Default]), and what approvals that
// outlive a call hold on to ([Tool]). Rules that operators write in a file are in
// package policy/rules; this package needs neither YAML nor CEL, so a host that
// is embedded does not either.
//
// # Who asks, and when
//
// The host asks [Policy.Call] each time before something of a call leaves:
// when it is composed, before each resume, and before each answer is delivered
// on a held connection ([Phase]). It asks [Policy.Question] before a question
// reaches a person.
//
//	allow   it is sent
//	ask     a person approves it first, or a standing approval covers it
//	deny    the call ends denied; answers that were given are not sent
//
// # What a policy cannot do
//
// It never answers a question. A question is shown or refused; there is no third
// value, so "a policy allowed it" can never stand for "a person agreed to it".
//
// An answer never widens what is allowed. [Input] has no place for one: the
// call that is resumed with an answer is judged by what it was composed with.
//
// It does not make a stranger's word true. What a server says about its tools
// counts only if the operator trusts the server; [Input.Hints] is the only way
// to it and knows the difference.
//
// # Approvals
//
// A [Decision] that asks says who may approve ([Decision.MayApprove]) and what
// an approver may be offered: this call, this conversation, or always for
// exactly this tool. What outlives a call is kept by the inbox and bound to a
// [Tool]'s fingerprint: a tool that was renamed, or whose words, schema or
// annotations changed, is another tool. It widens nothing on its own: it counts
// only while the policy, asked again, still asks and still offers that much.
//
// # Errors
//
// An error from a Policy means that no decision was made: nothing is sent, and
// it is asked again later. It is for policies that ask another service. One
// that cannot judge an input decides [Ask] or [Deny] and says so in the reason;
// it never allows.
package policy
