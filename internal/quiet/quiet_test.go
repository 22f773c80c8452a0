package quiet_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"testing/slogtest"
	"time"

	"pgregory.net/rapid"

	"github.com/parley-mcp/parley/internal/quiet"
)

const sentinel = "s3ntinel-4711"

// logged returns the line that log writes, without its time and level.
func logged(log func(*slog.Logger)) string {
	var out bytes.Buffer
	h := slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
			return slog.Attr{}
		}
		return a
	}})
	log(slog.New(quiet.New(h)))
	return strings.TrimSuffix(out.String(), "\n")
}

func one(key string, value any) func(*slog.Logger) {
	return func(l *slog.Logger) { l.Info("m", key, value) }
}

type (
	name      string
	structure struct{ hidden, Open string }
	valuer    struct{ attrs []slog.Attr }
	sealed    struct{ string }
	panics    struct{}
)

func (v valuer) LogValue() slog.Value { return slog.GroupValue(v.attrs...) }

func (sealed) LogValue() slog.Value          { return slog.StringValue("SEALED") }
func (sealed) Format(f fmt.State, _ rune)    { fmt.Fprint(f, "SEALED") }
func (panics) Error() string                 { panic("no") }
func (s structure) unused() (string, string) { return s.hidden, s.Open }

func TestHandler(t *testing.T) {
	t.Parallel()
	_, _ = structure{}.unused()
	for label, test := range map[string]struct {
		log  func(*slog.Logger)
		want string
	}{
		"harmless":           {func(l *slog.Logger) { l.Info("asked", "server", "travel", "n", 3, "took", time.Second) }, `msg=asked server=travel n=3 took=1s`},
		"token":              {one("token", sentinel), `msg=m token=(withheld)`},
		"camel case":         {one("accessToken", sentinel), `msg=m accessToken=(withheld)`},
		"capitals":           {one("AUTHORIZATION", sentinel), `msg=m AUTHORIZATION=(withheld)`},
		"hyphens":            {one("x-api-key", sentinel), `msg=m x-api-key=(withheld)`},
		"joined":             {one("requeststate", sentinel), `msg=m requeststate=(withheld)`},
		"plural":             {one("secrets", []string{sentinel}), `msg=m secrets=(withheld)`},
		"number":             {one("answer", 42), `msg=m answer=(withheld)`},
		"nil":                {one("content", nil), `msg=m content=(withheld)`},
		"a key of a form":    {one("key", "color"), `msg=m key=color`},
		"content type":       {one("Content-Type", "text/html"), `msg=m Content-Type=text/html`},
		"error":              {one("err", errors.New("dial https://u:"+sentinel+"@h.example:1/p?q="+sentinel+"#f: refused")), `msg=m err="dial https://h.example:1/p?(withheld) refused"`},
		"url":                {one("at", &url.URL{Scheme: "https", Host: "h", Path: "/p", RawQuery: "a=" + sentinel}), `msg=m at=https://h/p?(withheld)`},
		"nil url":            {one("at", (*url.URL)(nil)), `msg=m at=<nil>`},
		"url in message":     {func(l *slog.Logger) { l.Info("GET http://h/?t=" + sentinel) }, `msg="GET http://h/?(withheld)"`},
		"fragment":           {one("at", "http://h/#token="+sentinel), `msg=m at=http://h/#(withheld)`},
		"password is a port": {one("at", "http://me:"+sentinel+"/x@h/"), `msg=m at=http://(withheld)`},
		"ipv6":               {one("at", "http://[::1]:80/x"), `msg=m at=http://[::1]:80/x`},
		"bearer":             {one("err", "refused: Bearer "+sentinel), `msg=m err="refused: Bearer (withheld)"`},
		"pair":               {one("err", "body token="+sentinel+"&x=1"), `msg=m err="body token=(withheld)&x=1"`},
		"bytes":              {one("raw", []byte(sentinel)), `msg=m raw="(13 bytes)"`},
		"structure":          {one("value", structure{sentinel, sentinel}), `msg=m value=(quiet_test.structure)`},
		"pointer":            {one("value", &structure{sentinel, sentinel}), `msg=m value=(*quiet_test.structure)`},
		"map":                {one("value", map[string]string{"a": sentinel}), `msg=m value=(map[string]string)`},
		"named string":       {one("id", name("a\x1b[31m")), `msg=m id=a␛[31m`},
		"list":               {one("ids", []name{"a", "http://h/?" + sentinel}), `msg=m ids="[a http://h/?(withheld)]"`},
		"control characters": {one("title", "a\nlevel=ERROR\x1b[2J\u202e"), `msg=m title="a␤level=ERROR␛[2J⟨U+202E⟩"`},
		"key of a stranger":  {one("a\x1b", 1), `msg=m a␛=1`},
		"redacts itself":     {one("secret", sealed{sentinel}), `msg=m secret=SEALED`},
		"valuer":             {one("who", valuer{[]slog.Attr{slog.String("name", "ann"), slog.String("token", sentinel)}}), `msg=m who.name=ann who.token=(withheld)`},
		"valuer is not asked": {one("token", valuer{[]slog.Attr{slog.String("name", sentinel)}}),
			`msg=m token=(withheld)`},
		"group": {func(l *slog.Logger) {
			l.Info("m", slog.Group("req", "method", "GET", "cookie", sentinel), slog.Group("header", "a", sentinel))
		}, `msg=m req.method=GET req.cookie=(withheld) header=(withheld)`},
		"group without a name": {func(l *slog.Logger) { l.Info("m", slog.Group("", "a", 1, "token", sentinel)) }, `msg=m a=1 token=(withheld)`},
		"WithGroup": {func(l *slog.Logger) {
			l.WithGroup("answers").With("a", sentinel).Info("m", "b", sentinel, slog.Group("", "c", sentinel))
		},
			`msg=m answers.a=(withheld) answers.b=(withheld) answers.c=(withheld)`},
		"With":   {func(l *slog.Logger) { l.With("token", sentinel, "server", "s").Info("m") }, `msg=m token=(withheld) server=s`},
		"panics": {one("err", panics{}), `msg=m err="%!v(PANIC=Error method: no)"`},
	} {
		got := logged(test.log)
		if got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", label, got, test.want)
		}
		if strings.Contains(got, sentinel) {
			t.Errorf("%s: the log holds the secret: %s", label, got)
		}
	}
}

