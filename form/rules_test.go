package form

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The three revisions differ in what a form may hold.
func TestProblemsByRevision(t *testing.T) {
	t.Parallel()
	all := []Revision{Rev20250618, Rev20251125, Rev20260728}
	for _, tc := range []struct {
		name, property string
		want           [3]string // "severity rule pointer", by revision
	}{
		{"text", `{"type":"string","title":"T","description":"D","minLength":1,"maxLength":9,"format":"email"}`, [3]string{"[]", "[]", "[]"}},
		{"enum", `{"type":"string","enum":["a"]}`, [3]string{"[]", "[]", "[]"}},
		{"enumNames", `{"type":"string","enum":["a"],"enumNames":["A"]}`, [3]string{"[]", "[note enumNames-legacy /enumNames]", "[note enumNames-legacy /enumNames]"}},
		{"titled", `{"type":"string","oneOf":[{"const":"a","title":"A"}]}`, [3]string{"[error titled-choice-not-in-revision /oneOf]", "[]", "[]"}},
		{"several", `{"type":"array","items":{"type":"string","enum":["a"]},"minItems":0,"maxItems":1}`, [3]string{"[error array-not-in-revision /type]", "[]", "[]"}},
		{"several titled", `{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]}}`, [3]string{"[error array-not-in-revision /type]", "[]", "[]"}},
		{"default of text", `{"type":"string","default":"x"}`, [3]string{"[warning default-not-in-revision /default]", "[]", "[]"}},
		{"default of a boolean", `{"type":"boolean","default":true}`, [3]string{"[]", "[]", "[]"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := mustParse(t, `{"type":"object","properties":{"v":`+tc.property+`}}`)
			for i, rev := range all {
				got := []string{}
				for _, p := range s.Problems(rev) {
					got = append(got, fmt.Sprintf("%s %s %s", p.Severity, p.Rule, p.Pointer[len("/properties/v"):]))
				}
				if s := fmt.Sprint(got); s != tc.want[i] {
					t.Errorf("%s: got %s, want %s", rev, s, tc.want[i])
				}
			}
		})
	}
}

