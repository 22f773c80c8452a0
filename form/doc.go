// Package form is the one place that decides what a question drawn as a form
// is, and what a legal answer to it is.
package form
