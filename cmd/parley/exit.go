package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"

	"github.com/parley-mcp/parley/inbox"
)

// Exit codes. Scripts rely on them: a new meaning gets a new number.
const (
	exitOK           = 0
	exitFindings     = 1
	exitUsage        = 2
	exitConnect      = 3
	exitOpen         = 4            // a question was left open
	exitNotAccepted  = 5            // a question was declined or cancelled
	exitDenied       = 6            // the policy said no
	exitUncertain    = 7            // nobody knows whether it happened
	exitInternalBase = exitFindings // an error with no row of its own
)

// exitTable explains the codes in the help. Those from exitOpen on are reserved for
// answering from the terminal: no subcommand ends with one yet.
var exitTable = []struct {
	code  int
	means string
}{
	{exitOK, "all went well"},
	{exitFindings, "there are findings, or something failed that has no code of its own"},
	{exitUsage, "wrong usage, or an input that cannot be read"},
	{exitConnect, "no connection could be made"},
}

// A failure is an error with its exit code and, where there is one, a hint.
type failure struct {
	code int
	hint string
	err  error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// usageError is an error in how the command was called.
func usageError(hint, format string, args ...any) error {
	return &failure{code: exitUsage, hint: hint, err: fmt.Errorf(format, args...)}
}

// connectError is a failure to reach, or to listen at, an address.
func connectError(hint, format string, args ...any) error {
	return &failure{code: exitConnect, hint: hint, err: fmt.Errorf(format, args...)}
}

// errFindings ends a command whose findings are printed already.
var errFindings = errors.New("findings")

// exitCode maps an error to the code of the table.
func exitCode(err error) int {
	var f *failure
	switch {
	case err == nil:
		return exitOK
	case full(err): // no mistake in how it was called
		return exitInternalBase
	case errors.As(err, &f):
		return f.code
	case errors.Is(err, errFindings):
		return exitFindings
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return exitUsage
	}
	return exitInternalBase
}

const fullHint = "make room on that disk, or choose another place with --data or --store"

// full reports whether what failed found no room on a disk.
func full(err error) bool {
	return errors.Is(err, inbox.ErrStoreFull) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// report prints err the way all errors of the binary look, and returns its code.
func report(w io.Writer, err error) int {
	if err != nil && !errors.Is(err, errFindings) {
		fmt.Fprintf(w, "parley: error: %v\n", err)
		var f *failure
		switch {
		case full(err):
			fmt.Fprintf(w, "parley: hint: %s\n", fullHint)
		case errors.As(err, &f) && f.hint != "":
			fmt.Fprintf(w, "parley: hint: %s\n", f.hint)
		}
	}
	return exitCode(err)
}
