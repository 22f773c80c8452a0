package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/parley-mcp/parley/internal/exact"
)

// A Tool is what a person has in mind when they approve one for more than one
// call: which server, and what it says about the tool.
type Tool struct {
	Server   string // its key in the servers file
	Endpoint string // where it is: the key may be given to another server

	Name        string
	Description string
	InputSchema json.RawMessage
	Annotations json.RawMessage // as listed, with members that nobody knows yet; empty if there are none
}

// Fingerprint identifies the tool. Any change, of what a person read or of what
// a model may send, gives another one; the order of members and space do not
// count, and a tool that went away and comes back unchanged has its old one.
func (t Tool) Fingerprint() string {
	h := sha256.New()
	for _, part := range [][]byte{
		[]byte("parley standing approval 1"), []byte(t.Server), []byte(t.Endpoint), []byte(t.Name), []byte(t.Description),
		canonical(t.InputSchema), canonical(t.Annotations),
	} {
		fmt.Fprintf(h, "%d:", len(part))
		h.Write(part)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// canonical writes JSON with its members in order and without space. Numbers
// stay as they are spelled. A text that two programs may read in two ways stays
// as it is, marked as such: of it, every change counts.
func canonical(raw json.RawMessage) []byte {
	if len(raw) == 0 {
		return nil
	}
	v, err := exact.Decode(raw)
	if err != nil {
		return append([]byte("verbatim:"), raw...)
	}
	b, err := json.Marshal(v) // sorts the members of a map
	if err != nil {
		return append([]byte("verbatim:"), raw...)
	}
	return b
}
