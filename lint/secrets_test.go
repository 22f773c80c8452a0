package lint_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/parley-mcp/parley/lint"
)

type phrase struct {
	secret            bool
	held              bool
	lang, place, text string
}

func phrases(t testing.TB) (list []phrase) {
	t.Helper()
	b, err := os.ReadFile("testdata/secrets.txt")
	if err != nil {
		t.Fatal(err)
	}
	held := false
	for i, line := range strings.Split(string(b), "\n") {
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
			continue
		case strings.HasPrefix(line, "["):
			held = line == "[held]"
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) != 4 || f[0] != "secret" && f[0] != "plain" || !slices.Contains([]string{"name", "title", "description", "message"}, f[2]) {
			t.Fatalf("secrets.txt:%d: %q", i+1, line)
		}
		list = append(list, phrase{f[0] == "secret", held, f[1], f[2], f[3]})
	}
	return list
}

// flagged asks for one text, with the phrase in its place.
func (p phrase) flagged(t testing.TB) bool {
	t.Helper()
	name, message := "value", "Something is needed."
	field := map[string]any{"type": "string"}
	switch p.place {
	case "name":
		name = p.text
	case "message":
		message = p.text
	default:
		field[p.place] = p.text
	}
	b, err := json.Marshal(map[string]any{
		"message": message,
		"requestedSchema": map[string]any{
			"type": "object", "properties": map[string]any{name: field},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	rep, err := lint.Lint(b, nil)
	if err != nil {
		t.Fatal(err)
	}
	return rep.Has("secret-in-form")
}

// A score counts how often the rule on secrets agrees with the labels.
type score struct{ hit, miss, alarm, right int }

func (s *score) add(secret, flagged bool) {
	switch {
	case secret && flagged:
		s.hit++
	case secret:
		s.miss++
	case flagged:
		s.alarm++
	default:
		s.right++
	}
}

func (s *score) total() int         { return s.hit + s.miss + s.alarm + s.right }
func (s *score) precision() float64 { return float64(s.hit) / float64(max(1, s.hit+s.alarm)) }
func (s *score) recall() float64    { return float64(s.hit) / float64(max(1, s.hit+s.miss)) }
func (s *score) row(name string) string {
	return fmt.Sprintf("| %s | %d | %d | %.3f | %.3f |\n", name, s.total(), s.hit+s.miss, s.precision(), s.recall())
}

// The floors are below what is measured, so that a phrase may be added without
// a change of the rule; the figures stand in docs/lint.md.
const (
	floorTuned = 0.98
	floorHeld  = 0.85
)

func scores(t testing.TB) (tuned, held score, byLang map[string]*score) {
	t.Helper()
	byLang = map[string]*score{}
	for _, p := range phrases(t) {
		flagged := p.flagged(t)
		s := &tuned
		if p.held {
			s = &held
			if byLang[p.lang] == nil {
				byLang[p.lang] = &score{}
			}
			byLang[p.lang].add(p.secret, flagged)
		}
		s.add(p.secret, flagged)
		if flagged != p.secret {
			t.Logf("%s %s: %q: flagged is %v", p.lang, p.place, p.text, flagged)
		}
	}
	return tuned, held, byLang
}

func TestSecretPhrases(t *testing.T) {
	t.Parallel()
	langs, plain, total := map[string]int{}, 0, 0
	seen := map[string]bool{}
	for _, p := range phrases(t) {
		if k := p.place + p.text; seen[k] {
			t.Errorf("%q is there twice", p.text)
		} else {
			seen[k] = true
		}
		langs[p.lang]++
		total++
		if !p.secret {
			plain++
		}
	}
	if total < 300 || len(langs) < 13 || plain*10 < total*4 || plain*10 > total*6 {
		t.Errorf("%d phrases, %d harmless, %d languages", total, plain, len(langs))
	}
	tuned, held, _ := scores(t)
	for _, s := range []struct {
		name  string
		score score
		floor float64
	}{{"tuned", tuned, floorTuned}, {"held", held, floorHeld}} {
		t.Logf("%s: %d phrases, precision %.3f, recall %.3f", s.name, s.score.total(), s.score.precision(), s.score.recall())
		if s.score.precision() < s.floor || s.score.recall() < s.floor {
			t.Errorf("%s: precision %.3f, recall %.3f, floor %.2f", s.name, s.score.precision(), s.score.recall(), s.floor)
		}
	}
}
