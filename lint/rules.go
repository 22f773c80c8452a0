package lint

import "slices"

// A Rule is one thing that Lint looks for.
type Rule struct {
	Code     string   `json:"code"`
	Severity Severity `json:"severity"` // the worst that its findings have
	// Means says what is wrong, Advice what to do.
	Means  string `json:"means"`
	Advice string `json:"advice"`
	Clause string `json:"clause"`
}

// Rules lists all rules, in the order of the documentation. The slice is the
// caller's own.
func Rules() []Rule { return slices.Clone(rules) }

// Clauses that several rules rest on. Form questions are in all revisions; the
// section names are those of 2026-07-28.
const (
	onElicitation = "MCP elicitation, "
	onSafety      = onElicitation + `"User Interaction Model" and "Form Mode Security"`
	onForm        = onElicitation + `"Form Mode Elicitation Requests"`
	onSchema      = onElicitation + `"Requested Schema"`
	onURL         = onElicitation + `"URL Mode Elicitation Requests"`
	onSafeURL     = onElicitation + `"Safe URL Handling"`
	onClear       = onElicitation + `"Security Considerations", what is requested and why is clear`
	onSubset      = "schema.ts, ElicitRequestFormParams and PrimitiveSchemaDefinition"
	onMeaning     = "JSON Schema 2020-12 validation"
	onTools       = `MCP tools, "Data Types" and "Security Considerations"`
	onAnnotations = "schema.ts, ToolAnnotations"
	onRounds      = `MCP multi round-trip requests, "InputRequiredResult"`
	onPractice    = "practice, no clause"
)

var ruleIndex = func() map[string]*Rule {
	m := make(map[string]*Rule, len(rules))
	for i := range rules {
		m[rules[i].Code] = &rules[i]
	}
	return m
}()

var rules = slices.Concat(inputRules, secretRules, questionRules, textRules, shapeRules, meaningRules, urlRules, declarationRules, sourceRules)

var inputRules = []Rule{
	{"not-recognised", Error, "JSON, but no schema, question, result, list or session", "Pass the params of elicitation/create, or one of the other inputs of `parley help lint`.", onElicitation + `"Protocol Messages"`},
	{"malformed-line", Error, "a line of a session that is no message", "Record the session again; each line is one JSON object with t, dir and msg, or one JSON-RPC message.", "JSON-RPC 2.0"},
	{"duplicate-key", Warning, "an object has one key twice; readers differ in which one counts", "Write each key once.", "RFC 8259, 4"},
	{"nothing-to-ask", Warning, "a result that asks for input has neither questions nor request state", "Send inputRequests, requestState or both.", onRounds},
	{"empty-round", Note, "a result has request state and no questions: the client is only told to come back", "Use it for waiting only, and have the client wait before it sends again.", onRounds},
	{"foreign-input-request", Note, "an input request that is no elicitation is not judged here", "Nothing, if the client offers it.", onRounds},
}

var secretRules = []Rule{
	{"secret-in-form", Error, "a form asks for a password, key, token, card number or one-time code", "Ask in URL mode, on a page of your own; the answer of a form passes the client and often the model.", onSafety},
	{"secret-out-of-band-clipboard", Error, "a form has the person put a secret where the server takes it from", "Ask in URL mode, on a page of your own.", onSafety},
	{"personal-identifier", Note, "a form asks for an identifier that people guard", "Ask for it only if the call cannot go on without it, and say why in the message.", onSafety},
	{"file-in-form", Warning, "a form asks for a file or its bytes", "Have the person upload it on a page of your own, in URL mode; a form carries short texts.", onSchema},
}

