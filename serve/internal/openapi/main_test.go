package main

import (
	"bytes"
	"os"
	"testing"
)

// The tables of the guide are those of the document, which is made of the code.
func TestTablesAreCommitted(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	made, err := withTables(guide)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(guide, made) {
		t.Error("docs/api.md is old: run make generate")
	}
	if bytes.Count(made, []byte("\n| `")) < 30 {
		t.Errorf("the tables are short:\n%s", made)
	}
}
