package rules

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestGlob(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		pattern, yes, no string // names, with spaces between them
	}{
		{"pay", "pay", "Pay pays repay"},
		{"pay_*", "pay_ pay_invoice", "pay pay_a.b pay_a/b PAY_x"},
		{"*_pay", "_pay do_pay", "a.do_pay a/do_pay"},
		{"files.*", "files. files.read", "files files.a.b files.a/b"},
		{"files.**", "files. files.read files.a.b files.a/b", "files file.s"},
		{"**.read", ".read a.read a.b.read a/b.read", "read a.reads"},
		{"**", "a a.b a/b file:///etc/passwd", ""},
		{"**/secret/**", "a/secret/b /secret/ a/b/secret/c.d", "secret/b a/secrets/b"},
		{"a?c", "abc a-c aéc", "ac a.c a/c abbc"},
		{"*a*b", "ab xaxxb aab aabab", "ba a a.b"},
		{"**a*b", "ab x.xaxb a.a/ab", "a.b a/x.b"},
		{`what\?`, "what?", "whats what"},
		{`2\*3`, "2*3", "2xx3"},
		{`a\\b`, `a\b`, `a\\b`},
		{"[ab]{1}", "[ab]{1}", "a b"},
	} {
		g, err := compileGlob(tc.pattern)
		if err != nil {
			t.Errorf("%q: %v", tc.pattern, err)
			continue
		}
		for name := range strings.FieldsSeq(tc.yes) {
			if !g.match(name) {
				t.Errorf("%q does not match %q", tc.pattern, name)
			}
		}
		for name := range strings.FieldsSeq(tc.no) {
			if g.match(name) {
				t.Errorf("%q matches %q", tc.pattern, name)
			}
		}
	}
	for _, bad := range []string{"", "*", "***", "a***b", `a\`, `a\b`, "\xff", strings.Repeat("a", maxGlob+1)} {
		if _, err := compileGlob(bad); err == nil {
			t.Errorf("%q is a pattern", bad)
		}
	}
}

// naiveGlob matches by trying everything.
func naiveGlob(pattern, name []rune) bool {
	if len(pattern) == 0 {
		return len(name) == 0
	}
	inner := func(c rune) bool { return c != '/' && c != '.' }
	switch {
	case pattern[0] == '*' && len(pattern) > 1 && pattern[1] == '*':
		return naiveGlob(pattern[2:], name) || len(name) > 0 && naiveGlob(pattern, name[1:])
	case pattern[0] == '*':
		return naiveGlob(pattern[1:], name) || len(name) > 0 && inner(name[0]) && naiveGlob(pattern, name[1:])
	case pattern[0] == '?':
		return len(name) > 0 && inner(name[0]) && naiveGlob(pattern[1:], name[1:])
	case pattern[0] == '\\':
		pattern = pattern[1:]
	}
	return len(name) > 0 && name[0] == pattern[0] && naiveGlob(pattern[1:], name[1:])
}

func TestGlobProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pattern := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", ".", "/", "?", "*", "**", `\*`, `\?`}), 1, 7).Draw(t, "pattern"), "")
		name := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", ".", "/", "*", "?"}), 0, 8).Draw(t, "name"), "")
		g, err := compileGlob(pattern)
		if err != nil {
			if pattern != "*" && !strings.Contains(pattern, "***") {
				t.Fatalf("%q: %v", pattern, err)
			}
			return
		}
		if got, want := g.match(name), naiveGlob([]rune(pattern), []rune(name)); got != want {
			t.Fatalf("%q matches %q: %t, want %t", pattern, name, got, want)
		}
	})
}

// A pattern that makes a matcher which tries everything run for years costs no
// more than any other of its length.
func TestGlobHostile(t *testing.T) {
	t.Parallel()
	g, err := compileGlob(strings.Repeat("**a*b", maxGlob/5))
	if err != nil {
		t.Fatal(err)
	}
	if g.match(strings.Repeat("a", maxName)) {
		t.Error("it matches")
	}
}

func TestDomain(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ pattern, yes, no string }{
		{"example.com", "example.com a.example.com a.b.example.com EXAMPLE.com example.com.", "notexample.com example.com.evil.org example.co com"},
		{"*.example.com", "a.example.com a.b.example.com", "example.com aexample.com"},
		{"Login.Example.COM", "login.example.com x.login.example.com", "example.com"},
		{"bücher.example", "xn--bcher-kva.example a.xn--bcher-kva.example", "bucher.example"},
		{"example", "example a.example", "example.com"},
		{"127.0.0.1", "127.0.0.1", "1.127.0.0.1 27.0.0.1"},
		{"localhost", "localhost app.localhost", "localhost.evil.example"},
		{"192.168.1.9", "192.168.1.9", "192.168.1.90"},
	} {
		d, err := compileDomain(tc.pattern)
		if err != nil {
			t.Errorf("%q: %v", tc.pattern, err)
			continue
		}
		for host := range strings.FieldsSeq(tc.yes) {
			if !d.match(host) {
				t.Errorf("%q does not match %q", tc.pattern, host)
			}
		}
		for host := range strings.FieldsSeq(tc.no) {
			if d.match(host) {
				t.Errorf("%q matches %q", tc.pattern, host)
			}
		}
	}
	for _, bad := range []string{"*", "*.", "*.*.com", "a*.com", "https://example.com", "example.com:443", "example.com/x", "a@b.com", "a b.com",
		"", "a..b", "-x-.com\\", "2130706433", "*.127.0.0.1", "[::1]", "exa\u00admple.com", strings.Repeat("a.", 400) + "com"} {
		if d, err := compileDomain(bad); err == nil {
			t.Errorf("%q is a domain: %+v", bad, d)
		}
	}
}
