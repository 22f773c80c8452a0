package link

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite codes and href in testdata/table.json")

type table struct {
	Comment []string   `json:"comment"`
	Rows    []tableRow `json:"rows"`
}

type tableRow struct {
	Row     int           `json:"row"`
	Raw     string        `json:"raw"`
	Options *tableOptions `json:"options,omitempty"`
	Verdict Verdict       `json:"verdict"`
	Domain  string        `json:"domain"`
	Codes   []string      `json:"codes"`
	Href    string        `json:"href"`
	Browser *browserURL   `json:"browser"`
}

type tableOptions struct {
	ServerDomain string   `json:"server_domain,omitempty"`
	ServerLocal  bool     `json:"server_local,omitempty"`
	AllowPrivate []string `json:"allow_private,omitempty"`
	RequireTLS   bool     `json:"require_tls,omitempty"`
	Known        []string `json:"known,omitempty"`
}

type browserURL struct {
	Href     string `json:"href"`
	Protocol string `json:"protocol"`
	Hostname string `json:"hostname"`
	Port     string `json:"port"`
}

func readTable(t testing.TB) table {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "table.json"))
	if err != nil {
		t.Fatal(err)
	}
	var tab table
	if err := json.Unmarshal(data, &tab); err != nil {
		t.Fatal(err)
	}
	return tab
}

func (r tableRow) options() *Options {
	if r.Options == nil {
		return nil
	}
	return (*Options)(r.Options)
}

func TestTable(t *testing.T) {
	t.Parallel()
	tab := readTable(t)
	for i := range tab.Rows {
		row := &tab.Rows[i]
		got := Inspect(row.Raw, row.options())
		codes := []string{}
		for _, f := range got.Findings {
			codes = append(codes, f.Code)
		}
		if *update {
			row.Codes, row.Href = codes, got.Href
		}
		if got.Verdict != row.Verdict || got.Domain != row.Domain {
			t.Errorf("row %d: Inspect(%q, %+v): got %v %q %q, want %v %q", row.Row, row.Raw, row.Options, got.Verdict, got.Domain, codes, row.Verdict, row.Domain)
		}
		if diff := cmp.Diff(codes, row.Codes); diff != "" {
			t.Errorf("row %d: Inspect(%q): codes (-got +want):\n%s", row.Row, row.Raw, diff)
		}
		if got.Href != row.Href {
			t.Errorf("row %d: Inspect(%q): href: got %q, want %q", row.Row, row.Raw, got.Href, row.Href)
		}
		if got.Verdict == Refuse {
			continue
		}
		// The browser's own parser is the judge of what is opened.
		if b := row.Browser; b == nil {
			t.Errorf("row %d: Inspect(%q): got %v, but browsers cannot open it", row.Row, row.Raw, got.Verdict)
		} else if mine := (browserURL{got.Href, got.Scheme + ":", got.Host, got.Port}); mine != *b {
			t.Errorf("row %d: Inspect(%q) differs from the browser:\n%s", row.Row, row.Raw, cmp.Diff(mine, *b))
		}
	}
	if *update && !t.Failed() {
		var b strings.Builder
		enc := json.NewEncoder(&b)
		enc.SetIndent("", "\t")
		if err := enc.Encode(tab); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join("testdata", "table.json"), []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