var questionRules = []Rule{
	{"params-missing", Error, "the request has no params object", "Send params with message and requestedSchema, or message, mode and url.", onElicitation + `"Elicitation Requests"`},
	{"message-missing", Error, "the message is missing or no text", "Say in message what you need and why.", onElicitation + `"Elicitation Requests"`},
	{"message-empty", Warning, "the message is empty", "Say in message what you need and why.", onElicitation + `"Elicitation Requests"`},
	{"message-long", Note, "the message is longer than 2000 characters; surfaces fold it", "Put what matters for the decision first, and the rest into the tool's content.", onClear},
	{"bad-mode", Error, "the mode is neither form nor url", `Write "form", "url", or leave mode out for a form.`, onElicitation + `"Elicitation Requests"`},
	{"mode-not-in-revision", Error, "the revision has no URL mode", "Ask clients of this revision with a tool result that names the page.", "MCP 2025-06-18 elicitation"},
	{"elicitationId-missing", Error, "revision 2025-11-25 demands an elicitationId in URL mode", "Send one that nobody can guess, unique for each question.", "MCP 2025-11-25 schema.ts, ElicitRequestURLParams"},
	{"ambiguous-params", Error, "a member of the params is there twice, or has the name of one of the protocol's in another case; programs differ in what they read, and hosts refuse the question", "Write each member once, and its name exactly as the schema does.", "RFC 8259, 4; schema.ts, ElicitRequestParams"},
	{"wrong-param-name", Error, "the schema is under another name", "Name it requestedSchema.", onForm},
	{"extra-params", Warning, "params that the mode and revision do not list; clients ignore or refuse them", "Leave them out, or move what is your own into _meta under a prefix of yours.", "schema.ts, ElicitRequestParams"},
	{"missing-requestedSchema", Error, "a form without requestedSchema", `Send {"type":"object","properties":{...}}.`, onForm},
}

var textRules = []Rule{
	{"hidden-character", Error, "a text has invisible or direction characters", "Take them out; people must see what they agree to.", onClear},
	{"control-character", Warning, "a text has control characters, or bytes that are no text", "Send plain text; the only control character is a line end.", onClear},
	{"markup", Note, "a text has Markdown; clients show it as it is, if they are careful", "Write plain sentences.", onClear},
	{"html", Warning, "a text has HTML; no client should draw it", "Write plain sentences.", onClear},
	{"url-in-form-message", Warning, "the message of a form has an address to open", "Ask in URL mode, so that the person sees where it leads before it is opened.", onSafeURL},
	{"url-in-form-text", Warning, "a title, description or choice has an address to open", "Ask in URL mode, or name the site without the address.", onSafeURL},
	{"coercive-wording", Warning, "a text presses the person to agree", "Say what happens on each answer, and let decline be an answer.", onElicitation + `"User Interaction Model", clear decline and cancel`},
	{"prechecked-consent", Warning, "a box for consent is checked beforehand", "Drop the default, so that a yes is somebody's own.", onElicitation + `"Response Actions", explicitly approved`},
	{"title-missing", Note, "a field has no title; its name is shown", "Give it a title in the language of the message.", onSchema},
	{"description-missing", Note, "a field to type in has neither description, format nor choices", "Say in description what is expected, with an example.", onSchema},
	{"many-fields", Warning, "more than 12 fields in one form", "Ask for less, or in two rounds.", onPractice},
	{"choice-alike", Warning, "two choices look the same", "Word them so that they can be told apart when read and when heard.", onClear},
	{"client-profile", Note, "a client is known not to draw, or to refuse, this shape", "Nothing, if you do not need that client; else use the shape that the note names.", onPractice},
}

// sourceRules are found in Go source, by lint/vet. The schema of a struct is
// judged by the rules above, too.
var sourceRules = []Rule{
	{"swallowed-error", Error, "the error of a question is dropped: what follows runs without an answer", "Return the error as it is; the kit makes the right result of it.", "package elicit"},
	{"consent-ignored", Error, "the consent that Confirm returns is dropped", "Go on only if it is elicit.Yes.", onElicitation + `"Response Actions"`},
	{"form-type", Error, "a form cannot ask for this Go type", "Use a string, number, bool, time.Time or list of strings, or tag the field elicit:\"-\".", onSubset},
	{"form-tag", Error, "an elicit tag that the kit refuses", "Correct it; the package documentation of elicit lists the settings.", "package elicit"},
}
