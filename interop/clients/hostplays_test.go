package clients

import (
	"encoding/json"
	"strings"

	"github.com/parley-mcp/parley/inbox"
)

// An asking is a question that the tool "ask" of the servers here is told to ask.
type asking struct {
	Key    string         `json:"key"`
	Params map[string]any `json:"params"`
}

// An inquiry is all that it is told: the rounds, and a page without which it
// ends with the error -32042.
type inquiry struct {
	Rounds [][]asking     `json:"rounds"`
	First  map[string]any `json:"first,omitempty"`
}

func formOf(key, message, properties string, required ...string) asking {
	return asking{key, map[string]any{"mode": "form", "message": message, "requestedSchema": map[string]any{
		"type": "object", "properties": json.RawMessage(properties), "required": required,
	}}}
}

var (
	askGuest = formOf("guest", "Who stays, and how?", `{
		"name": {"type": "string", "title": "Name", "maxLength": 40},
		"email": {"type": "string", "title": "Email", "format": "email"},
		"nights": {"type": "integer", "title": "Nights", "minimum": 1, "maximum": 30, "default": 2},
		"budget": {"type": "number", "title": "Most to pay for a night"},
		"room": {"type": "string", "title": "Room", "oneOf": [{"const": "single", "title": "Single room"}, {"const": "double", "title": "Double room"}]},
		"extras": {"type": "array", "title": "Extras", "items": {"type": "string", "enum": ["breakfast", "parking", "sauna"]}},
		"smoking": {"type": "boolean", "title": "Smoking"}}`, "name", "email", "nights", "room")
	askFlight  = formOf("pick", "Which flight to Tokyo?", `{"flight": {"type": "string", "title": "Flight", "enum": ["PY 101", "PY 202"]}}`, "flight")
	askConsent = formOf("confirm", "Book PY 202?", `{"confirmed": {"type": "boolean", "title": "Book it"}}`, "confirmed")
	askParty   = formOf("party", "Who travels?", `{"adults": {"type": "integer", "title": "Adults", "minimum": 1, "maximum": 9}}`, "adults")
	askNights  = formOf("hotel", "How long?", `{"nights": {"type": "integer", "title": "Nights", "minimum": 1, "maximum": 30}}`, "nights")
)

const (
	aGuest   = `{"name":"Ada","email":"ada@example.com","nights":3,"budget":99.5,"room":"double","extras":["breakfast","sauna"],"smoking":false}`
	aFlight  = `{"flight":"PY 202"}`
	aConsent = `{"confirmed":true}`
	aParty   = `{"adults":2}`
	aStay    = `{"nights":5}`
)

func accepts(content string) inbox.Answer {
	a := inbox.Answer{Action: inbox.Accept, Via: "api"}
	if content != "" {
		a.Content = json.RawMessage(content)
	}
	return a
}

// told is a play of the tool "ask", which ends with all answers as it got them.
func told(cell, page string) play {
	var rounds [][]asking
	var contents map[string]string // by key
	var first map[string]any
	calendar := map[string]any{"mode": "url", "message": "Sign in to your calendar.", "url": page, "elicitationId": "calendar"}
	action := inbox.Accept
	switch cell {
	case "form":
		rounds, contents = [][]asking{{askGuest}}, map[string]string{"guest": aGuest}
	case "rounds":
		rounds, contents = [][]asking{{askFlight}, {askConsent}}, map[string]string{"pick": aFlight, "confirm": aConsent}
	case "at once":
		rounds, contents = [][]asking{{askParty, askNights}}, map[string]string{"party": aParty, "hotel": aStay}
	case "page":
		rounds = [][]asking{{{"page", calendar}}}
	case "page first":
		rounds, contents, first = [][]asking{{askFlight}}, map[string]string{"pick": aFlight}, calendar
	case "decline":
		rounds, action = [][]asking{{askFlight}}, inbox.Decline
	case "cancel":
		rounds, action = [][]asking{{askFlight}}, inbox.Cancel
	}
	p := play{tool: "ask", arguments: asJSON(inquiry{rounds, first}), answers: map[string]inbox.Answer{}, together: cell == "at once"}
	came := map[string]any{}
	for _, round := range rounds {
		for _, q := range round {
			a := inbox.Answer{Action: action, Via: "api"}
			answer := map[string]any{"action": action}
			if content := contents[q.Key]; content != "" {
				a.Content = json.RawMessage(content)
				answer["content"] = a.Content
			}
			message, _ := q.Params["message"].(string)
			p.answers[message], came[q.Key] = a, answer
		}
	}
	if first != nil {
		p.answers["Sign in to your calendar."] = accepts("")
	}
	p.value = string(asJSON(came))
	return p
}

