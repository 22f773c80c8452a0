package link

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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
			t.Errorf("row %d: Inspect(%.120q, %+v): got %v %q %q, want %v %q", row.Row, row.Raw, row.Options, got.Verdict, got.Domain, codes, row.Verdict, row.Domain)
		}
		if diff := cmp.Diff(codes, row.Codes); diff != "" {
			t.Errorf("row %d: Inspect(%.120q): codes (-got +want):\n%s", row.Row, row.Raw, diff)
		}
		if got.Href != row.Href {
			t.Errorf("row %d: Inspect(%.120q): href: got %.200q, want %.200q", row.Row, row.Raw, got.Href, row.Href)
		}
		if got.Verdict == Refuse {
			continue
		}
		// The browser's own parser is the judge of what is opened.
		if b := row.Browser; b == nil {
			t.Errorf("row %d: Inspect(%.120q): got %v, but browsers cannot open it", row.Row, row.Raw, got.Verdict)
		} else if mine := (browserURL{got.Href, got.Scheme + ":", got.Host, got.Port}); mine != *b {
			t.Errorf("row %d: Inspect(%.120q) differs from the browser:\n%s", row.Row, row.Raw, cmp.Diff(mine, *b))
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

// TestCodes keeps table, code and documentation together: every finding has an example,
// and is listed for users.
func TestCodes(t *testing.T) {
	t.Parallel()
	inTable := map[string]bool{}
	for _, row := range readTable(t).Rows {
		for _, f := range Inspect(row.Raw, row.options()).Findings {
			inTable[f.Code] = true
		}
	}
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	uses := regexp.MustCompile(`(?:add\(|once\(|Code: |refuse\()(?:\w+, )?"([a-z_0-9]+)"`)
	inTable["invalid_text"] = true   // see TestInvalidText
	inTable["parsers_differ"] = true // a guard, see doc.go
	inCode := map[string]bool{}
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range uses.FindAllSubmatch(src, -1) {
			if !strings.HasSuffix(name, "_test.go") {
				inCode[string(m[1])] = true
			}
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(inTable)), slices.Sorted(maps.Keys(inCode))); diff != "" {
		t.Errorf("codes (-table +code):\n%s", diff)
	}
	for code := range inCode {
		if !regexp.MustCompile(`\b` + code + `\b`).Match(doc) {
			t.Errorf("doc.go does not list %s", code)
		}
	}
}

// TestSentences is a golden file of what people read, for review.
func TestSentences(t *testing.T) {
	t.Parallel()
	first, verdict := map[string]string{}, map[string]Verdict{}
	for _, row := range readTable(t).Rows {
		for _, f := range Inspect(row.Raw, row.options()).Findings {
			key := f.Code + " " + f.Verdict.String()
			if first[key] == "" {
				first[key] = f.Text
			}
			if v, ok := verdict[f.Code]; ok && v != f.Verdict && f.Code != "not_encrypted" {
				t.Errorf("%s stands for %v and %v", f.Code, v, f.Verdict)
			}
			verdict[f.Code] = f.Verdict
			if !strings.HasSuffix(f.Text, ".") {
				t.Errorf("%s: %q is no sentence", f.Code, f.Text)
			}
		}
	}
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(first)) {
		fmt.Fprintf(&b, "%s\n\t%s\n", key, first[key])
	}
	golden := filepath.Join("testdata", "sentences.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b.String(), string(want)); diff != "" {
		t.Errorf("sentences (-got +want):\n%s", diff)
	}
}

func TestInvalidText(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{"https://bank.example/\xff", "https://b\xc3.example/", "\xfe"} {
		if r := Inspect(raw, nil); r.Verdict != Refuse || !r.Has("invalid_text") {
			t.Errorf("Inspect(%q): got %v %v, want refuse", raw, r.Verdict, r.Findings)
		}
	}
}

// TestKnownList: the names on the list are ones that can be registered, and none is
// taken for another on the list.
func TestKnownList(t *testing.T) {
	t.Parallel()
	n := 0
	for line := range strings.Lines(knownText) {
		domain := strings.TrimSpace(line)
		if domain == "" || domain[0] == '#' {
			continue
		}
		n++
		r := Inspect("https://"+domain+"/", nil)
		if domain == "gov.uk" { // a public suffix; it is listed for "gov.uk.evil.example"
			continue
		}
		if r.Domain != domain || r.Verdict > Note || r.Has("lookalike") || r.Has("known_part") {
			t.Errorf("%s: %v %s %v", domain, r.Verdict, r.Domain, r.Findings)
		}
	}
	if n < 300 {
		t.Errorf("%d domains, want at least 300", n)
	}
	for skeleton, domains := range builtIn().skeleton {
		for _, d := range domains {
			a, _, _ := strings.Cut(d, ".")
			b, _, _ := strings.Cut(domains[0], ".")
			if a != b {
				t.Errorf("%s and %s look alike (%s)", d, domains[0], skeleton)
			}
		}
	}
}

// TestUnsuspected lists real names that must not be taken for others.
func TestUnsuspected(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		"https://google.com.hk/", "https://www.amazon.co.uk/", "https://paypal.me/", "https://docs.github.com/",
		"https://mall.cz/", "https://github.mycompany.example/", "https://r3---sn-apo3qvuoxuxbt-j5pe.googlevideo.com/",
		"https://login.microsoftonline.com/common/oauth2/v2.0/authorize?client_id=1&response_type=code&state=abc",
		"https://accounts.google.com/o/oauth2/v2/auth?scope=openid%20email&nonce=n", "https://example.com/a_b/c-d.html",
		"https://bank.example/@name/post",
	} {
		if r := Inspect(raw, nil); r.Verdict != OK {
			t.Errorf("Inspect(%q): got %v %v, want ok", raw, r.Verdict, r.Findings)
		}
	}
	for _, raw := range []string{"https://россия.рф/", "https://оса.рф/", "https://日本語.jp/", "https://ソニー.jp/", "https://한국.kr/", "https://ελλάδα.gr/", "https://مثال.مصر/", "https://नमूना.भारत/"} {
		if r := Inspect(raw, nil); r.Verdict != Note {
			t.Errorf("Inspect(%q): got %v %v, want note", raw, r.Verdict, r.Findings)
		}
	}
}

