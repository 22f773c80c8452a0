package lint

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-mcp/parley/form"
)

// manyFields is how many fields people still fill in at once.
const manyFields = 12

// schema judges a requestedSchema; message is what it was asked with, or nil.
func (l *linter) schema(ptr string, n, message *node) {
	s, err := form.Parse(l.doc[n.off:n.end])
	if err != nil {
		var bad *form.SchemaError
		if errors.As(err, &bad) && ruleIndex[bad.Rule] != nil {
			l.add(bad.Rule, ptr+bad.Pointer, n.off+bad.Offset, bad.Reason)
		} else {
			l.add("malformed", ptr, n.off, "the schema cannot be read")
		}
	} else {
		for _, p := range s.Problems(l.revision()) {
			if ruleIndex[p.Rule] == nil {
				continue // a rule newer than this package; the tests list them all
			}
			before := len(l.report.Findings)
			l.addAs(Severity(p.Severity), p.Rule, ptr+p.Pointer, n.off+p.Offset, p.Text)
			for i := range l.report.Findings[before:] {
				l.report.Findings[before+i].Clause = p.Clause // it names revision and interface
			}
		}
	}
	props := n.get("properties")
	if len(props.pairs()) > manyFields {
		l.add("many-fields", at(ptr, "properties"), props.off, fmt.Sprintf("the form has %d fields", len(props.members)))
	}
	for _, key := range [...]string{"title", "description"} {
		if t := n.get(key); t.is(stringNode) {
			l.formText(at(ptr, key), t, "the "+key+" of the form")
		}
	}
	if s == nil {
		return
	}
	f := &formLinter{linter: l, ptr: ptr, root: n, parsed: s}
	for _, m := range props.pairs() {
		f.field(m)
	}
	if !f.secret && message.text() != "" && takesText(n) {
		if w, ok := secrets.find(message.str, inMessage); ok {
			l.add("secret-in-form", strings.TrimSuffix(ptr, "/requestedSchema")+"/message", message.off, fmt.Sprintf("the message asks for a secret (%s)", w))
		}
	}
	l.profiles(shapesOf(ptr, n))
}

// takesText is true for a schema with a field that a person types into.
func takesText(schema *node) bool {
	for _, m := range schema.get("properties").pairs() {
		switch m.val.get("type").text() {
		case "string":
			if m.val.get("enum") == nil && m.val.get("oneOf") == nil {
				return true
			}
		case "integer", "number":
			return true
		}
	}
	return false
}

func (l *linter) formText(ptr string, n *node, what string) {
	l.words(ptr, n, what)
	if hasURL(n.text()) {
		l.add("url-in-form-text", ptr, n.off, what+" has an address to open")
	}
}

type formLinter struct {
	*linter
	ptr    string
	root   *node
	parsed *form.Schema
	secret bool // a field asks for one
}

func (f *formLinter) field(m member) {
	n, ptr := m.val, at(f.ptr, "properties", m.key)
	if !n.is(objectNode) {
		return
	}
	name := quote(m.key)
	field, ok := f.parsed.Field(m.key)
	if !ok {
		return
	}
	key := &node{kind: stringNode, off: m.off, end: m.off, str: m.key}
	f.formText(ptr, key, "the name "+name)
	for _, k := range [...]string{"title", "description"} {
		if t := n.get(k); t.is(stringNode) {
			f.formText(at(ptr, k), t, "the "+k+" of "+name)
		}
	}
	f.asked(ptr, name, m, &field)
	f.titles(ptr, name, m, &field)
	f.choices(ptr, name, n)
	switch field.Kind {
	case form.Integer:
		f.integer(ptr, name, n, &field)
	case form.Boolean:
		f.consent(ptr, name, n, &field)
	case form.Text:
		f.pattern(ptr, name, n)
	}
	f.answerable(ptr, name, m, &field)
}

// minKey is the length from which a text with the beginning of a key is one.
const minKey = 16

// asked judges what the field wants to know.
func (f *formLinter) asked(ptr, name string, m member, field *form.Field) {
	if w, ok := AsksSecret(field); ok {
		f.secret = true
		f.add("secret-in-form", ptr, m.val.off, fmt.Sprintf("%s asks for a secret (%s)", name, w))
		return
	}
	if d := m.val.get("default").text(); len(d) >= minKey && keyPrefix.MatchString(d) {
		f.secret = true
		f.add("secret-in-form", at(ptr, "default"), m.val.get("default").off, "the default of "+name+" looks like a key, and goes out to every client")
		return
	}
	if field.Kind != form.Text && field.Kind != form.Integer && field.Kind != form.Number {
		return
	}
	for _, text := range [...]string{splitName(field.Name), splitName(field.Title)} {
		if w, ok := identifiers.find(text, inLabel); ok {
			f.add("personal-identifier", ptr, m.val.off, fmt.Sprintf("%s asks for an identifier (%s)", name, w))
			break
		}
	}
	if asksFile(m, field) {
		f.add("file-in-form", ptr, m.val.off, name+" asks for a file or its bytes")
	}
}

