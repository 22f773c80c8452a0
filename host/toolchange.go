package host

import (
	"context"

	"github.com/parley-mcp/parley/inbox"
)

// text is what a tool's server says of it, for comparing.
func (t *Tool) text() inbox.ToolText {
	text := inbox.ToolText{Name: t.Name, Description: t.Description, InputSchema: string(canonical(t.InputSchema))}
	if len(t.Annotations) > 0 {
		text.Annotations = string(canonical(t.Annotations))
	}
	return text
}

func texts(tools []*Tool) []inbox.ToolText {
	list := make([]inbox.ToolText, len(tools))
	for i, t := range tools {
		list[i] = t.text()
	}
	return list
}

// ToolChanges says which of these tools of a server differ from what the person
// last saw or allowed, by name: a server may change, under the same name, what a
// tool does, or what a model reads of it. The first list that a person gets is
// what they have seen.
func (h *Host) ToolChanges(ctx context.Context, p inbox.Principal, server string, tools []*Tool) (map[string]*inbox.ToolChange, error) {
	return h.inbox.ToolChanges(ctx, p, server, texts(tools))
}

// SeenTools records that the person has seen tools as they were shown: a map
// of names to [Tool.Definition]. What is another by now stays changed, and a
// tool that is gone does not count.
func (h *Host) SeenTools(ctx context.Context, p inbox.Principal, server string, shown map[string]string) error {
	tools, err := h.Tools(ctx, p, server)
	if err != nil {
		return err
	}
	var seen []*Tool
	for _, t := range tools {
		if definition, ok := shown[t.Name]; ok && definition == t.Definition {
			seen = append(seen, t)
		}
	}
	return h.inbox.SeeTools(ctx, p, server, texts(seen))
}
