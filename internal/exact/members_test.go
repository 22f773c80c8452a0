package exact_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-mcp/parley/internal/exact"
)

// slowMembers is Members written with the standard library's decoder.
func slowMembers(raw []byte) ([]exact.Member, bool) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return nil, false
	}
	var out []exact.Member
	seen := make(map[string]bool)
	for dec.More() {
		tok, err := dec.Token()
		if err != nil || seen[tok.(string)] {
			return nil, false
		}
		seen[tok.(string)] = true
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return nil, false
		}
		out = append(out, exact.Member{tok.(string), value})
	}
	if _, err := dec.Token(); err != nil || len(bytes.Trim(raw[dec.InputOffset():], " \t\r\n")) > 0 {
		return nil, false
	}
	return out, true
}

func FuzzMembers(f *testing.F) {
	for _, s := range []string{
		` { "a" : 1 , "\u0062\"":"x\\" ,"c":[{"}":"]"}, -1.5e3,true] } `, `{}`, `{"":null}`, `{"a":1,"a":2}`, `{"a":1}{`, `[]`, `{"a":"\ud800","ÿ":0}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		want, ok := slowMembers(raw)
		got, err := exact.Members(raw, 1<<20)
		if ok != (err == nil) {
			t.Fatalf("Members(%q) = %v; the decoder: %v", raw, err, ok)
		}
		if diff := cmp.Diff(want, got); diff != "" && ok {
			t.Fatalf("Members(%q) (-decoder +got):\n%s", raw, diff)
		}
	})
}

func TestUnmarshal(t *testing.T) {
	t.Parallel()
	type it struct {
		Name string          `json:"name"`
		Flag *bool           `json:"flag,omitempty"`
		Raw  json.RawMessage `json:"raw"`
	}
	yes := true
	for _, tc := range []struct {
		text string
		want it
		ok   bool
	}{
		{`{"name":"a","flag":true,"raw":{"x":[1]},"more":1}`, it{"a", &yes, json.RawMessage(`{"x":[1]}`)}, true},
		{`{"name":"a","NAME":"b","Raw":1}`, it{Name: "a"}, true},
		{`{"FLAG":true}`, it{}, true}, {` null `, it{}, true}, {`{"name":null}`, it{}, true},
		{`{"name":5,"flag":true}`, it{Flag: &yes}, false},
		{`{"name":"a","name":"b"}`, it{}, false}, {`{"name":"a","n\u0061me":"b"}`, it{}, false},
		{``, it{}, false}, {`[]`, it{}, false}, {`{}{}`, it{}, false}, {`"name"`, it{}, false},
	} {
		var got it
		err := exact.Unmarshal([]byte(tc.text), &got)
		if diff := cmp.Diff(tc.want, got); diff != "" || (err == nil) != tc.ok {
			t.Errorf("Unmarshal(%s): %v, (-want +got)\n%s", tc.text, err, diff)
		}
	}
}

func TestAmbiguous(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{}`: false, `{"url":1,"other":2,"OTHER":3}`: false, `{"uri":1}`: false,
		`{"URL":1}`: true, `{"url":1,"Url":2}`: true, `{"\u0055rl":1}`: true, `{"link":1}`: false, "{\"lin\u212a\":1}": true,
	} {
		members, err := exact.Members([]byte(text), 10)
		if got := exact.Ambiguous(members, "url", "link"); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	if _, err := exact.Members([]byte(`{"a":1,"b":2}`), 1); !errors.Is(err, exact.ErrMany) {
		t.Errorf("two members where one is the limit: %v", err)
	}
}

func TestOnce(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"a":[`, 5000) + strings.Repeat("]}", 5000)
	for _, text := range []string{
		`{}`, `[]`, `5`, `"a"`, `{"a":1,"A":2}`, `{"a":{"b":1},"b":{"b":[{"b":1},{"b":2}]},"c":"a"}`, `[{"a":1},{"a":1}]`, `{"a":"b","b":"a","c":["a","a"]}`, deep,
	} {
		if err := exact.Once([]byte(text)); err != nil {
			t.Errorf("%.60s: %v", text, err)
		}
	}
	for _, text := range []string{
		`{"a":1,"a":1}`, `{"a":{},"a":[]}`, `{"a":[{"b":{"c":1,"c":2}}]}`, `[1,{"a":[],"b":{},"\u0061":null}]`, `{"a":{"x":[1]},"b":2,"b":3}`, `{"":1,"":2}`,
	} {
		if err := exact.Once([]byte(text)); !errors.Is(err, exact.ErrTwice) {
			t.Errorf("%s: %v, want ErrTwice", text, err)
		}
	}
	for _, text := range []string{``, `{`, `{}{}`} {
		if err := exact.Once([]byte(text)); err == nil || errors.Is(err, exact.ErrTwice) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