var fileWords = set("file upload attachment base64 photo image pdf scan screenshot datei anhang foto fichier archivo adjunto allegato arquivo anexo bestand bijlage plik zalacznik dosya файл вложение 파일 ファイル 文件")
var filePartWords = set("name path url type format size extension folder directory id pattern count title link mode tag alt caption description prompt pfad typ nom chemin nombre ruta percorso nome caminho naam pad")

// asksFile reads names such as photo_upload and hints such as base64.
func asksFile(m member, field *form.Field) bool {
	if m.val.get("contentEncoding") != nil || m.val.get("contentMediaType") != nil {
		return true
	}
	for _, text := range [...]string{field.Name, field.Title, field.Description} {
		ws := splitWords(fold(splitName(text)))
		if slices.Contains(ws, "base64") {
			return true
		}
		if text == field.Description || len(ws) == 0 || anyOf(ws, filePartWords) {
			continue
		}
		if last := ws[len(ws)-1]; last == "upload" || last == "attachment" || fileWords[last] && (ws[0] == "upload" || ws[0] == "attach" || ws[0] == "attached") {
			return true
		}
	}
	return false
}

func (f *formLinter) titles(ptr, name string, m member, field *form.Field) {
	if strings.TrimSpace(field.Title) == "" {
		f.add("title-missing", ptr, m.val.off, name+" has no title")
	}
	open := field.Kind == form.Text || field.Kind == form.Integer || field.Kind == form.Number
	bounded := field.Format != "" || field.Minimum != "" || field.Maximum != ""
	if open && !bounded && strings.TrimSpace(field.Description) == "" {
		f.add("description-missing", ptr, m.val.off, name+" has no description")
	}
}

// choices judges the words of the choices and whether they can be told apart.
func (f *formLinter) choices(ptr, name string, n *node) {
	type option struct {
		ptr  string
		n    *node
		text string
	}
	var options []option
	collect := func(p string, list *node, titled bool) {
		for i, o := range list.list() {
			at1, t := atIndex(p, i), o
			if titled {
				at1, t = at(at1, "title"), o.get("title")
			}
			if t.is(stringNode) {
				options = append(options, option{at1, t, t.str})
			}
		}
	}
	holder := n
	if items := n.get("items"); items.is(objectNode) {
		holder, ptr = items, at(ptr, "items")
	}
	titled := holder.get("oneOf") != nil || holder.get("anyOf") != nil || holder.get("enumNames") != nil
	for _, k := range [...]string{"oneOf", "anyOf"} {
		collect(at(ptr, k), holder.get(k), true)
	}
	collect(at(ptr, "enumNames"), holder.get("enumNames"), false)
	if !titled {
		collect(at(ptr, "enum"), holder.get("enum"), false)
	}
	seen := map[string]string{}
	for _, o := range options {
		f.formText(o.ptr, o.n, "a choice of "+name)
		look := lookOf(o.text)
		if before, ok := seen[look]; ok && !(before == o.text && !titled) { // the same value twice is enum-duplicate
			f.add("choice-alike", o.ptr, o.n.off, "two choices of "+name+" look the same")
		}
		seen[look] = o.text
	}
}

// lookOf maps texts that people take for one another to one text: case, marks,
// blanks and letters of other scripts aside.
func lookOf(s string) string {
	return strings.Map(func(r rune) rune {
		if to, ok := alike[r]; ok {
			return to
		}
		switch r {
		case ' ', '\t', '\n', '\u00a0', '\u3000':
			return -1
		}
		return r
	}, fold(s))
}

var alike = map[rune]rune{
	'0': 'o', '1': 'l', 'i': 'l', '|': 'l', 'а': 'a', 'α': 'a', 'в': 'b', 'с': 'c', 'ԁ': 'd', 'е': 'e', 'ε': 'e', 'һ': 'h', 'н': 'h', 'і': 'l', 'ι': 'l', 'ӏ': 'l', 'ј': 'j', 'к': 'k', 'κ': 'k', 'м': 'm',
	'ο': 'o', 'о': 'o', 'р': 'p', 'ρ': 'p', 'ѕ': 's', 'т': 't', 'τ': 't', 'υ': 'u', 'ν': 'v', 'ѵ': 'v', 'ԝ': 'w', 'х': 'x', 'χ': 'x', 'у': 'y', '‐': '-', '‑': '-', '–': '-', '—': '-', '−': '-', '’': '\'', '‘': '\'',
}

const exact = 1<<53 - 1 // the largest integer that every reader keeps (RFC 8259, 6)

