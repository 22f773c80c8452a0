package link

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

// check holds for every address.
func check(t interface {
	Helper()
	Fatalf(string, ...any)
}, raw string, opts *Options) {
	t.Helper()
	r := Inspect(raw, opts)
	strictest := OK
	for _, f := range r.Findings {
		strictest = max(strictest, f.Verdict)
		if strings.ContainsFunc(f.Text, func(r rune) bool { return r > unicode.MaxASCII || unicode.IsControl(r) }) || strings.Contains(f.Text, "%{") {
			t.Fatalf("Inspect(%+q): finding %s: text %+q is not plain", raw, f.Code, f.Text)
		}
	}
	if r.Verdict != strictest {
		t.Fatalf("Inspect(%+q): verdict %v, findings %v", raw, r.Verdict, r.Findings)
	}
	for _, s := range []string{r.Scheme, r.Host, r.Domain, r.Port, r.Href} {
		if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) {
			t.Fatalf("Inspect(%+q): %+q is not printable ASCII", raw, s)
		}
	}
	if strings.ContainsFunc(r.HostUnicode+r.DomainUnicode, func(r rune) bool { return r <= ' ' || unicode.IsControl(r) || hidden(r) }) {
		t.Fatalf("Inspect(%+q): host %+q hides something", raw, r.HostUnicode)
	}
	if !strings.HasSuffix(strings.TrimSuffix(r.Host, "."), r.Domain) || !strings.HasSuffix(strings.TrimSuffix(r.HostUnicode, "."), r.DomainUnicode) {
		t.Fatalf("Inspect(%+q): domain %q %q is not the end of host %q %q", raw, r.Domain, r.DomainUnicode, r.Host, r.HostUnicode)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Fatalf("Inspect(%+q): %v", raw, err)
	}
	if strings.ContainsFunc(raw, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }) && r.Verdict != Refuse {
		t.Fatalf("Inspect(%+q): %v, want refuse", raw, r.Verdict)
	}
	if r.Verdict == Refuse {
		if r.Href != "" || len(r.Findings) == 0 {
			t.Fatalf("Inspect(%+q): refused with href %q and findings %v", raw, r.Href, r.Findings)
		}
		return
	}
	again := Inspect(r.Href, opts)
	if again.Href != r.Href || again.Host != r.Host || again.Domain != r.Domain || again.Port != r.Port || again.Verdict > r.Verdict {
		t.Fatalf("Inspect(%+q) = %+v; of its href: %+v", raw, r, again)
	}
	u, err := url.Parse(r.Href)
	if err != nil || u.Scheme != r.Scheme || u.Hostname() != strings.Trim(r.Host, "[]") || u.Port() != r.Port || u.User != nil {
		t.Fatalf("Inspect(%+q): net/url reads its href %q as %+v, %v", raw, r.Href, u, err)
	}
}

func FuzzInspect(f *testing.F) {
	for _, row := range readTable(f).Rows {
		f.Add(row.Raw, row.Options != nil)
	}
	f.Fuzz(func(t *testing.T, raw string, local bool) {
		check(t, raw, &Options{ServerLocal: local, ServerDomain: "mcp.bank.example"})
	})
}

func TestProperties(t *testing.T) {
	t.Parallel()
	var raws []string
	for _, row := range readTable(t).Rows {
		raws = append(raws, row.Raw)
	}
	piece := rapid.SampledFrom([]string{"https://", "http:", "/", "\\", "@", ":443", ":8080", "?", "#", "%2e", "..", ".", "xn--", "xn--e1afmkfd",
		"ü", "ß", "例え", "рф", "e\u0301", "-", "1", "0x7f", "[::1]", "::", ".com", "<", "^", "|", "😀", "\u202e", "%00", "%zz", "\u200d", "\u212a", "\u0130", "\u3002", "a", "paypal"})
	host := rapid.SampledFrom([]string{"", "bank.example", "münchen.de", "пример.рф", "203.0.113.7", "[2606:4700::1]", "evil.github.io"})
	urls := rapid.OneOf(
		rapid.Custom(func(t *rapid.T) string {
			return "https://" + host.Draw(t, "host") + strings.Join(rapid.SliceOfN(piece, 0, 9).Draw(t, "rest"), "")
		}),
		rapid.Custom(func(t *rapid.T) string {
			raw := []rune(rapid.SampledFrom(raws).Draw(t, "row"))
			at := rapid.IntRange(0, min(len(raw), 60)).Draw(t, "at")
			return string(raw[:at]) + rapid.OneOf(piece, rapid.String()).Draw(t, "piece") + string(raw[at:])
		}),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return "https://" + string(b) }),
	)
	rapid.Check(t, func(t *rapid.T) {
		check(t, urls.Draw(t, "url"), &Options{ServerLocal: rapid.Bool().Draw(t, "local")})
	})
}

// TestEveryCharacter puts characters of every kind into host, path, query and fragment.
func TestEveryCharacter(t *testing.T) {
	t.Parallel()
	for r := rune(0); r <= unicode.MaxRune; r++ {
		// Ideographs, syllables and hieroglyphs are all alike, and most planes are empty.
		if r < 0x3400 || r >= 0xA600 && r < 0xAC00 || r >= 0xF900 && r < 0x11000 || r >= 0x1D000 && r < 0x1F800 || r >= 0xE0000 && r < 0xE0200 || r&0xFFF0 == 0xFFF0 {
			tail := "b.example/" + string(r) + "?" + string(r) + "#" + string(r)
			check(t, "https://a"+string(r)+tail, nil)
			if r > 0xFF && hidden(r) {
				check(t, "https://a"+tail, nil)
			}
		}
	}
}
