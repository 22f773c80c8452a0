package lint

import (
	"strings"
	"testing"
)

// The words of the lexicon are in the form in which texts are compared; any
// other form would never be found.
func TestLexiconIsFolded(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]*lexicon{"secrets": secrets, "identifiers": identifiers} {
		for term := range x.terms {
			if got := strings.Join(splitWords(joined.Replace(fold(term))), " "); got != term {
				t.Errorf("%s: %q is found as %q", name, term, got)
			}
		}
		for _, term := range x.cjk {
			if fold(term) != term || strings.Contains(term, " ") {
				t.Errorf("%s: %q is never found", name, term)
			}
		}
		for _, suffix := range x.suffixes {
			if fold(suffix) != suffix {
				t.Errorf("%s: suffix %q is never found", name, suffix)
			}
		}
	}
	sets := map[string]map[string]bool{
		"negations": negations, "actions": actions, "wants": wants, "requests": requests, "trailingRequests": trailingRequests, "transparent": transparent, "determiners": determiners,
		"conjunctions": conjunctions, "copulas": copulas, "links": links, "tails": tails, "services": services, "subordinators": subordinators, "interrogatives": interrogatives,
		"codeWords": codeWords, "codeHeads": codeHeads, "opened": opened, "received": received, "phones": phones, "got": got, "digitWords": digitWords, "cardWords": cardWords, "backWords": backWords,
		"loyalty": loyalty, "keyWords": keyWords, "unlocking": unlocking, "consentWords": consentWords, "identifying": identifying, "fileWords": fileWords, "filePartWords": filePartWords,
	}
	for name, words := range sets {
		for w := range words {
			if ws := splitWords(fold(w)); len(ws) != 1 || ws[0] != w {
				if w == "&" {
					continue
				}
				t.Errorf("%s: %q is found as %q", name, w, ws)
			}
		}
	}
	for first, phrases := range coercivePhrases {
		for _, p := range phrases {
			if got := strings.Join(splitWords(fold(strings.Join(p, " "))), " "); got != strings.Join(p, " ") || p[0] != first {
				t.Errorf("coercive phrase %q is found as %q", p, got)
			}
		}
	}
}
