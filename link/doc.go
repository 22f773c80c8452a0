// Package link says what a URL really is, before a person is offered to open it.
package link
