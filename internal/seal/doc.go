// Package seal protects what leaves the process or rests on disk: request
// states, answers, arguments, credentials (MCP 2026-07-28 elicitation,
// "Statefulness" S2).
//
// A [Ring] holds one or several keys of which one, the primary, seals;
// all of them open. To rotate, add a key to the keyset ([AddKey]), give it to
// every machine ([Ring.Reload]), and only then make it the primary
// ([PromoteKey]). The keys are a Tink keyset, so Tink's own tools can do that.
//
// A keyset may itself be encrypted by a key management service ([OpenKMS]),
// which is asked when the keys are read and never for a single text.
//
// Every sealed text is bound to a purpose and to a context (who, which call,
// which row). What was sealed for one purpose or context does not open for
// another: [Ring.Open] answers all mismatches, damage and unknown keys alike
// with [ErrSealed], so the caller cannot leak which of them it was.
package seal
