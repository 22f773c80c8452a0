package elicit

import (
	"fmt"
	"slices"
	"strings"
)

// result is the text of the tool result for a question without an answer that
// the handler did not deal with. The sentences are fixed and differ, because a
// model should act differently on each.
func (u *Unanswered) result() string {
	switch u.Outcome {
	case Declined:
		return fmt.Sprintf("The person declined to answer the question %s. The call stopped there.", u.quoted())
	case Cancelled:
		return fmt.Sprintf("The person dismissed the question %s without deciding. The call stopped there; it can be called again.", u.quoted())
	case Expired:
		return fmt.Sprintf("Nobody answered the question %s in time. The call stopped there; it can be called again.", u.quoted())
	case Invalid:
		return fmt.Sprintf("The answers to the question %s could not be used: %s. The call stopped there.", u.quoted(), u.Reason)
	case Unanswerable:
		return u.instead()
	}
	return fmt.Sprintf("The question %s was not asked, because another one has no answer yet.", u.quoted())
}

// instead tells what to do where the client cannot ask.
func (u *Unanswered) instead() string {
	text := fmt.Sprintf("This client cannot put the question %s to a person", u.quoted())
	if u.mode == URLMode {
		return text + ", because it cannot open pages for them."
	}
	var pass []string
	for _, field := range u.fields {
		if slices.Contains(u.args, field) {
			pass = append(pass, fmt.Sprintf("%q", field))
		}
	}
	switch {
	case len(pass) == 1:
		return text + ". Pass the argument " + pass[0] + " instead."
	case len(pass) > 1:
		return text + ". Pass the arguments " + strings.Join(pass, ", ") + " instead."
	case len(u.fields) > 0:
		return text + ". It needs a person to give: " + strings.Join(u.fields, ", ") + "."
	}
	return text + "."
}

func (u *Unanswered) quoted() string {
	if u.message == "" {
		return fmt.Sprintf("%q", u.Key)
	}
	return fmt.Sprintf("%q", shorten(u.message, 200))
}
