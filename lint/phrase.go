package lint

import (
	"strings"
	"unicode"
)

// A lexicon is a list of terms with what matters about each.
type lexicon struct {
	terms    map[string]termKind // words joined by a space, folded
	firsts   map[string]bool     // first words of terms: most words are none
	longest  int                 // words of the longest term
	suffixes []string            // ends of compound words
	cjk      []string            // terms of scripts without spaces, the longest first
}

type termKind uint8

const (
	headLast  termKind = iota + 1 // what follows may be the head of the phrase
	headFirst                     // what follows only describes
	genitive                      // counts after a request or a word such as "confirmation"
	alone                         // counts only as a whole clause
)

// find gives the first term that the text asks for.
func (x *lexicon) find(text string, where place) (string, bool) {
	if text == "" {
		return "", false
	}
	folded := fold(head(text))
	for sentence := range sentences(folded) {
		if where != inLabel && denied(sentence) {
			continue
		}
		for clause := range clauses(sentence) {
			if w, ok := x.clause(clause, where); ok {
				return w, true
			}
		}
		if x == secrets {
			if w, ok := composed(sentence, where); ok {
				return w, true
			}
		}
	}
	if !isASCII(folded) {
		return x.findCJK(folded, where)
	}
	return "", false
}

// head cuts what is longer than anybody reads.
func head(s string) string {
	if len(s) > maxWords {
		return strings.ToValidUTF8(s[:maxWords], "")
	}
	return s
}

func sentences(s string) func(func(string) bool) {
	return split(s, func(r rune) bool { return strings.ContainsRune(".!?;\n。！？；", r) })
}

func clauses(s string) func(func(string) bool) {
	return split(s, func(r rune) bool {
		return strings.ContainsRune(",:()[]{}/|\"“”„«»—–、，：（）「」【】•", r)
	})
}

func split(s string, at func(rune) bool) func(func(string) bool) {
	return func(yield func(string) bool) {
		for {
			i := strings.IndexFunc(s, at)
			if i < 0 {
				yield(s)
				return
			}
			if !yield(s[:i]) {
				return
			}
			s = s[i:]
			s = strings.TrimLeftFunc(s, at)
		}
	}
}

// denied is true for a sentence that tells not to give something, or that
// nothing is wanted: a negation, and at most three words later a request.
func denied(sentence string) bool {
	ws := splitWords(sentence)
	for i, w := range ws {
		if !negations[w] {
			continue
		}
		for _, v := range ws[i+1 : min(i+4, len(ws))] {
			if requests[v] || wants[v] {
				return true
			}
		}
	}
	return false
}

var joined = strings.NewReplacer("sign in", "signin", "log in", "login", "sign on", "signon", "log on", "logon", "check in", "checkin", "opt in", "optin", "built in", "builtin")

// clause looks for a term that is the head of its phrase.
func (x *lexicon) clause(s string, where place) (string, bool) {
	all, asked := questionWords(splitWords(joined.Replace(s)))
	// A conjunction begins a phrase of its own, under the request before it.
	for first := true; len(all) > 0; first = false {
		end := 0
		for end < len(all) && !(conjunctions[all[end]] && end > 0) {
			end++
		}
		if first || asked || where == inLabel {
			if w, ok := x.phrase(all[:end], where); ok {
				return w, true
			}
		}
		asked = asked || anyOf(all[:end], requests)
		if end == len(all) {
			break
		}
		all = all[end+1:]
	}
	return "", false
}

// questionWords takes "what is" off the front: what follows is what is asked.
func questionWords(ws []string) ([]string, bool) {
	if len(ws) > 2 && interrogatives[ws[0]] {
		if copulas[ws[1]] || ws[1] == "s" {
			return ws[2:], true
		}
		if ws[0] == "wie" && ws[1] == "lautet" {
			return ws[2:], true
		}
	}
	return ws, false
}

func (x *lexicon) phrase(ws []string, where place) (string, bool) {
	for i := 0; i < len(ws); i++ {
		term, n, kind := x.at(ws, i)
		if kind == 0 {
			continue
		}
		// Words far away belong to something else, and looking at all of them
		// for each term would be work without bound.
		before, after := ws[max(0, i-maxPhrase):i], ws[i+n:min(len(ws), i+n+maxPhrase)]
		// A negation or an action before it takes the phrase back: "no password",
		// "reset password". So does what only tells when: "if a password ...".
		if anyOf(before, negations) ||
			anyOf(before, actions) && (kind != headFirst || where == inLabel) ||
			anyOf(before, subordinators) && where != inLabel {
			return "", false
		}
		if harmless(term, before, after) || !x.follows(kind, after, where) || !leads(kind, before, after, where) {
			i += n - 1
			continue
		}
		return term, true
	}
	return "", false
}