// TestContract holds the handler against slog's own rules for handlers.
func TestContract(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	slogtest.Run(t, func(*testing.T) slog.Handler {
		out.Reset()
		return quiet.New(slog.NewJSONHandler(&out, nil))
	}, func(t *testing.T) map[string]any {
		t.Helper()
		var line map[string]any
		if err := json.Unmarshal(out.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		return line
	})
}

func TestEnabled(t *testing.T) {
	t.Parallel()
	h := quiet.New(slog.NewTextHandler(&bytes.Buffer{}, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if h.Enabled(context.Background(), slog.LevelInfo) || !h.Enabled(context.Background(), slog.LevelWarn) {
		t.Error("Enabled does not ask the handler behind")
	}
}

func TestLong(t *testing.T) {
	t.Parallel()
	for label, s := range map[string]string{
		"one word":     strings.Repeat("x", 1<<20),
		"cut in a URL": strings.Repeat("x ", 15999) + "http://u" + strings.Repeat(sentinel, 10) + "@h",
	} {
		got := logged(one("s", s))
		if len(got) > 6100 {
			t.Errorf("%s: %d bytes are logged", label, len(got))
		}
	}
}

// TestNoURLSecret: whatever a URL looks like, its user name, query and fragment stay out.
func TestNoURLSecret(t *testing.T) {
	t.Parallel()
	part := rapid.StringMatching(`[A-Za-z0-9:@/?#%._~!$&*+,;=-]{0,12}`)
	rapid.Check(t, func(t *rapid.T) {
		hidden := "Q" + rapid.StringMatching(`[0-9]{8}`).Draw(t, "hidden") + "Q"
		before, after := part.Draw(t, "before"), part.Draw(t, "after")
		host := rapid.StringMatching(`[a-z]{1,8}(:[0-9]{1,4})?`).Draw(t, "host")
		var raw string
		switch rapid.SampledFrom([]string{"password", "query", "fragment"}).Draw(t, "where") {
		case "password":
			raw = "https://me:" + strings.NewReplacer("/", "", "?", "", "#", "").Replace(before) + hidden + "@" + host + "/" + after
		case "query":
			raw = "https://" + host + "/?" + before + hidden + after
		case "fragment":
			raw = "https://" + host + "/#" + before + hidden + after
		}
		for _, log := range []func(*slog.Logger){
			one("at", raw),
			one("err", fmt.Errorf("Get %q: %w", raw, errors.New("refused"))),
			func(l *slog.Logger) { l.Warn("went to " + raw) },
		} {
			if got := logged(log); strings.Contains(got, hidden) {
				t.Fatalf("%s is logged: %s", raw, got)
			}
		}
	})
}

// TestOneLine: no text of a stranger makes a second line or reaches a terminal's ear.
func TestOneLine(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		got := logged(func(l *slog.Logger) { l.With(s, s).WithGroup(s).Info(s, s, s, "e", errors.New(s)) })
		if i := strings.IndexFunc(got, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0x202e || r == 0x85 }); i >= 0 {
			t.Fatalf("control character at %d of %q", i, got)
		}
	})
}

func BenchmarkHandle(b *testing.B) {
	err := errors.New("Post https://h.example/mcp?x=1: connection refused")
	log := slog.New(quiet.New(slog.NewTextHandler(discard{}, nil)))
	for b.Loop() {
		log.Info("host: unreachable", "server", "travel", "err", err)
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
