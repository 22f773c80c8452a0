package exact_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/parley-mcp/parley/internal/exact"
)

func Example() {
	v, err := exact.Decode([]byte(`{"amount": 9007199254740993}`))
	fmt.Println(v, err)
	_, err = exact.Decode([]byte(`{"amount": 1, "Amount": 1000000}`))
	fmt.Println(err)
	// Output:
	// map[amount:9007199254740993] <nil>
	// an object names a member twice
}

func TestDecode(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, tc := range []struct {
		text string
		ok   bool
	}{
		{`{}`, true}, {`[]`, true}, {` null `, true}, {`"a\ud83d\ude00b"`, true}, {`1e999999999`, true},
		{`{"a":{"b":1},"c":{"b":2}}`, true}, {deep(exact.MaxDepth), true}, {`"\\ud83d"`, true}, {`"\u00e9"`, true},

		{``, false}, {`{`, false}, {`{} {}`, false}, {`{"a":1,}`, false}, {`01`, false}, {deep(exact.MaxDepth + 1), false}, {deep(100_000), false},
		{`{"a":1,"a":1}`, false}, {`{"x":{"a":1,"A":2}}`, false}, {`[{"k":1,"K":2}]`, false}, {"{\"k\":1,\"\u212a\":2}", false},
		{`{"a":1,"\u0061":2}`, false}, {"{\"s\":1,\"\u017f\":2}", false},
		{`"\ud83d"`, false}, {`"\ude00"`, false}, {`"\ud83d\u0041"`, false}, {`"\ud83dx"`, false}, {`"\ud83d\ud83d"`, false}, {`"\uD83D\\uDE00"`, false},
		{"\"\xff\"", false}, {`{"\ud800":1}`, false},
	} {
		v, err := exact.Decode([]byte(tc.text))
		if (err == nil) != tc.ok {
			t.Errorf("Decode(%.60q) = %v, %v", tc.text, v, err)
		}
	}
}

// What is decoded is what encoding/json decodes, and what is refused never shows
// in the error.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.50,{"b":"\u0041"}]}`, `"\ud83d\ude00"`, `{"a":1,"A":1}`, `[`, `1e5`, `"\\"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := exact.Decode(raw)
		if err != nil {
			return
		}
		dec := json.NewDecoder(strings.NewReader(string(raw)))
		dec.UseNumber()
		var want any
		if err := dec.Decode(&want); err != nil {
			t.Fatalf("Decode(%q) = %v, and encoding/json says %v", raw, got, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("Decode(%q) = %#v, want %#v", raw, got, want)
		}
	})
}
