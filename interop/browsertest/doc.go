// Package browsertest drives a real Chromium in tests, for people who think in
// roles, names and keys rather than in a browser protocol.
//
// A test binary starts one Chromium, at the first [Open], and ends it when
// [Main] returns. Each Open makes a profile of its own (no cookies, no storage
// in common), so tests may run in parallel; [Page.Tab] opens a second tab in
// the same profile.
//
// Elements are found in the accessibility tree ([ByRole]) or by a CSS selector
// that looks into open shadow roots ([ByCSS]). Every action waits until exactly
// one element matches and can be used. A failed wait ends the test; whenever
// the test has failed by its end, the page's text, its accessibility tree, its
// console, its requests and the path of a screenshot are logged.
//
// A page reaches loopback addresses only. Whatever it sends elsewhere is noted
// by [Page.Requests] and refused before a name is looked up, so that a test can
// prove that a page contacted nobody.
//
// All methods must be called on the test's own goroutine.
package browsertest
