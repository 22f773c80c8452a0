package inbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// ToolText is what a server says of one of its tools.
type ToolText struct {
	Name        string
	Description string
	InputSchema string // canonical: the order of members is no change
	Annotations string // the same; empty if there are none
}

// ToolChange says how a tool differs from what the person last saw or allowed.
type ToolChange struct {
	New   bool       `json:"new,omitempty"` // it was not among the server's tools then
	Parts []ToolPart `json:"parts,omitempty"`
}

// ToolPart is one part that has changed: in the server's words, to be sanitised.
type ToolPart struct {
	Name   string `json:"name"` // description, input_schema or annotations
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	Cut    bool   `json:"cut,omitempty"` // a text is longer than this, or no longer known
}

const (
	toolsKey      = "tools " // and the server
	toolsPurpose  = "inbox tools"
	toolsTime     = 366 * 24 * time.Hour // after the last look
	maxToolsKnown = 5000                 // of one server
	maxToolText   = 2 << 10              // bytes of one text of a tool
	maxToolTexts  = 256 << 10            // bytes of all texts of one server; digests tell of changes without them
	maxToolName   = 64                   // bytes; a longer one is known by its digest
)

// toolsSeen is what a person has seen of a server's tools. It is sealed, as
// server's words are in every row. What a key that is gone had sealed counts as
// never seen.
type toolsSeen struct {
	Listed bool                `json:"listed"` // all of them: what is not here is new
	Tools  map[string]toolSeen `json:"tools"`  // by toolName
}

// toolSeen has a digest of each part, and its text as far as there is room.
type toolSeen struct {
	Digests [3]string  `json:"d"`
	Texts   *[3]string `json:"t,omitempty"`
}

var toolParts = [3]string{"description", "input_schema", "annotations"}

func (t *ToolText) parts() [3]string { return [3]string{t.Description, t.InputSchema, t.Annotations} }

func toolName(name string) string {
	if len(name) <= maxToolName && !strings.HasPrefix(name, "sha256:") {
		return name
	}
	return "sha256:" + toolDigest(name)
}

func toolDigest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

func seenNow(t *ToolText) toolSeen {
	s := toolSeen{Texts: new([3]string)}
	for i, text := range t.parts() {
		s.Digests[i], s.Texts[i] = toolDigest(text), cutText(text)
	}
	return s
}

func (s toolSeen) size() (n int) {
	if s.Texts != nil {
		for _, text := range s.Texts {
			n += len(text)
		}
	}
	return n
}

// cutText is the beginning of a text, whole characters.
func cutText(text string) string {
	if len(text) > maxToolText {
		text = text[:maxToolText]
	}
	return strings.ToValidUTF8(text, "")
}

// change compares; nil: nothing has changed, or the person knows nothing of the server's tools.
func (k *toolsSeen) change(t *ToolText) *ToolChange {
	seen, known := k.Tools[toolName(t.Name)]
	if !known {
		if k.Listed {
			return &ToolChange{New: true}
		}
		return nil
	}
	var c ToolChange
	for i, text := range t.parts() {
		if seen.Digests[i] == toolDigest(text) {
			continue
		}
		part := ToolPart{Name: toolParts[i], After: cutText(text), Cut: seen.Texts == nil || len(text) > maxToolText}
		if seen.Texts != nil {
			part.Before = seen.Texts[i]
			part.Cut = part.Cut || len(part.Before) >= maxToolText-3 // the cut is between characters
		}
		c.Parts = append(c.Parts, part)
	}
	if len(c.Parts) == 0 {
		return nil
	}
	return &c
}

