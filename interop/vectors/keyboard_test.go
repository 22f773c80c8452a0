package vectors_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/parley-mcp/parley/form"
	"github.com/parley-mcp/parley/interop/browsertest"
)

// TestErrorLinkIntoFilteredOptions goes from the error summary to a field with so
// many options that there is a filter, which leaves some in sight, or none.
func TestErrorLinkIntoFilteredOptions(t *testing.T) {
	t.Parallel()
	options := make([]string, 60)
	for i := range options {
		options[i] = fmt.Sprintf(`"Town %02d"`, i+1)
	}
	s, err := form.Parse([]byte(`{"type":"object","properties":{"town":{"type":"string","title":"Town","enum":[` + strings.Join(options, ",") + `]}},"required":["town"]}`))
	if err != nil {
		t.Fatal(err)
	}
	_, errs := s.Coerce(input(t, map[string]json.RawMessage{"town": json.RawMessage(`""`)}))
	if len(errs) != 1 {
		t.Fatalf("nothing chosen: %v", errs)
	}
	p := browsertest.Open(t, serve(t, nil))
	browsertest.Eval[any](p, `void (window.form = testOnlyForm(JSON.parse(`+jsString(t, s.View())+`)))`)
	for _, test := range []struct{ filter, focus, status string }{
		{"", `radio "Town 01"`, "60 of 60"},
		{"town 59", `radio "Town 59"`, "1 of 60"},
		{"nowhere", `textbox "Filter options"`, "0 of 60"},
	} {
		p.Fill("Filter options", test.filter)
		p.WaitText(test.status)
		browsertest.Eval[any](p, `form.fail(JSON.parse(`+jsString(t, errs)+`))`)
		p.Press("Tab")
		if got := p.Focused(); !strings.Contains(got, `link "`) {
			t.Fatalf("after the summary the focus is on %s, want its link", got)
		}
		p.Press("Enter")
		if got := p.Focused(); !strings.Contains(got, test.focus) {
			t.Errorf("with the filter %q the link leads to %s, want %s", test.filter, got, test.focus)
		}
	}
	faultless(t, p)
}
