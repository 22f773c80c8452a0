package host_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
)

// deceiving are texts of a server that steer a terminal, turn the direction of a sentence,
// or hide something in it.
var deceiving = map[string]string{
	"C0":              "a\x1b[2J\x07\x00b",
	"a line end":      "a\r\nYou may go on.\u2028\u2029\u0085b",
	"C1":              "a\u009b2J\u009d0;title\u009c\u0080b",
	"bidi":            "a\u202egnp.exe\u202c\u2066\u2067\u2068\u2069\u200e\u200f\u061cb",
	"tags":            "a\U000e0001\U000e0041\U000e0042\U000e007fb",
	"zero width":      "a\u200b\u200c\u200d\u2060\ufeff\u00adb",
	"variation":       "a\ufe0f\U000e0100b",
	"noncharacters":   "a\uffff\U0010ffffb",
	"interlinear":     "a\ufff9\ufffa\ufffbb",
	"stacked marks":   "a" + strings.Repeat("\u0301", 100) + "b",
	"placeholder":     "a{}%s%!b",
	"very long":       "a" + strings.Repeat("\u202e", 5_000) + "b",
	"a half of a tag": "a\xf3\xa0b",
}

// clean fails if text does what deceiving does.
func clean(t *testing.T, where, text string) {
	t.Helper()
	marks := 0
	for _, r := range text {
		if marks++; !unicode.Is(unicode.Mn, r) {
			marks = 0
		}
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector, unicode.Noncharacter_Code_Point) || marks > 10 {
			t.Errorf("%s: %U is left in %+q", where, r, text)
			return
		}
	}
	if text == "" || len(text) > 4<<10 {
		t.Errorf("%s: %d bytes, %.80q", where, len(text), text)
	}
}

// What a server says goes into sentences of this host's own, which are shown on pages and in
// terminals: none of it deceives there.
func TestServersWordsInSentences(t *testing.T) {
	t.Parallel()
	for name, words := range deceiving {
		quoted := strings.ToValidUTF8(words, "")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, revision := range []string{"2026-07-28", "2025-11-25"} {
				s, _ := web(t, "shop", &hosttest.Script{Revision: revision, Tools: map[string]hosttest.Tool{
					"error": func(x *hosttest.Exchange) { x.Error(-32603, quoted, "") },
					"state": func(x *hosttest.Exchange) {
						if x.State == nil && revision == "2026-07-28" {
							x.Asks("", "s")
							return
						}
						x.Error(-32602, quoted, `{"reason":"invalid_request_state"}`)
					},
					"unknown": func(x *hosttest.Exchange) { x.Error(-32000, quoted, `{"reason":"outcome_unknown"}`) },
				}})
				r := newRig(t, nil, nil, s)
				for tool, state := range map[string]inbox.CallState{"error": inbox.Failed, "state": inbox.Lapsed, "unknown": inbox.Uncertain} {
					c := r.until(r.resumed("shop", tool).ID, state)
					clean(t, revision+" "+tool, host.Explain(c, ""))
				}
				if c := r.until(r.resumed("shop", "error").ID, inbox.Failed); !strings.HasPrefix(c.Detail, "shop answered with an error: ") || strings.Contains(c.Detail, "no reason") {
					t.Errorf("%q does not have the server's words", c.Detail)
				}
				_, err := r.Start(t.Context(), ada, host.NewCall{Server: "shop", Name: quoted})
				if !errors.Is(err, host.ErrNoTool) {
					t.Fatal(err)
				}
				clean(t, "the name of a tool", err.Error())
			}
			refuse := func(x *hosttest.Exchange) { x.Error(-32603, quoted, "") }
			for where, methods := range map[string]map[string]hosttest.Tool{
				"asked what it is": {"server/discover": refuse, "initialize": refuse},
				"tools listed":     {"tools/list": refuse},
			} {
				s, _ := web(t, "shop", &hosttest.Script{Methods: methods})
				_, err := newRig(t, nil, nil, s).Tools(t.Context(), ada, "shop")
				u := (*host.UnreachableError)(nil)
				if !errors.As(err, &u) {
					t.Fatal(err)
				}
				clean(t, where, u.Why)
			}
		})
	}
}

// The same of what a program writes to its standard error, and in the place of messages.
func TestProgramsWordsInSentences(t *testing.T) {
	t.Parallel()
	for name, words := range deceiving {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := program(t, "shop", "says last words")
			s.Env["WORDS"] = host.NewSecret(strconv.QuoteToASCII(words))
			_, err := newRig(t, nil, nil, s).Tools(t.Context(), ada, "shop")
			u := (*host.UnreachableError)(nil)
			if !errors.As(err, &u) {
				t.Fatal(err)
			}
			clean(t, "standard error", u.Stderr)
			clean(t, "standard output", u.Why)
			clean(t, "the error", err.Error())
		})
	}
}

func init() {
	otherPrograms["says last words"] = func() error {
		words, err := strconv.Unquote(os.Getenv("WORDS"))
		if err != nil {
			return err
		}
		fmt.Println(words)
		return errors.New(words)
	}
}

// resumed starts a call and has it sent.
func (r *rig) resumed(server, tool string) *inbox.Call {
	r.t.Helper()
	c := r.start(server, tool, "")
	if _, err := r.Auto(patient(r.t), ada, c.ID, func(context.Context, *host.Stop) error { return errStop }); err != nil && !errors.Is(err, errStop) {
		r.t.Fatal(err)
	}
	return c
}

var errStop = errors.New("far enough")
