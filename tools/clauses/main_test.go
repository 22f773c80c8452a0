package main

import (
	"reflect"
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	t.Parallel()
	for source, want := range map[string][]citation{
		`// MCP 2026-07-28 elicitation, "Safe URL Handling" C3, C5: shown`:                 {{"a.go", "2026-07-28", "elicitation", "Safe URL Handling", []string{"C3", "C5"}}},
		"\t// see MCP 2026-07-28 client/elicitation,\n\t// \"Safe URL\n\t// Handling\" C1": {{"a.go", "2026-07-28", "elicitation", "Safe URL Handling", []string{"C1"}}},
		`// MCP 2026-07-28 mrtr, "Error Handling": ignored`:                                {{"a.go", "2026-07-28", "mrtr", "Error Handling", nil}},
		`// MCP 2025-11-25 basic/transports: a response`:                                   {{"a.go", "2025-11-25", "transports", "", nil}},
		`// MCP 2026-07-28's error`:                                                        {{"a.go", "2026-07-28", "", "", nil}},
		`// nothing of MCP, or of 2026-07-28`:                                              nil,
		"/* MCP 2026-07-28 mrtr,\n * \"top\" S1 */":                                        {{"a.go", "2026-07-28", "mrtr", "top", []string{"S1"}}},
	} {
		if got := find("a.go", source); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, want %+v", source, got, want)
		}
	}
}

func TestMatch(t *testing.T) {
	t.Parallel()
	const good = `[{"page":"p","section":"s","id":"S1","level":"MUST","text":"x","revisions":["2026-07-28"]WHY}]`
	for name, test := range map[string]struct {
		why, source, fault string
	}{
		"cited":            {``, `MCP 2026-07-28 p, "s" S1`, ""},
		"reason":           {`,"why":"not ours"`, ``, ""},
		"neither":          {``, `MCP 2026-07-28 p, "s"`, "nothing cites"},
		"both":             {`,"why":"not ours"`, `MCP 2026-07-28 p, "s" S1`, "says why nothing cites"},
		"unknown clause":   {`,"why":"not ours"`, `MCP 2026-07-28 p, "s" S2`, "no clause S2"},
		"unknown section":  {`,"why":"not ours"`, `MCP 2026-07-28 p, "t" S1`, "no section"},
		"unknown revision": {`,"why":"not ours"`, `MCP 2025-11-25 p, "s" S1`, "no section"},
	} {
		index, err := readIndex([]byte(strings.Replace(good, "WHY", test.why, 1)))
		if err != nil {
			t.Fatal(err)
		}
		err = match(index, find("a.go", "// "+test.source))
		if (err == nil) != (test.fault == "") || err != nil && !strings.Contains(err.Error(), test.fault) {
			t.Errorf("%s: %v, want %q", name, err, test.fault)
		}
	}
}

func TestIndex(t *testing.T) {
	t.Parallel()
	index, err := readIndex(indexJSON)
	if err != nil {
		t.Fatal(err)
	}
	if len(index) < 60 {
		t.Errorf("%d clauses: some are lost", len(index))
	}
	for _, broken := range []string{
		`[{"page":"p"}]`, `{}`, `[{"unknown":1}]`,
		`[{"page":"p","section":"s","id":"S1","level":"MAY","text":"x","revisions":["r"]}]`,
	} {
		if _, err := readIndex([]byte(broken)); err == nil {
			t.Errorf("%s was read", broken)
		}
	}
}

func TestRender(t *testing.T) {
	t.Parallel()
	index := []*clause{
		{Page: "p", Section: "s", ID: "S1", Level: "MUST", Text: "x", Revisions: []string{"r"}, files: []string{"a.go"}},
		{Page: "p", Section: "s", ID: "C1", Level: "MUST NOT", Text: "y", Revisions: []string{"r", "q"}, Why: "not ours"},
	}
	page := string(render(index, []citation{{"b.go", "r", "other", "", nil}, {"b.go", "r", "other", "", nil}}))
	for _, want := range []string{
		"2 clauses, 1 of them cited",
		"| S1 | r | servers | MUST | x | a.go |\n",
		"| C1 | r, q | clients | MUST NOT | y | not cited: not ours |\n",
		"\n- r other: b.go\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in:\n%s", want, page)
		}
	}
	if strings.Count(page, "b.go") != 1 {
		t.Error("the same citation is listed twice")
	}
}
