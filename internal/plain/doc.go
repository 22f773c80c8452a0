// Package plain makes text from strangers safe to show: in a terminal, a page, a log
// line or an error.
//
// It is applied at the edge, where a server's text enters, so that everything behind
// the edge handles text that can neither command a terminal nor hide or reorder
// anything. What was hidden becomes visible instead of vanishing: a control character
// turns into its picture (␛), a format character into its number (⟨U+202E⟩). It does
// not escape HTML; that is the renderer's task.
package plain