func TestVerdictText(t *testing.T) {
	t.Parallel()
	for v := OK; v <= Refuse; v++ {
		text, err := v.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var back Verdict
		if err := back.UnmarshalText(text); err != nil || back != v {
			t.Errorf("%s: got %v, %v", text, back, err)
		}
	}
	if _, err := Verdict(9).MarshalText(); err == nil {
		t.Error("Verdict(9).MarshalText: no error")
	}
	if err := new(Verdict).UnmarshalText([]byte("fine")); err == nil {
		t.Error(`UnmarshalText("fine"): no error`)
	}
}

func TestReportJSON(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(Inspect("https://evil.github.io/?q=ü", nil))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"verdict":"note","scheme":"https","host":"evil.github.io","host_unicode":"evil.github.io",` +
		`"domain":"evil.github.io","domain_unicode":"evil.github.io","href":"https://evil.github.io/?q=%C3%BC","raw":"https://evil.github.io/?q=ü",` +
		`"findings":[{"code":"hosted","verdict":"note","text":"This page is hosted on github.io by its user evil.","params":{"service":"github.io","user":"evil"}},` +
		`{"code":"encoded","verdict":"ok","text":"Some characters of the address are shown as percent codes."}]}`
	if diff := cmp.Diff(string(got), want); diff != "" {
		t.Errorf("JSON (-got +want):\n%s", diff)
	}
}

func TestDefang(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"https://evil.example/a.html": "hxxps://evil[.]example/a.html",
		"HTTP://evil.example":         "HXXP://evil[.]example",
		"https:evil.example?a.b":      "hxxps:evil[.]example?a.b",
		"javascript:alert(1)":         "javascripx:alert(1)",
		"evil.example":                "evil[.]example",
		"":                            "",
	} {
		if got := Defang(in); got != want {
			t.Errorf("Defang(%q): got %q, want %q", in, got, want)
		}
	}
}

func BenchmarkInspect(b *testing.B) {
	for name, raw := range map[string]string{
		"ascii":         "https://login.bank.example/authorize?client_id=1&redirect_uri=https%3A%2F%2Fbank.example%2Fcb",
		"international": "https://xn--80ak6aa92e.com/",
		"refused":       "https://github.com@evil.example/",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Inspect(raw, nil)
			}
		})
	}
}

func TestAllowPrivate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		raw, allow string
		want       Verdict
	}{
		{"https://wiki.corp/", "wiki.corp", Note},
		{"https://wiki.corp/", "WIKI.corp", Note},
		{"https://wiki.corp/", ".corp", Note},
		{"https://wiki.corp/", "corp", Refuse},
		{"https://wiki.corp/", "iki.corp", Refuse},
		{"https://wiki.corp/", ".", Refuse},
		{"https://wiki.corp/", "", Refuse},
		{"https://intranet/", "intranet", Note},
		{"https://10.1.2.3/", "10.0.0.0/8", Note},
		{"https://10.1.2.3/", "10.1.2.3", Note},
		{"https://10.1.2.3/", "10.1.2.4", Refuse},
		{"https://10.1.2.3/", ".3", Refuse},
		{"https://[fd12::1]/", "fd12::/16", Note},
		{"https://[fd12::1]/", "[fd12::1]", Note},
		{"https://127.0.0.1/", "127.0.0.0/8", Refuse},              // only a local server may point there
		{"https://169.254.169.254/", "0.0.0.0/0", Refuse},          // never
		{"https://[fd00:ec2::254]/", "fc00::/7", Refuse},           // never
		{"https://metadata.google.internal/", ".internal", Refuse}, // never
		{"https://[64:ff9b::a01:203]/", "64:ff9b::/96", Refuse},    // never
		{"https://192.168.1.1:8443/", "192.168.1.1", Note},
	}
	for _, tt := range tests {
		if r := Inspect(tt.raw, &Options{AllowPrivate: []string{tt.allow}}); r.Verdict != tt.want {
			t.Errorf("Inspect(%q) with %q allowed: got %v %v, want %v", tt.raw, tt.allow, r.Verdict, r.Findings, tt.want)
		}
	}
}

// TestServerDomain: what is not a host is no server.
func TestServerDomain(t *testing.T) {
	t.Parallel()
	tests := []struct{ server, want string }{
		{"", ""},
		{"not a host", ""},
		{"https://user@bank.example/mcp", "same_site"},
		{"mcp.bank.example:8443", "same_site"},
		{"https://xn--mnchen-3ya.de/", "other_site"},
		{"http://127.0.0.1:8080/mcp", "other_site"},
		{"http://[::1]:8080/mcp", "other_site"},
	}
	for _, tt := range tests {
		r := Inspect("https://bank.example/", &Options{ServerDomain: tt.server})
		if got := r.Has("same_site") || r.Has("other_site"); got != (tt.want != "") || tt.want != "" && !r.Has(tt.want) {
			t.Errorf("server %q: got %v, want %q", tt.server, r.Findings, tt.want)
		}
	}
}