// Each rule at its place. The offset is that of the value, or of the keyword
// where the keyword itself is the fault.
func TestProblems(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ schema, want string }{
		{``, `error missing-requestedSchema "" 0`},
		{`null`, `error missing-requestedSchema "" 0`},
		{`{"type":"object"}`, `error missing-properties "" 0`},
		{`{"properties":{"a":{"type":"string"}}}`, `error root-missing-type "" 0`},
		{`{"type":["object"],"properties":{"a":{"type":"string"}}}`, `error root-type "/type" 8`},
		{`{"type":"object","properties":{"a":{"type":"string"}},"x-y":1}`, `warning x-extension "/x-y" 54`},
		{`{"type":"object","properties":{"a":{"type":"string"}},"def":1}`, `warning root-unknown-keyword "/def" 54`},
		{`{"type":"object","properties":{"a":{"type":"string"}},"required":["a","a"]}`, `warning required-twice "/required/1" 70`},
		{`{"type":"object","properties":{"a":{"type":"money"}}}`, `error unknown-type "/properties/a/type" 43`},
		{`{"type":"object","properties":{"a":{"type":["string","null"]}}}`, `error type-null "/properties/a/type" 43`},
		{`{"type":"object","properties":{"a":{"type":["string"]}}}`, `error type-list "/properties/a/type" 43`},
		{`{"type":"object","properties":{"a":{"type":"string","title":1}}}`, `error keyword-type "/properties/a/title" 60`},
		{`{"type":"object","properties":{"a":{"type":"string","minLength":"1"}}}`, `error keyword-type "/properties/a/minLength" 64`},
		{`{"type":"object","properties":{"a":{"type":"string","minLength":-1}}}`, `warning bounds-not-a-count "/properties/a/minLength" 64`},
		{`{"type":"object","properties":{"a":{"type":"number","minimum":1e999999999,"maximum":1e999999998}}}`, `error bounds-inverted "/properties/a/minimum" 62`},
		{`{"type":"object","properties":{"a":{"type":"string","enum":[]}}}`, `error enum-empty "/properties/a/enum" 59`},
		{`{"type":"object","properties":{"a":{"type":"string","enum":"a"}}}`, `error enum-type "/properties/a/enum" 59`},
		{`{"type":"object","properties":{"a":{"type":"string","enum":["a","a"]}}}`, `warning enum-duplicate "/properties/a/enum/1" 64`},
		{`{"type":"object","properties":{"a":{"type":"string","enum":["a",""]}}}`, `warning enum-empty-value "/properties/a/enum/1" 64`},
		{`{"type":"object","properties":{"a":{"type":"integer","enum":[1]}}}`, `error keyword-on-wrong-type "/properties/a/enum" 53`},
		{`{"type":"object","properties":{"a":{"type":"string","oneOf":[{"title":"A"}]}}}`, `error option-missing-const "/properties/a/oneOf/0" 61`},
		{`{"type":"object","properties":{"a":{"type":"string","oneOf":[{"const":"a","title":"Al"},{"const":"b","title":"AI"}]}}}`, `warning option-title-alike "/properties/a/oneOf/1/title" 109`},
		{`{"type":"object","properties":{"a":{"type":"string","oneOf":[{"const":"a","title":"A"},{"type":"null"}]}}}`, `error oneOf-null "/properties/a/oneOf/1" 87`},
		{`{"type":"object","properties":{"a":{"type":"array","items":{"oneOf":[{"const":"a","title":"A"}]}}}}`, `error items-oneOf "/properties/a/items/oneOf" 68`},
		{`{"type":"object","properties":{"a":{"type":"array","items":{"type":"integer","enum":[1]}}}}`, `error enum-non-string "/properties/a/items/type" 67` + "\n" + `error enum-non-string "/properties/a/items/enum/0" 85`},
		{`{"type":"object","properties":{"a":{"type":"array","minItems":2,"items":{"type":"string","enum":["a"]}}}}`, `error bounds-unreachable "/properties/a/minItems" 62`},
		{`{"type":"object","properties":{"a":{"type":"array","items":[]}}}`, `error items-type "/properties/a/items" 59`},
		{`{"type":"object","properties":{"a":{"type":"string","enum":["x"],"default":"y"}}}`, `warning default-not-an-option "/properties/a/default" 75`},
		{`{"type":"object","properties":{"a":{"type":"integer","maximum":1,"default":2}}}`, `warning default-out-of-bounds "/properties/a/default" 75`},
		{`{"type":"object","properties":{"a":{"type":"integer","default":1.5}}}`, `error default-mismatch "/properties/a/default" 63`},
		{`{"type":"object","properties":{"a":{"type":"array","items":{"type":"string","enum":["x"]},"default":"x"}}}`, `error default-mismatch "/properties/a/default" 100`},
		{`{"type":"object","properties":{"a":{"type":"string","pattern":"(?=x)"}}}`, `warning pattern "/properties/a/pattern" 52` + "\n" + `warning pattern-not-run "/properties/a/pattern" 62`},
		{`{"type":"object","properties":{"a":{"type":"string","allOf":[]}}}`, `error allOf-at-property "/properties/a/allOf" 60`},
		{`{"type":"object","properties":{"a~/b":{"type":"null"}}}`, `error null-type "/properties/a~0~1b/type" 46`},
	} {
		s := mustParse(t, tc.schema)
		got := ""
		for i, p := range s.Problems(Rev20260728) {
			if i > 0 {
				got += "\n"
			}
			got += fmt.Sprintf("%s %s %q %d", p.Severity, p.Rule, p.Pointer, p.Offset)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.schema, diff)
		}
	}
}
