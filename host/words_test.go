package host

import (
	"strings"
	"testing"
)

// TestLastLines: what a program repeats of what it was given is withheld, in
// whichever order the values are looked at, and also where a line was cut.
func TestLastLines(t *testing.T) {
	t.Parallel()
	server := func() *Server {
		s := &Server{ID: "s", Env: map[string]Secret{
			"A": NewSecret("abcd"), "B": NewSecret("abcd-efghijkl"), "SHORT": NewSecret("1"),
			"KEY": NewSecret("-----BEGIN KEY-----\nMIIBVAIBADANBg\n-----END KEY-----\n"),
		}}
		s.filled = []Secret{NewSecret("sk-argument")}
		return s
	}
	for text, want := range map[string]string{
		"no key":                                  "no key",
		"bad key abcd-efghijkl, see 1":            "bad key (withheld), see 1",
		"abcd abcd-efghijkl":                      "(withheld) (withheld)",
		"unknown flag --key=sk-argument":          "unknown flag --key=(withheld)",
		"cut at the end: abcd-efg":                "cut at the end: (withheld)",
		"ijkl: cut at the beginning":              "(withheld): cut at the beginning",
		"PEM\nMIIBVAIBADANBg\nis no key":          "PEM / (withheld) / is no key",
		"first\nsk-arg\nlast":                     "first / (withheld) / last",
		"ab: too little to tell":                  "ab: too little to tell",
		strings.Repeat("x", 500) + " sk-argument": strings.Repeat("x", 399) + "…",
	} {
		for range 10 { // maps have no order
			if got := lastLines(text, server()); got != want {
				t.Errorf("%q reads %q, want %q", text, got, want)
				break
			}
		}
	}
}

// TestFilledArguments: what variables put into arguments is withheld as well.
func TestFilledArguments(t *testing.T) {
	t.Parallel()
	f, err := ParseServers([]byte(`{"mcpServers":{"s":{"command":"serve","args":["--verbose","--key=${KEY}","${NONE:-fallback}"]}}}`), "s.json",
		func(name string) (string, bool) { return "sk-secret-5", name == "KEY" })
	if err != nil {
		t.Fatal(err)
	}
	const said, want = "unknown flag --key=sk-secret-5 after --verbose, before fallback", "unknown flag --key=(withheld) after --verbose, before fallback"
	if got := lastLines(said, f.Servers[0]); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
