package vectors_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parley-mcp/parley/interop/browsertest"
	"github.com/parley-mcp/parley/link"
)

type linkRow struct {
	Row     int
	Raw     string
	Options *struct {
		ServerDomain string   `json:"server_domain"`
		ServerLocal  bool     `json:"server_local"`
		AllowPrivate []string `json:"allow_private"`
		RequireTLS   bool     `json:"require_tls"`
		Known        []string
	}
	Verdict link.Verdict
	Browser *address
}

// An address is what a URL object of the browser holds.
type address struct{ Href, Protocol, Hostname, Port string }

func readLinks(t *testing.T) []linkRow {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "link", "testdata", "table.json"))
	if err != nil {
		t.Fatal(err)
	}
	var table struct{ Rows []linkRow }
	if err := json.Unmarshal(b, &table); err != nil {
		t.Fatal(err)
	}
	if len(table.Rows) < 200 {
		t.Fatalf("the table has %d rows", len(table.Rows))
	}
	return table.Rows
}

// browse gives what Chromium makes of each address, nil where it throws.
func browse(t *testing.T, p *browsertest.Page, raws []string) []*address {
	t.Helper()
	found := browsertest.Eval[[]*address](p, `JSON.parse(`+jsString(t, raws)+`).map((raw) => {
		try {
			const {href, protocol, hostname, port} = new URL(raw)
			return {href, protocol, hostname, port}
		} catch {
			return null
		}
	})`)
	if len(found) != len(raws) {
		t.Fatalf("the browser read %d of %d addresses", len(found), len(raws))
	}
	return found
}

func judged(r *link.Report) *address {
	return &address{Href: r.Href, Protocol: r.Scheme + ":", Hostname: r.Host, Port: r.Port}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	p := browsertest.Open(t, serve(t, nil))
	rows := readLinks(t)
	var raws []string
	for _, row := range rows {
		raws = append(raws, row.Raw)
	}
	for i, seen := range browse(t, p, raws) {
		row := rows[i]
		if diff := cmp.Diff(row.Browser, seen); diff != "" {
			t.Errorf("row %d: %.120q: the browser is not as in the table (-table +browser):\n%s", row.Row, row.Raw, diff)
		}
		report := link.Inspect(row.Raw, (*link.Options)(row.Options))
		if report.Verdict != row.Verdict {
			t.Errorf("row %d: %.120q: verdict %v, in the table %v", row.Row, row.Raw, report.Verdict, row.Verdict)
		}
		if report.Verdict == link.Refuse {
			continue
		}
		if diff := cmp.Diff(judged(report), seen); diff != "" {
			t.Errorf("row %d: %.120q: Go and the browser read it differently (-Go +browser):\n%s", row.Row, row.Raw, diff)
		}
	}
	faultless(t, p)
}

// pieces are what readers of URLs fall out over.
var pieces = []string{
	"/", "//", "\\", "@", ":", "?", "#", "%", "%2e", "%2E%2e", "%00", "%41", "%zz", ".", "..", "...", "/./", "/../", " ", "\t", "\n", "[", "]", "[::1]",
	"0x7f", "017", "127.1", "1", "256", ":80", ":443", ":0443", ":65536", ":", "xn--", "xn--mnchen-3ya", "ü", "ß", "\u200d", "\u00ad", "。", "．", "Ⅷ", "ﬁ", "\u0301", "İ",
	"A", "-", "_", "~", "!", "'", "\"", "<", ">", "`", "{", "}", "|", "^", "$", "&", "+", ",", ";", "=", "*", "(", ")", "é", "日本", "😀", "\u2028", "\ufeff", "a.b", ".com", "e",
}

// TestMutatedLinks changes the addresses of the table at random, the same each
// time: whatever Go would offer to open, the browser must read alike.
func TestMutatedLinks(t *testing.T) {
	t.Parallel()
	p := browsertest.Open(t, serve(t, nil))
	random := rand.New(rand.NewPCG(20260728, 3986))
	var starts []string
	for _, row := range readLinks(t) {
		if len(row.Raw) < 200 && row.Verdict != link.Refuse {
			starts = append(starts, row.Raw)
		}
	}
	var raws []string
	var reports []*link.Report
	for range 30_000 {
		text := []rune(starts[random.IntN(len(starts))])
		for range 1 + random.IntN(3) {
			at, piece := random.IntN(len(text)+1), []rune(pieces[random.IntN(len(pieces))])
			end := min(len(text), at+random.IntN(3))
			text = slices.Concat(text[:at], piece, text[end:])
		}
		if report := link.Inspect(string(text), nil); report.Verdict != link.Refuse {
			raws, reports = append(raws, string(text)), append(reports, report)
		}
	}
	if len(raws) < 3000 {
		t.Fatalf("only %d mutations would be offered: the test proves little", len(raws))
	}
	for i, seen := range browse(t, p, raws) {
		if diff := cmp.Diff(judged(reports[i]), seen); diff != "" {
			t.Errorf("%q is read differently (-Go +browser):\n%s", raws[i], diff)
		}
	}
	faultless(t, p)
}
