package lint

import (
	"strings"
	"unicode"
)

// findCJK looks for terms of Chinese and Japanese, where words are not set
// apart: the term has to end its phrase.
func (x *lexicon) findCJK(folded string, where place) (string, bool) {
	for sentence := range sentences(folded) {
		if containsAny(sentence, cjkNegations) {
			continue
		}
		for clause := range clauses(sentence) {
			clause = strings.ReplaceAll(strings.TrimSpace(clause), " ", "")
			for _, term := range x.cjk {
				i := strings.LastIndex(clause, term)
				if i < 0 {
					continue
				}
				before, after := clause[:i], clause[i+len(term):]
				if !cjkTail(after) || containsAny(before, cjkHeads) || cardTerms.MatchString(term) && containsAny(before, cjkLoyalty) {
					break // the longest term decides
				}
				asked := containsAny(clause, cjkRequests)
				if where == inLabel || asked || len([]rune(before)) <= 8 && (where == inDescription || after == "") {
					return term, true
				}
				break
			}
		}
	}
	return "", false
}

func cjkTail(after string) bool {
	if after == "" {
		return true
	}
	for _, t := range cjkTails {
		if strings.HasPrefix(after, t) {
			return true
		}
	}
	r, _ := firstRune(after)
	return r < 0x80 && !unicode.IsLetter(r) || unicode.IsDigit(r)
}

func firstRune(s string) (rune, bool) {
	for _, r := range s {
		return r, true
	}
	return 0, false
}

func containsAny(s string, of []string) bool {
	for _, p := range of {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}
