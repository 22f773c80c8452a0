package rules

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/policy"
)

const (
	allows = "calls: [{name: allows, then: allow}]\n"
	denies = "calls: [{name: denies, then: deny}]\n"
	broken = "calls: [{name: broken, then: perhaps}]\n"
)

// write replaces the file as a whole, as a deployment should.
func write(t *testing.T, path, text string) {
	t.Helper()
	next := path + ".next"
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, path); err != nil {
		t.Fatal(err)
	}
}

func decides(t *testing.T, l *Live) string {
	t.Helper()
	d, err := l.Call(t.Context(), &policy.Input{Actor: inbox.Model, Method: policy.ToolsCall, Server: "s", Name: "x"})
	if err != nil {
		t.Fatal(err)
	}
	return d.Rule
}

func TestReload(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "policy.yaml")
	if _, err := Open(path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("without a file: %v", err)
	}
	write(t, path, broken)
	if _, err := Open(path); err == nil {
		t.Fatal("a broken file was opened")
	}
	write(t, path, allows)
	l, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	digest := l.Rules().Digest()
	for _, step := range []struct {
		text    string // empty: the file is removed
		changed bool
		bad     bool
		rule    string
	}{
		{allows, false, false, "allows"},
		{broken, false, true, "allows"},
		{"# half a", false, true, "allows"},
		{denies, true, false, "denies"},
		{"", false, true, "denies"},
		{allows, true, false, "allows"},
	} {
		if step.text == "" {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		} else {
			write(t, path, step.text)
		}
		changed, err := l.Reload()
		if changed != step.changed || (err != nil) != step.bad || decides(t, l) != step.rule {
			t.Errorf("after %q: %t, %v, decides %s", step.text, changed, err, decides(t, l))
		}
	}
	if l.Rules().Digest() != digest {
		t.Error("the same content has another digest")
	}
}

// A version counts once it was seen twice, and a broken one is told of once.
func TestLook(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "policy.yaml")
	write(t, path, allows)
	l, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	look := l.looker()
	for i, step := range []struct {
		text    string // what is written before the look; empty: nothing
		changed bool
		bad     bool
		rule    string
	}{
		{"", false, false, "allows"},
		{denies, false, false, "allows"},
		{"", true, false, "denies"},
		{"", false, false, "denies"},
		{broken, false, false, "denies"},
		{"", false, true, "denies"},
		{"", false, false, "denies"},
		{"calls:\n", false, false, "denies"}, // being written
		{allows, false, false, "denies"},
		{"", true, false, "allows"},
	} {
		if step.text != "" {
			write(t, path, step.text)
		}
		changed, err := look()
		if changed != step.changed || (err != nil) != step.bad || decides(t, l) != step.rule {
			t.Errorf("look %d: %t, %v, decides %s", i, changed, err, decides(t, l))
		}
	}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "policy.yaml")
	write(t, path, allows)
	l, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	type told struct {
		rules *Rules
		err   error
	}
	news := make(chan told)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l.Watch(ctx, time.Millisecond, func(r *Rules, err error) { news <- told{r, err} })
	}()
	write(t, path, broken)
	if n := <-news; n.err == nil || n.rules != l.Rules() {
		t.Errorf("of a broken file: %+v", n)
	}
	write(t, path, denies)
	if n := <-news; n.err != nil || n.rules != l.Rules() || decides(t, l) != "denies" {
		t.Errorf("of a new file: %+v", n)
	}
	stop()
	<-ended
}

// Decisions during reloads are those of one version or the other.
func TestReloadWhileDeciding(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "policy.yaml")
	write(t, path, allows)
	l, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 500 {
				d, err := l.Call(t.Context(), &policy.Input{Actor: inbox.Model, Method: policy.ToolsCall, Server: "s", Name: "x"})
				if err != nil || d.Rule != "allows" && d.Rule != "denies" || (d.Rule == "denies") != (d.Effect == policy.Deny) {
					t.Errorf("%+v, %v", d, err)
				}
			}
		})
	}
	for i := range 50 {
		write(t, path, []string{denies, allows}[i%2])
		if _, err := l.Reload(); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
}
