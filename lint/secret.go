package lint

import (
	"regexp"

	"github.com/parley-mcp/parley/form"
)

// The rule on secrets. docs/lint.md has it in words for users.
//
// A secret is what opens something, proves who somebody is, or pays, for
// whoever has it. Identifiers are none: they name a person or thing.
//
// A text asks for one if the head of a phrase in it is a term of the lexicon.
// "GitHub token" is a token and "token count" is a count; "PIN of the locker"
// is a PIN and "name of the token" is a name. Where the head stands depends on
// the language: last in English, German, Dutch, Turkish, Korean, Chinese and
// Japanese, first in the Romance and Slavic languages.
//
// A description or message tells more than what is asked, so there the phrase
// has to open a clause or follow a word such as "enter", and not be denied.

const (
	maxPhrase = 30       // words before and after a term that are looked at
	maxWords  = 16 << 10 // bytes of a text whose words are judged
)

// A place is where a text stands in a question.
type place int

const (
	inLabel place = iota // a name or title: it names what is asked
	inDescription
	inMessage
)

// AsksSecret says whether a field asks for something that must not go through
// a form (MCP 2026-07-28 elicitation, "User Interaction Model" S1: secrets and
// credentials that grant access or authorize transactions), and by which words. It reads
// the name, the title, the description and the pattern, in English, German,
// French, Spanish, Italian, Portuguese, Dutch, Polish, Turkish, Russian,
// Japanese, Chinese and Korean. It is a judgement of words, neither proof nor
// alibi; the documentation says how often it is right. Package elicit refuses to
// put such a field, and a host warns the person at it.
//
// Fields that hold no text of the person's own (choices, yes or no, dates)
// never ask for one.
func AsksSecret(f *form.Field) (words string, asks bool) {
	switch f.Kind {
	case form.Text, form.Integer, form.Number, form.JSON:
	default:
		return "", false
	}
	if f.Format == "date" || f.Format == "date-time" || f.Format == "email" {
		return "", false
	}
	if f.Format == "password" {
		return "format password", true
	}
	number := f.Kind == form.Integer || f.Kind == form.Number
	for _, text := range [...]string{splitName(f.Name), splitName(f.Title)} {
		if w, ok := secrets.find(text, inLabel); ok && !(number && countable[w]) {
			return w, true
		}
	}
	if w, ok := secrets.find(f.Description, inDescription); ok && !(number && countable[w]) {
		return w, true
	}
	for _, text := range [...]string{f.Pattern, f.Title, f.Description} {
		if p := keyPrefix.FindString(text); p != "" {
			return p, true
		}
	}
	return "", false
}

// countable are words that, with a number, count or cost something.
var countable = map[string]bool{"token": true, "jeton": true, "secret": true, "pin": false, "токен": true, "토큰": true, "令牌": true, "トークン": true}

// keyPrefix finds the well-known beginnings of keys. "sk-SK" is a language.
var keyPrefix = regexp.MustCompile(`\bsk-([a-z0-9]|[^\w]|$)|\bsk_(live|test)_|\bgh[pousr]_|\bgithub_pat_|\bglpat-|\bxox[abprs]-|\bAIza|\bya29\.|\beyJ|\bBEGIN [A-Z ]*PRIVATE KEY`)

// secretByClipboard finds a message that has the person put a secret on the
// clipboard, or into a file, for the server to take.
func secretByClipboard(message string) (string, bool) {
	folded := fold(head(message))
	if !containsAny(folded, clipboard) {
		return "", false
	}
	for clause := range clauses(folded) {
		ws := splitWords(joined.Replace(clause))
		for i := range ws {
			if term, _, kind := secrets.at(ws, i); kind != 0 {
				return term, true
			}
		}
	}
	return "", false
}

var clipboard = []string{"clipboard", "zwischenablage", "presse-papiers", "portapapeles", "appunti", "area de transferencia", "klembord", "schowk", "pano", "буфер обмена", "буфера обмена", "クリップボード", "剪贴板", "클립보드"}
