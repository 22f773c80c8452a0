// Package lint says what is wrong or unwise in a question that an MCP server
// puts to a person, before a person sees it.
//
// Lint reads a requestedSchema, an elicitation request or its params, a result
// that asks for input, what tools/list and prompts/list declare, or a recorded
// session, and recognises which:
//
//	bytes ── recognise ──┬─ question ──┬─ form: package form's rules, secrets, words, meaning, clients
//	                     │             └─ url:  package link's verdicts
//	                     └─ declarations: secrets as arguments, orders to the model, annotations
//	                                        │
//	                                        └──> Report ── Write ──> text, json, sarif, github
//
// Every finding has a stable code, a severity, a JSON Pointer with line and
// column, what to do, and the clause that it rests on. Rules lists the codes;
// docs/lint.md is made from it.
//
// An Error means that the revision forbids it or that nobody can answer. A
// Warning means that some people or clients will be misled or stuck. A Note is
// worth knowing. A question that uses only what schema.ts lists, with sound
// values and without a secret, has no error.
//
// # Secrets
//
// Servers must not ask for a secret in a form. AsksSecret decides by the words
// of a field whether it does. The rule and how often it is right, measured on
// a labelled list, are in docs/lint.md.
//
// # What it does not do
//
// Nothing is fetched and nothing is called. Whether a server keeps its word is
// not judged. An input that is not JSON is an error; everything that is JSON
// gets a report. Inputs are bounded by MaxInput; no input makes it panic or
// work long.
//
// Package lint/vet finds the same faults in Go source.
package lint