// at finds the longest term that begins at word i.
func (x *lexicon) at(ws []string, i int) (string, int, termKind) {
	w := ws[i]
	ascii := isASCII(w)
	if trimmed := strings.TrimRight(w, "0123456789"); ascii && len(trimmed) >= 5 && !x.firsts[w] {
		w = trimmed // password2
	}
	longest := min(x.longest, len(ws)-i)
	if !x.firsts[w] && (ascii || !x.firsts[withoutParticle(w)]) {
		longest = 0
	}
	for n := longest; n > 0; n-- {
		term := w
		if n > 1 {
			term = strings.Join(ws[i:i+n], " ")
		}
		if k := x.terms[term]; k != 0 {
			return term, n, k
		}
		if base := withoutParticle(term); !isASCII(ws[i+n-1]) && base != term {
			if k := x.terms[base]; k != 0 {
				return base, n, k
			}
		}
	}
	if len(w) < 7 { // shorter than any compound
		return "", 0, 0
	}
	for _, suffix := range x.suffixes {
		if stem, ok := strings.CutSuffix(w, suffix); ok && len(stem) > 1 && !containsAny(stem, loyaltyStems) {
			return suffix, 1, headLast
		}
		if base := withoutParticle(w); !ascii && base != w && len(base) > len(suffix)+1 && strings.HasSuffix(base, suffix) {
			return suffix, 1, headLast
		}
	}
	return "", 0, 0
}

// withoutParticle takes the particle off a Korean noun. One that makes it a
// mere attribute, 의, stays.
func withoutParticle(w string) string {
	for _, p := range [...]string{"을", "를", "은", "는", "이", "가"} {
		if base, ok := strings.CutSuffix(w, p); ok && len(base) >= 6 {
			return base
		}
	}
	return w
}

// follows is true unless what follows the term is the head of its phrase.
func (x *lexicon) follows(kind termKind, after []string, where place) bool {
	if len(after) == 0 {
		return true
	}
	next := after[0]
	switch {
	case kind == alone:
		return trailingRequests[next] || tails[next] && len(after) == 1
	case where != inLabel && copulas[next]:
		return false // a statement about it
	case kind == headFirst, kind == genitive:
		return true
	case isNumber(next):
		return true
	}
	return tails[next] || links[next] || trailingRequests[next] || services[next]
}

// leads is true unless what stands before the term is the head of its phrase,
// and, in a description or message, only if the phrase is what is asked for.
func leads(kind termKind, before, after []string, where place) bool {
	asked := anyOf(before, requests) || anyOf(after, trailingRequests)
	link := -1
	for i, w := range before {
		if links[w] {
			link = i
			break
		}
	}
	if link > 0 {
		for _, w := range before[:link] {
			if !transparent[w] && !requests[w] && !determiners[w] {
				return false
			}
		}
	}
	switch kind {
	case genitive:
		return anyOf(before, transparent) || anyOf(before, requests)
	case alone:
		for _, w := range before {
			if !requests[w] && !determiners[w] {
				return false
			}
		}
	}
	switch where {
	case inDescription:
		return asked || len(before) <= 3
	case inMessage:
		return asked || len(before) <= 2 && (len(after) == 0 || links[after[0]] || trailingRequests[after[0]])
	}
	return true
}

// harmless is true for a common term that its neighbours make mean something
// else: a map pin, a loyalty card number, le secret de fabrication.
func harmless(term string, before, after []string) bool {
	if len(before) > 0 && weak[term][before[len(before)-1]] || len(after) > 1 && anyOf(after[:2], weakAfter[term]) {
		return true
	}
	return cardTerms.MatchString(term) && (anyOf(before, loyalty) || anyOf(after, loyalty))
}

func anyOf(ws []string, set map[string]bool) bool {
	for _, w := range ws {
		if set[w] {
			return true
		}
	}
	return false
}

func isNumber(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !unicode.IsDigit(r) }) < 0
}