// see takes what the person has seen now. Over the bounds texts go first, and
// tools that were not seen now.
func (k *toolsSeen) see(now map[string]toolSeen) {
	if k.Tools == nil {
		k.Tools = map[string]toolSeen{}
	}
	maps.Copy(k.Tools, now)
	names := slices.Sorted(maps.Keys(k.Tools))
	for _, name := range names {
		if _, seen := now[name]; !seen && len(k.Tools) > maxToolsKnown {
			delete(k.Tools, name)
		}
	}
	for _, name := range names {
		if len(k.Tools) > maxToolsKnown {
			delete(k.Tools, name)
		}
	}
	room := maxToolTexts
	for _, name := range names {
		s, ok := k.Tools[name]
		if !ok {
			continue
		}
		if room -= s.size(); room < 0 && s.Texts != nil {
			room += s.size()
			s.Texts = nil
			k.Tools[name] = s
		}
	}
}

func (w *work) toolsSeen(server string) (*toolsSeen, error) {
	k := &toolsSeen{}
	value, err := w.tx.Remembered(toolsKey + server)
	if errors.Is(err, ErrNotFound) {
		return k, nil
	}
	if err != nil {
		return nil, err
	}
	plain, err := w.in.keys.Open(toolsPurpose, []string{w.key, server}, value)
	if errors.Is(err, ErrSealed) {
		return k, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(plain, k); err != nil {
		return &toolsSeen{}, nil //nolint:nilerr // as one that does not open
	}
	return k, nil
}

func (w *work) rememberTools(server string, k *toolsSeen) error {
	plain, err := json.Marshal(k)
	if err != nil {
		return err
	}
	return w.tx.Remember(toolsKey+server, w.in.keys.Seal(toolsPurpose, []string{w.key, server}, plain), w.now.Add(toolsTime))
}

func checkServer(p Principal, server string) error {
	if err := p.check(); err != nil {
		return err
	}
	if server == "" || len(server) > maxToolName {
		return fmt.Errorf("%w: which server", ErrInvalid)
	}
	return checkText("the server", server)
}

// ToolChanges says which of a server's tools differ from what the person last
// saw or allowed, by name. The first list of a server is what they have seen.
func (in *Inbox) ToolChanges(ctx context.Context, p Principal, server string, tools []ToolText) (changes map[string]*ToolChange, err error) {
	if err := checkServer(p, server); err != nil {
		return nil, err
	}
	compare := func(w *work) (*toolsSeen, error) {
		k, err := w.toolsSeen(server)
		if err != nil {
			return nil, err
		}
		changes = map[string]*ToolChange{}
		for i := range tools {
			if c := k.change(&tools[i]); c != nil {
				changes[tools[i].Name] = c
			}
		}
		return k, nil
	}
	var listed bool
	err = in.view(ctx, p.Key(), func(w *work) error {
		k, err := compare(w)
		listed = err == nil && k.Listed
		return err
	})
	if err != nil || listed {
		return changes, err
	}
	err = in.update(ctx, p.Key(), func(w *work) error {
		k, err := compare(w)
		if err != nil || k.Listed {
			return err
		}
		fresh := map[string]toolSeen{}
		for i := range tools {
			if name := toolName(tools[i].Name); len(fresh) < maxToolsKnown {
				if _, known := k.Tools[name]; !known {
					fresh[name] = seenNow(&tools[i])
				}
			}
		}
		k.Listed = true
		k.see(fresh)
		return w.rememberTools(server, k)
	})
	return changes, err
}

// SeeTools records that the person has seen what the server says of these tools
// now: they are no longer changed.
func (in *Inbox) SeeTools(ctx context.Context, p Principal, server string, tools []ToolText) error {
	if err := checkServer(p, server); err != nil {
		return err
	}
	now := map[string]toolSeen{}
	for i := range tools[:min(len(tools), maxToolsKnown)] {
		now[toolName(tools[i].Name)] = seenNow(&tools[i])
	}
	return in.update(ctx, p.Key(), func(w *work) error { return w.seeTools(server, now) })
}

func (w *work) seeTools(server string, now map[string]toolSeen) error {
	if len(now) == 0 {
		return nil
	}
	k, err := w.toolsSeen(server)
	if err != nil {
		return err
	}
	k.see(now)
	return w.rememberTools(server, k)
}
