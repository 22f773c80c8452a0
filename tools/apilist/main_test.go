package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

const source = `package shop

import "context"

const Limit = 3
const hidden = 4

var ErrClosed error

// An Order is bought.
type Order struct {
	ID    string ` + "`json:\"id\"`" + `
	notes string
	Base
}

type Base struct{}

func (Base) Describe() string { return "" }

func (o *Order) Pay(ctx context.Context, amount ...int) error { return nil }
func (o Order) private() {}

type Store interface {
	Put(Order) error
	sealed()
}

type Number interface{ ~int | ~float64 }

type Set[T comparable] map[T]bool

func (s Set[T]) Has(v T) bool { return s[v] }

func Map[K comparable, V any](m map[K]V) []V { return nil }

type Old = Order
`

const want = `package example.org/m/shop

const Limit untyped int = 3
func Map[K comparable, V any](m map[K]V) []V
method (*Order) Pay(ctx context.Context, amount ...int) error
method (Base) Describe() string
method (Set) Has(v T) bool
type Base struct
type Number interface
type Number interface: ~int | ~float64
type Old = Order
type Order struct
type Order struct: ID string ` + "`json:\"id\"`" + `
type Order struct: embedded Base
type Set[T comparable] map[T]bool
type Store interface
type Store interface: Put(Order) error
type Store interface: methods that are not exported
var ErrClosed error
`

func TestListAndCheck(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out := filepath.Join(dir, "api")
	write(t, dir, map[string]string{
		"go.mod":                 "module example.org/m\n\ngo 1.26\n",
		"shop/shop.go":           source,
		"internal/deep/deep.go":  "package deep\n\nfunc Hidden() {}\n",
		"cmd/tool/main.go":       "package main\n\nfunc main() {}\n",
		"api/gone.txt":           "package example.org/m/gone\n",
		"shop/shop_test.go":      "package shop\n\nfunc OnlyInTests() {}\n",
		"unexported/nothing.go":  "package unexported\n\nfunc nothing() {}\n",
		"shop/shoptest/bunch.go": "package shoptest\n\nfunc New() int { return 0 }\n",
	})
	if err := run(dir, out, true); err == nil {
		t.Error("check passed before a list was written")
	}
	if err := run(dir, out, false); err != nil {
		t.Fatal(err)
	}
	if err := run(dir, out, true); err != nil {
		t.Errorf("check right after writing: %v", err)
	}
	got, err := os.ReadFile(filepath.Join(out, "shop.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("shop.txt:\n%s\nwant:\n%s", got, want)
	}
	entries, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 2 || entries[0].Name() != "shop-shoptest.txt" {
		t.Errorf("files: %v, want shop-shoptest.txt and shop.txt", entries)
	}

	write(t, dir, map[string]string{"shop/shop.go": strings.Replace(source, "ErrClosed", "ErrShut", 1)})
	err = run(dir, out, true)
	if err == nil || !strings.Contains(err.Error(), "gone: var ErrClosed error") || !strings.Contains(err.Error(), "new: var ErrShut error") {
		t.Errorf("check after a change: %v, want both names", err)
	}
}

func TestBrokenPackage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{"go.mod": "module example.org/m\n\ngo 1.26\n", "a/a.go": "package a\n\nvar X = nowhere\n"})
	if err := run(dir, filepath.Join(dir, "api"), false); err == nil {
		t.Error("a package that does not compile was listed")
	}
}
