package elicit

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ToolOption changes what [AddTool] does with a tool.
type ToolOption func(*toolOptions) error

type toolOptions struct {
	hidden Mode // empty: listed to everybody
}

// Asks says that the tool asks for a T. A T that no form can have is then found
// when the tool is added and not when somebody calls it: AddTool panics with the
// path of the field.
func Asks[T any]() ToolOption {
	return func(*toolOptions) error {
		_, err := fieldsOf(reflect.TypeFor[T]())
		return err
	}
}

// HideUnless leaves the tool out of the lists of clients that cannot be asked in
// the mode. That is for tools of no use without a person; others better stay,
// because what to do without one is said when they are called, and because a list
// that differs from client to client cannot be shared: with such a tool the
// server marks its lists as private (MCP 2026-07-28 caching, "cacheScope"). A
// call of a hidden tool is answered like any other.
func HideUnless(mode Mode) ToolOption {
	return func(o *toolOptions) error {
		if mode != FormMode && mode != URLMode {
			return fmt.Errorf("elicit: %q is no mode of asking", mode)
		}
		o.hidden = mode
		return nil
	}
}

// hide is a receiving middleware that leaves tools out of lists.
func (s *Server) hide(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, req)
		list, ok := result.(*mcp.ListToolsResult)
		request, isList := req.(*mcp.ListToolsRequest)
		if err != nil || !ok || !isList || list == nil {
			return result, err
		}
		s.mu.RLock()
		defer s.mu.RUnlock()
		if len(s.hidden) == 0 {
			return list, nil
		}
		can := askable(request)
		list.Tools = slices.DeleteFunc(list.Tools, func(tool *mcp.Tool) bool {
			mode, hidden := s.hidden[tool.Name]
			return hidden && !can.has(mode)
		})
		list.CacheScope = "private" // on each page, whether or not something is missing there
		return list, nil
	}
}