// identifying are words for numbers that name something.
var identifying = set("id ids identifier serial imei phone telephone mobile account customer order invoice ticket zip postal postcode tracking barcode ean isbn iban reference wei satoshi nonce snowflake telefon telefonnummer kontonummer kundennummer rechnungsnummer postleitzahl plz")

// counting are words for numbers that are counted.
var counting = set("count quantity total max min limit per days age")

func (f *formLinter) integer(ptr, name string, n *node, field *form.Field) {
	bound := func(key string) (float64, bool) {
		b := n.get(key)
		if !b.is(numberNode) {
			return 0, false
		}
		v, _ := strconv.ParseFloat(b.str, 64) // beyond its range it gives an infinity
		if math.Abs(v) > exact {
			f.add("integer-beyond-2-53", at(ptr, key), b.off, key+" of "+name+" is beyond 2^53")
		} else if v != math.Trunc(v) && key != "default" {
			f.add("bounds-fractional", at(ptr, key), b.off, key+" of "+name+" is no whole number")
		}
		return v, true
	}
	bound("default")
	lo, hasLo := bound("minimum")
	hi, hasHi := bound("maximum")
	if hasLo && hasHi && lo <= hi && math.Ceil(lo) > math.Floor(hi) {
		f.add("bounds-no-integer", at(ptr, "minimum"), n.get("minimum").off, "no whole number lies between the bounds of "+name)
	}
	if hasHi {
		return
	}
	for _, text := range [...]string{field.Name, field.Title} {
		ws := splitWords(fold(splitName(text)))
		if anyOf(ws, identifying) && !anyOf(ws, counting) {
			f.add("integer-exactness", ptr, n.off, name+" identifies something and is asked as a number without an upper bound")
			return
		}
	}
}

// consentWords name boxes whose tick is a declaration.
var consentWords = set(`agree agreed agrees agreement accept accepted accepts consent consents approve approved approval confirm confirmed confirmation acknowledge acknowledged authorize authorise authorized allow permit terms conditions tos privacy policy gdpr newsletter marketing subscribe optin opt delete overwrite
	zustimmen zustimmung einwilligung einverstanden akzeptieren bestatigen bestatigung agb datenschutz loschen accepte accepter consentement consens conditions confirmer autoriser acepto aceptar acepta consentimiento terminos confirmar autorizar accetto accettare consenso termini conferma aceito aceitar concordo consentimento termos
	akkoord accepteren toestemming voorwaarden bevestig zgadzam zgoda akceptuje regulamin potwierdzam kabul onay onayliyorum onayla согласен согласие принимаю подтверждаю условия разрешаю 동의 동의합니다 승인 확인 약관 同意 承認 同意する 確認`)

func (f *formLinter) consent(ptr, name string, n *node, field *form.Field) {
	d := n.get("default")
	if !d.is(boolNode) || d.str != "true" {
		return
	}
	for _, text := range [...]string{field.Name, field.Title, field.Description} {
		folded := fold(splitName(text))
		if anyOf(splitWords(folded), consentWords) || containsAny(folded, []string{"同意", "承認", "동의", "승인"}) {
			f.add("prechecked-consent", at(ptr, "default"), d.off, name+" is a consent, and is checked beforehand")
			return
		}
	}
}

// answerable finds fields for which nothing is legal, which the shape alone
// does not show.
func (f *formLinter) answerable(ptr, name string, m member, field *form.Field) {
	n := m.val
	off := n.off
	length := func(key string) int {
		if v := n.get(key); v.is(numberNode) {
			if i, err := strconv.Atoi(v.str); err == nil {
				return i
			}
		}
		return -1
	}
	lo, hi := length("minLength"), length("maxLength")
	switch field.Format {
	case "date":
		if hi >= 0 && hi < 10 || lo > 10 {
			f.add("unanswerable", ptr, off, name+" wants a date, which has 10 characters, and its length forbids that")
			return
		}
	case "date-time":
		if hi >= 0 && hi < 20 {
			f.add("unanswerable", ptr, off, name+" wants a date with time, which has at least 20 characters, and its length forbids that")
			return
		}
	case "email":
		if hi >= 0 && hi < 3 {
			f.add("unanswerable", ptr, off, name+" wants an address, which has at least 3 characters, and its length forbids that")
			return
		}
	}
	if len(field.Options) > 0 && field.Kind == form.Choice && (lo > 0 || hi >= 0) {
		fits := slices.ContainsFunc(field.Options, func(o form.Option) bool {
			n := len([]rune(o.Value))
			return n >= lo && (hi < 0 || n <= hi)
		})
		if !fits {
			f.add("unanswerable", ptr, off, "no choice of "+name+" has a legal length")
			return
		}
	}
	if field.Kind == form.Unsupported && field.Required {
		f.add("unanswerable", ptr, off, name+" is required and cannot be asked")
	}
}
