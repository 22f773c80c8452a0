package host

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/exact"
)

// Bounds of a server's list of tools.
const (
	maxTools     = 5000
	maxToolPages = 100
	maxToolBytes = 8 << 20 // of all pages
)

// A listError says what is wrong with a list of tools, in a sentence's part.
type listError string

const errUnreadableList listError = "its list of tools cannot be read"

func (e listError) Error() string { return string(e) }

// A Tool is one tool of a server, as it listed it. Everything in it is the
// server's own words, to be sanitised before it is drawn.
type Tool struct {
	Name        string
	Title       string // empty: the name
	Description string
	InputSchema json.RawMessage // fields in the server's order

	// Annotations are what the tool says about itself, as the server listed it.
	Annotations json.RawMessage

	// Hints count only for a trusted server; for others they are false.
	ReadOnly   bool
	Idempotent bool

	// Fingerprint identifies name and input schema: a parked call is resumed
	// only where it is still the same.
	Fingerprint string
	// Definition identifies all that a person or a model reads of the tool, as
	// an approval given for always is bound to it.
	Definition string
}

// fingerprint digests a tool's name and its input schema in canonical form:
// the order of members does not matter.
func fingerprint(method, name string, schema json.RawMessage) string {
	h := sha256.New()
	for _, part := range [][]byte{[]byte(method), []byte(name), canonical(schema)} {
		fmt.Fprintf(h, "%d:", len(part))
		h.Write(part)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// canonical writes JSON with sorted members and without space. Numbers stay as
// they are written. What is no JSON stays as it is.
func canonical(raw json.RawMessage) []byte {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return raw
	}
	b, err := json.Marshal(v)
	if err != nil {
		return raw
	}
	return b
}

// toolsOfPage reads the result member of a tools/list response.
func toolsOfPage(result json.RawMessage, s *Server) ([]*Tool, error) {
	var page struct {
		Tools []json.RawMessage `json:"tools"`
	}
	if exact.Unmarshal(result, &page) != nil {
		return nil, errUnreadableList
	}
	var tools []*Tool
	for _, raw := range page.Tools {
		var t struct {
			Name        string          `json:"name"`
			Title       string          `json:"title"`
			Description string          `json:"description"`
			InputSchema json.RawMessage `json:"inputSchema"`
			Annotations json.RawMessage `json:"annotations"`
		}
		if exact.Unmarshal(raw, &t) != nil {
			return nil, errUnreadableList
		}
		if t.Name == "" {
			continue
		}
		tool := &Tool{Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: t.InputSchema, Annotations: t.Annotations}
		var hints struct {
			Title          string `json:"title"`
			ReadOnlyHint   bool   `json:"readOnlyHint"`
			IdempotentHint bool   `json:"idempotentHint"`
		}
		if len(t.Annotations) > 0 && exact.Unmarshal(t.Annotations, &hints) != nil {
			return nil, errUnreadableList
		}
		if tool.Title == "" {
			tool.Title = hints.Title
		}
		if s.Trusted {
			tool.ReadOnly, tool.Idempotent = hints.ReadOnlyHint, hints.IdempotentHint
		}
		tool.Fingerprint = fingerprint("tools/call", t.Name, t.InputSchema)
		tool.Definition = toolFingerprint(s, tool)
		tools = append(tools, tool)
	}
	return tools, nil
}

// uncached is a sending middleware that keeps lists of tools out of the SDK's
// cache. The host decides when a list is too old: a server's ttlMs is a promise
// of the build that gave it, and a call may be resumed after the next deploy.
func uncached(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, req)
		if list, ok := result.(*mcp.ListToolsResult); ok && list != nil {
			list.TTLMs = 0 // MCP 2026-07-28, caching: immediately stale
		}
		return result, err
	}
}

// usable names the tools of a page that may be called; nil: all of them.
// Over HTTP a tool with an x-mcp-header that is not valid is left out, and no
// other (MCP 2026-07-28, x-mcp-header). The SDK does so.
func (c *connection) usable(listed []*mcp.Tool) map[string]bool {
	if c.era != inbox.Modern || c.web == nil {
		return nil
	}
	names := make(map[string]bool, len(listed))
	for _, t := range listed {
		names[t.Name] = true
	}
	return names
}

// listTools fetches all pages. The SDK keeps what it lists, and puts
// parameters into headers by it (MCP 2026-07-28, x-mcp-header), so the list goes
// through the SDK, and the bytes are taken from the wire beside it.
func (c *connection) listTools(ctx context.Context) ([]*Tool, error) {
	var all []*Tool
	seen := map[string]bool{}
	cursor, size := "", 0
	for range maxToolPages {
		pages := &capture{method: "tools/list"}
		result, err := c.session.ListTools(withCapture(ctx, pages), &mcp.ListToolsParams{Cursor: cursor})
		if err != nil {
			var rpc *jsonrpc.Error
			if errors.As(err, &rpc) && rpc.Code == codeMethodNotFound {
				return nil, nil // a server without tools
			}
			return nil, err
		}
		raw := pages.result()
		if raw == nil { // the bytes were not seen: the SDK's reading will do
			if raw, err = json.Marshal(result); err != nil {
				return nil, err
			}
		}
		if size += len(raw); size > maxToolBytes {
			return nil, listError(fmt.Sprintf("its list of tools is larger than %d MiB", maxToolBytes>>20))
		}
		tools, err := toolsOfPage(raw, c.server)
		if err != nil {
			return nil, err
		}
		usable := c.usable(result.Tools)
		for _, t := range tools {
			if usable != nil && !usable[t.Name] {
				c.host.log.Warn("host: a tool with headers that cannot be sent is left out", "server", c.server.ID, "tool", tidy(t.Name))
				continue
			}
			if !seen[t.Name] { // the first of two tools with one name, as the SDK has it
				seen[t.Name] = true
				all = append(all, t)
			}
		}
		if len(all) > maxTools {
			return nil, listError(fmt.Sprintf("it lists more than %d tools", maxTools))
		}
		if cursor = result.NextCursor; cursor == "" {
			return all, nil
		}
	}
	return nil, listError(fmt.Sprintf("its list of tools has more than %d pages", maxToolPages))
}
