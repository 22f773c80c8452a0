package settings

import (
	"fmt"
	"strings"
)

// A VariableError says that a value of a file names a variable that
// is not set, or is not written as ${NAME} or ${NAME:-default}.
type VariableError struct {
	Name   string // the variable, if one could be read
	Reason string // "is not set", or what is wrong with the way it is written
}

func (e *VariableError) Error() string {
	if e.Name == "" {
		return e.Reason
	}
	return fmt.Sprintf("variable %s %s", e.Name, e.Reason)
}

// Expand replaces ${NAME} and ${NAME:-default} in s. A lone $ stays as it is,
// so that passwords with a dollar sign need no escape. A value put in is not
// looked at again: what stands in the environment cannot name other variables.
func Expand(s string, getenv func(string) (string, bool)) (string, error) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, "${")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		inside, after, closed := strings.Cut(rest, "}")
		if !closed {
			return "", &VariableError{Reason: "a ${ without its }"}
		}
		name, fallback, hasFallback := strings.Cut(inside, ":-")
		if !variableName(name) {
			return "", &VariableError{Reason: "a ${...} that holds no variable's name"}
		}
		value, ok := getenv(name)
		switch {
		case ok && (value != "" || !hasFallback):
			b.WriteString(value)
		case hasFallback:
			b.WriteString(fallback)
		default:
			return "", &VariableError{Name: name, Reason: "is not set"}
		}
		s = after
	}
}

// variableName reports whether s is a name in the sense of POSIX: letters,
// digits and underscores, not beginning with a digit.
func variableName(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c == '_' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != "" && len(s) <= 200
}
