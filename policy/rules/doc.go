// Package rules reads policies that operators write: a YAML file with rules
// about calls and about questions, which becomes a [policy.Policy].
//
//	calls:
//	  - name: reports
//	    server: finance
//	    tool: report_*
//	    annotations: {readOnly: true}
//	    then: allow
//	  - name: payments
//	    actor: model
//	    server: finance
//	    tool: [pay, refund]
//	    when: arguments.amount > 1000
//	    then: ask
//	    assign: {group: finance}
//	    approver: other
//	questions:
//	  - name: our provider
//	    mode: url
//	    domain: login.example.com
//	    then: show
//	  - name: no other addresses
//	    mode: url
//	    then: refuse
//
// # The first match decides
//
// Rules are tried in the order of the file, and the first one that matches
// decides; if none does, policy.Default decides. Order makes an exception one
// rule before the general one, and makes "why?" a question about one rule. The
// price is that a broad rule hides those after it; a rule that can never be
// reached is therefore an error. A rule matches if all its conditions hold; of a
// list, one item is enough.
//
// # What cannot be evaluated never allows
//
// A condition may have no answer: the expression looks for an argument that is
// not there or has another type, or takes too much work, or the arguments
// cannot be read in one way only. Then the rule is neither skipped nor taken:
// what holds is no weaker than if it matched, and no weaker than if it did not.
// So the decisions of all rules that failed and that of the first rule which
// matches are compared, and the strictest holds: the asker approves, where it
// would be allowed too; whom a rule assigns it to approves; the same, but not the
// asker; deny. If two of the rules assign it to different approvers, neither is
// stricter, and the call is denied. The approval covers this call only. A question
// is refused.
//
// # Patterns
//
// In server, tool, prompt, resource and conversation, "*" stands for any
// characters but "/" and ".", "**" for any characters, "?" for one character but
// "/" and ".", and "\" makes "*", "?" and "\" stand for themselves. Case counts,
// and the whole name has to match. A lone "*" is an error: it would not match
// "files.read". A domain stands for itself and everything below it, label by
// label; "*.example.com" for what is below only.
//
// # Expressions
//
// "when" is CEL (https://cel.dev), with the standard functions and the variables
// actor, principal.issuer, principal.tenant, principal.subject, groups,
// conversation, server, trusted, method, name, phase, annotations.readOnly (and
// destructive, idempotent, openWorld), arguments; in rules about questions also
// mode and domain.
//
// A whole number in the arguments, however it is spelled, is an exact int, or a
// uint above 2^63-1; any other number is a double if its value is that of the
// double's shortest spelling. Nothing is rounded: arguments that hold a number
// which is none of these, name a member twice (case aside), or hold half a
// character cannot be evaluated.
//
// # Limits
//
// A file has at most 256 KiB, 500 rules of each kind and 200 items in a list; a
// pattern 256 bytes; an expression 4096 characters and two comprehensions within
// each other. Evaluation stops after 50,000 of CEL's units of cost for one
// expression and 200,000 for one decision. YAML is read without aliases, tags and
// second documents, and a key that is unknown or there twice is an error.
//
// # Cases and reloading
//
// The file may hold cases, which [Rules.Test] runs. [Live] is a policy that
// follows its file.
package rules
