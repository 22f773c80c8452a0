package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree writes files below a fresh folder and returns it.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

var sources = map[string]string{
	"src/card.ts":        "import { shout } from './lib/shout';\nimport css from './card.css';\nexport const text: string = shout('höflich') + css;\n",
	"src/card.css":       "p { color: CanvasText }\n",
	"src/css.d.ts":       "declare module '*.css' { const text: string; export default text }\n",
	"src/lib/shout.ts":   "export function shout(s: string): string { return s.toUpperCase() }\n",
	"dist/gone.js":       "// its source was removed\n",
	"dist/card.d.ts":     "export declare const text: string\n",
	"elsewhere/other.ts": "export {}\n",
}

func TestWriteThenCheck(t *testing.T) {
	t.Parallel()
	dir := tree(t, sources)
	src, out := filepath.Join(dir, "src"), filepath.Join(dir, "dist")
	if err := run(src, out, true); err == nil {
		t.Error("check passed before anything was built")
	}
	if err := run(src, out, false); err != nil {
		t.Fatal(err)
	}
	if err := run(src, out, true); err != nil {
		t.Errorf("check right after the build: %v", err)
	}
	if got := names(t, out); got != "card.d.ts card.js" {
		t.Errorf("files in dist: %s; want card.d.ts card.js", got)
	}
	built, err := os.ReadFile(filepath.Join(out, "card.js"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"function shout", "höflich", "CanvasText", "export {"} {
		if !strings.Contains(string(built), want) {
			t.Errorf("card.js lacks %q:\n%s", want, built)
		}
	}
}

func TestCheckNamesWhatDiffers(t *testing.T) {
	t.Parallel()
	dir := tree(t, sources)
	src, out := filepath.Join(dir, "src"), filepath.Join(dir, "dist")
	if err := run(src, out, false); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(src, "lib", "shout.ts")
	if err := os.WriteFile(path, []byte("export function shout(s: string): string { return s + '!' }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	err := run(src, out, true)
	if err == nil || !strings.Contains(err.Error(), "card.js") {
		t.Errorf("check after a change of the source: %v; want a complaint about card.js", err)
	}
}

func TestSameBytesInAnotherFolder(t *testing.T) {
	t.Parallel()
	a, err := build(filepath.Join(tree(t, sources), "src"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := build(filepath.Join(tree(t, sources), "src"))
	if err != nil {
		t.Fatal(err)
	}
	if string(a["card.js"]) != string(b["card.js"]) {
		t.Errorf("two clones build different bytes:\n%s\n%s", a["card.js"], b["card.js"])
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]map[string]string{
		"no entry":       {"src/only.d.ts": "export {}\n"},
		"syntax":         {"src/a.ts": "const = 1\n"},
		"missing import": {"src/a.ts": "import './nowhere'\n"},
		"warning":        {"src/a.ts": "if (typeof x === 'nonsense') {}\nexport {}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := build(filepath.Join(tree(t, files), "src")); err == nil {
				t.Error("build succeeded")
			}
		})
	}
}

func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return strings.Join(names, " ")
}

// The bundle that the binary embeds is committed, so that go install works
// without any of this.
func TestTheCommittedBundleIsCurrent(t *testing.T) {
	t.Parallel()
	if err := run("../../web/src", "../../web/dist", true); err != nil {
		t.Error(err)
	}
}
