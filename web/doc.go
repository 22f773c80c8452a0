// Package web holds the pages of `parley serve` and the elements that other
// products put into theirs.
//
// The source is plain TypeScript in src, without a runtime dependency; the
// bundles in dist are committed and embedded, so that `go install` works. After
// a change of src run `make web`.
//
//	page.js      the page at /: sign-in, conversations, servers, inbox
//	elements.js  <parley-question>, <parley-chat>, <parley-inbox> for pages of others
//
// The elements speak the HTTP API of package serve and nothing else. One store
// per page holds one event stream; the server's rows are the truth, and the page
// decides nothing: it sends what was typed, and the server reads it. Every card
// has one open shadow root, since ids do not cross roots and a label, its hint,
// its error and its input must live in one.
package web
