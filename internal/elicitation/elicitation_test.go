package elicitation_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	segjson "github.com/segmentio/encoding/json"

	"github.com/parley-mcp/parley/internal/elicitation"
)

func Example() {
	p, err := elicitation.Read([]byte(`{"mode":"url","message":"Pay","url":"https://pay.example/","colour":"red"}`))
	fmt.Println(p.Mode, p.URL, err)
	_, err = elicitation.Read([]byte(`{"mode":"url","message":"Pay","url":"https://login.evil.example/","URL":"https://pay.example/"}`))
	fmt.Println(err)
	// Output:
	// url https://pay.example/ <nil>
	// it can be read in two ways
}

func TestRead(t *testing.T) {
	t.Parallel()
	p, err := elicitation.Read([]byte(`{"x":1,"mode":"url","message":"","url":"https://a.example/","elicitationId":"e","requestedSchema":{"URL":1},"_meta":{"Mode":2}}`))
	if err != nil || p.Mode != elicitation.URL || !p.HasMessage || p.URL != "https://a.example/" || p.ID != "e" ||
		string(p.Schema) != `{"URL":1}` || string(p.Meta) != `{"Mode":2}` {
		t.Errorf("%+v, %v", p, err)
	}
	for _, text := range []string{`{}`, `{"mode":null,"message":null,"url":null,"elicitationId":5}`, ` {"x":1,"X":2} `} {
		if p, err := elicitation.Read([]byte(text)); err != nil || p.Mode != elicitation.Form || p.HasMessage || p.URL != "" || p.ID != "" {
			t.Errorf("%s: %+v, %v", text, p, err)
		}
	}
	for _, text := range []string{
		`{"url":"a","URL":"b"}`, `{"URL":"b"}`, `{"url":"a","url":"a"}`, `{"url":"a","\u0075rl":"b"}`, `{"Mode":"url"}`, `{"MODE":null}`,
		`{"Message":"m"}`, `{"meſſage":"m"}`, `{"requestedschema":{}}`, `{"elicitationID":"e"}`, `{"_META":{}}`, `{"x":1,"x":2}`,
	} {
		if _, err := elicitation.Read([]byte(text)); !errors.Is(err, elicitation.ErrTwoWays) {
			t.Errorf("%s: %v, want ErrTwoWays", text, err)
		}
	}
	for _, text := range []string{``, `null`, `[]`, `5`, `{}{}`, `{"url":5}`, `{"mode":[]}`, `{"message":{}}`} {
		if p, err := elicitation.Read([]byte(text)); err == nil || errors.Is(err, elicitation.ErrTwoWays) {
			t.Errorf("%s: %+v, %v", text, p, err)
		}
	}
}

// asked is a question as a decoder of structs sees it.
type asked struct {
	Mode    *string         `json:"mode"`
	Message *string         `json:"message"`
	URL     string          `json:"url"`
	Schema  json.RawMessage `json:"requestedSchema"`
	Meta    json.RawMessage `json:"_meta"`
}

// Whatever reads params that are not refused sees one question, with regard to case or
// without.
func FuzzReadersAgree(f *testing.F) {
	for _, s := range []string{
		`{"mode":"url","message":"m","url":"https://login.evil.example/x","URL":"https://pay.example/"}`, `{"mode":"url","url":"a","MODE":"form"}`,
		`{"message":"m","message":null,"requestedSchema":{"a":1}}`, `{"mode":null,"url":"\ud800","_meta":{"a":1}}`, `{"meſſage":"a","\u006dode":"url"}`,
		`{"url":"a","x":1,"X":2,"requestedSchema":null}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := elicitation.Read(raw)
		if err != nil {
			return
		}
		same := func(who string, a asked) {
			mode := elicitation.Form
			if a.Mode != nil {
				mode = *a.Mode
			}
			message := ""
			if a.Message != nil {
				message = *a.Message
			}
			if mode != got.Mode || a.URL != got.URL || message != got.Message || (a.Message != nil) != got.HasMessage ||
				string(a.Schema) != string(got.Schema) || string(a.Meta) != string(got.Meta) {
				t.Errorf("%s: %s sees %+v, Read %+v", raw, who, a, got)
			}
		}
		var folding, exactly asked
		if err := json.Unmarshal(raw, &folding); err != nil {
			t.Fatalf("%s: encoding/json: %v", raw, err)
		}
		same("encoding/json", folding)
		if _, err := segjson.Parse(raw, &exactly, segjson.DontMatchCaseInsensitiveStructFields); err == nil {
			same("the SDK's decoder", exactly)
		}
		var named asked
		var members map[string]json.RawMessage
		if err := json.Unmarshal(raw, &members); err != nil {
			t.Fatal(err)
		}
		for name, into := range map[string]any{"mode": &named.Mode, "message": &named.Message, "url": &named.URL, "requestedSchema": &named.Schema, "_meta": &named.Meta} {
			if value, ok := members[name]; ok {
				if err := json.Unmarshal(value, into); err != nil {
					t.Fatal(err)
				}
			}
		}
		same("a map", named)
	})
}