// kitPlay is a play of the desk, whose tools an author of servers could have written.
func kitPlay(cell, page string) play {
	flight := func(a inbox.Answer) map[string]inbox.Answer { return map[string]inbox.Answer{askedFlight: a} }
	to := json.RawMessage(`{"to":"Tokyo"}`)
	switch cell {
	case "form":
		return play{tool: "check_in", answers: map[string]inbox.Answer{"Who stays, and how?": accepts(aGuest)}, value: aGuest}
	case "at once":
		return play{
			tool: "plan", answers: map[string]inbox.Answer{"Who travels?": accepts(aParty), "How long?": accepts(aStay)},
			together: true, value: `{"booked":"party accepted 2, hotel accepted 5"}`,
		}
	case "page":
		return play{
			tool: "connect", arguments: asJSON(map[string]string{"page": page}),
			answers: map[string]inbox.Answer{"Sign in to your calendar.": accepts("")}, value: `{"booked":"calendar"}`,
		}
	case "page first":
		return play{
			tool: "account", arguments: asJSON(map[string]string{"page": page}),
			answers: map[string]inbox.Answer{"Sign in to your calendar.": accepts("")}, value: `{"booked":"calendar"}`,
		}
	case "decline":
		return play{
			tool: "book", arguments: to, answers: flight(inbox.Answer{Action: inbox.Decline, Via: "api"}),
			text: "The person declined to answer the question", failed: true,
		}
	case "cancel":
		return play{
			tool: "book", arguments: to, answers: flight(inbox.Answer{Action: inbox.Cancel, Via: "api"}),
			text: "without deciding. The call stopped there; it can be called again.", failed: true,
		}
	}
	answers := flight(accepts(aFlight))
	answers["Book PY 202?"] = accepts(aConsent)
	return play{tool: "book", arguments: to, answers: answers, value: `{"booked":"PY 202"}`}
}

const askedFlight = "Which flight to Tokyo?"

// everythingPlay is a play of the protocol's example server. Its two tools ask
// one question each.
func everythingPlay(cell, page string) play {
	const asked = "Please provide inputs for the following fields:"
	p := play{tool: "trigger-elicitation-request", arguments: json.RawMessage(`{}`)}
	switch cell {
	case "page", "page first":
		p.tool = "trigger-url-elicitation"
		p.arguments = asJSON(map[string]any{"url": page, "message": "Sign in to your calendar.", "elicitationId": "calendar", "errorPath": cell == "page first"})
		p.answers = map[string]inbox.Answer{"Sign in to your calendar.": accepts("")}
		if cell == "page first" {
			p.answers["Open this link to satisfy the prerequisite, then retry the request."] = accepts("")
		}
		p.text = "User completed the URL elicitation flow."
	case "decline":
		p.answers = map[string]inbox.Answer{asked: {Action: inbox.Decline, Via: "api"}}
		p.text = "User declined to provide the requested information."
	case "cancel":
		p.answers = map[string]inbox.Answer{asked: {Action: inbox.Cancel, Via: "api"}}
		p.text = "User cancelled the elicitation dialog."
	default:
		p.answers = map[string]inbox.Answer{asked: accepts(`{"name":"Ada","check":true,"birthdate":"1815-12-10","integer":7,"untitledMultipleSelectEnum":["Piano","Bass"],"titledSingleSelectEnum":"hero-3","legacyTitledEnum":"pet-2"}`)}
		p.text = `- Name: Ada\n- Agreed to terms: true`
	}
	return p
}

func asJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // the values are all of this package
	}
	return b
}

// pageName is a name for a page of this test alone.
func pageName(test string) string {
	return strings.NewReplacer("/", "-", " ", "-").Replace(test)
}
