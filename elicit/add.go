package elicit

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/yosida95/uritemplate/v3"
)

// AddTool adds a tool whose handler can ask. Schemas come from In and Out
// unless the tool has its own, as in [mcp.AddTool], and like there a tool that
// cannot be added is a panic: it is a mistake in the program.
//
// In the modern era the handler runs from the top in every round. What it does
// before its last question therefore happens several times: use [Memo] for
// lookups and [Call.IdempotencyKey] for writes, and write after the last
// question.
//
// A panic of the handler becomes an error result with an id that is in the
// log.
func AddTool[In, Out any](s *Server, tool *mcp.Tool, handler func(ctx context.Context, call *Call, in In) (Out, error), options ...ToolOption) {
	var set toolOptions
	for _, option := range options {
		if err := option(&set); err != nil {
			panic(fmt.Sprintf("elicit: tool %q: %s", tool.Name, strings.TrimPrefix(err.Error(), "elicit: ")))
		}
	}
	typed, err := newTypedTool[In, Out](tool)
	if err != nil {
		panic(fmt.Sprintf("elicit: tool %q: %v", tool.Name, err))
	}
	inputs := argumentNames(reflect.TypeFor[In]())
	s.mcp.AddTool(typed.tool, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		claim(ctx)
		in, err := typed.read(req.Params.Arguments)
		if err != nil {
			return errorResult(err)
		}
		r, refused := s.begin(ctx, toolIncoming(req, inputs))
		if refused != nil {
			return nil, refused
		}
		var out Out
		switch outcome := r.step(ctx, func(ctx context.Context, call *Call) (err error) {
			out, err = handler(ctx, call, in)
			return err
		}).(type) {
		case asks:
			requests, state, meta, err := r.inputRequired(outcome)
			if err != nil {
				return errorResult(err)
			}
			return &mcp.CallToolResult{Meta: meta, Content: []mcp.Content{}, InputRequests: requests, RequestState: state}, nil
		case failed:
			return errorResult(r.toolError(outcome.err))
		case final:
			return typed.result(out, outcome.content)
		}
		panic("elicit: unknown outcome") // step returns only these
	})
	s.know(methodTool, tool.Name)
	s.mu.Lock()
	defer s.mu.Unlock()
	if tool.InputSchema != nil {
		s.headers[tool.Name] = true
	}
	delete(s.hidden, tool.Name) // of a tool of the same name that this one replaces
	if set.hidden != "" {
		s.hidden[tool.Name] = set.hidden
	}
}

// AddPrompt adds a prompt whose handler can ask; see [AddTool] for how it runs.
// A prompt has no error results: declined, cancelled, expired and invalid are
// the JSON-RPC error -32000 with data.reason, and so is unanswerable in the
// legacy era. [Call.Content] does nothing here.
func AddPrompt(s *Server, prompt *mcp.Prompt, handler func(ctx context.Context, call *Call, arguments map[string]string) (*mcp.GetPromptResult, error)) {
	s.mcp.AddPrompt(prompt, func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		claim(ctx)
		in, err := promptIncoming(req, prompt)
		if err != nil {
			return nil, refuseWith(refuseArguments, err.Error())
		}
		r, refused := s.begin(ctx, in)
		if refused != nil {
			return nil, refused
		}
		var result *mcp.GetPromptResult
		switch outcome := r.step(ctx, func(ctx context.Context, call *Call) (err error) {
			result, err = handler(ctx, call, req.Params.Arguments)
			return err
		}).(type) {
		case asks:
			requests, state, meta, err := r.inputRequired(outcome)
			if err != nil {
				return nil, r.requestError(err)
			}
			return &mcp.GetPromptResult{Meta: meta, Messages: []*mcp.PromptMessage{}, InputRequests: requests, RequestState: state}, nil
		case failed:
			return nil, r.requestError(outcome.err)
		}
		if result == nil {
			return nil, r.requestError(errors.New("the prompt returned nothing"))
		}
		return result, nil
	})
	s.know(methodPrompt, prompt.Name)
}

// ResourceHandler reads the resource at a URI, and can ask.
type ResourceHandler func(ctx context.Context, call *Call, uri string) ([]*mcp.ResourceContents, error)

// AddResource adds a resource whose handler can ask. Errors are as for
// [AddPrompt].
func AddResource(s *Server, resource *mcp.Resource, handler ResourceHandler) {
	s.mcp.AddResource(resource, s.readResource(handler))
	s.know(methodResource, resource.URI)
}

// AddResourceTemplate adds resources whose handler can ask. Errors are as for
// [AddPrompt]. A template that is not one (RFC 6570) is a panic.
func AddResourceTemplate(s *Server, template *mcp.ResourceTemplate, handler ResourceHandler) {
	s.mcp.AddResourceTemplate(template, s.readResource(handler))
	pattern := uritemplate.MustNew(template.URITemplate)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.templates = append(s.templates, pattern)
}

func (s *Server) readResource(handler ResourceHandler) mcp.ResourceHandler {
	return func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		claim(ctx)
		r, refused := s.begin(ctx, resourceIncoming(req))
		if refused != nil {
			return nil, refused
		}
		var contents []*mcp.ResourceContents
		switch outcome := r.step(ctx, func(ctx context.Context, call *Call) (err error) {
			contents, err = handler(ctx, call, req.Params.URI)
			return err
		}).(type) {
		case asks:
			requests, state, meta, err := r.inputRequired(outcome)
			if err != nil {
				return nil, r.requestError(err)
			}
			return &mcp.ReadResourceResult{Meta: meta, Contents: []*mcp.ResourceContents{}, InputRequests: requests, RequestState: state}, nil
		case failed:
			return nil, r.requestError(outcome.err)
		}
		if contents == nil {
			contents = []*mcp.ResourceContents{} // the SDK takes nil for a mistake
		}
		// What was read after asking one person is not for another.
		return &mcp.ReadResourceResult{Contents: contents, Cacheable: mcp.Cacheable{CacheScope: "private"}}, nil
	}
}

// know notes that requests for the name are answered by this kit.
func (s *Server) know(method, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[method+" "+name] = true
}

// forget takes back what know noted.
func (s *Server) forget(method, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, method+" "+name)
}

// has reports whether a request is for something that was added here.
func (s *Server) has(method, name string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.known[method+" "+name] || method == methodResource &&
		slices.ContainsFunc(s.templates, func(t *uritemplate.Template) bool { return t.Regexp().MatchString(name) })
}

// plain reports whether requests for the name are answered by this kit and take
// no arguments from headers (x-mcp-header in a schema of the tool's own).
func (s *Server) plain(method, name string) bool {
	if !s.has(method, name) {
		return false
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return method != methodTool || !s.headers[name]
}

// toolError turns a handler's error into what the client gets: a JSON-RPC
// error, which the SDK wants unwrapped, or the text of an error result.
func (r *run) toolError(err error) error {
	var none *Unanswered
	if !errors.As(err, &none) {
		return err
	}
	if none.Outcome == Unanswerable && r.revision == rev20260728 {
		return errCapability(none)
	}
	return errors.New(none.result())
}

// requestError is the same for requests without error results.
func (r *run) requestError(err error) error {
	var none *Unanswered
	var wire *jsonrpc.Error
	switch {
	case errors.As(err, &none) && none.Outcome == Unanswerable && r.revision == rev20260728:
		return errCapability(none)
	case errors.As(err, &none):
		return errOutcome(none)
	case errors.As(err, &wire):
		return wire // the SDK keeps only unwrapped ones
	}
	return refuseWith(refuseFailed, err.Error())
}

// argumentNames returns the names of In's members in JSON.
func argumentNames(t reflect.Type) []string {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	var names []string
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			name = f.Name
		}
		if name != "-" && f.IsExported() && !f.Anonymous {
			names = append(names, name)
		}
	}
	return names
}

// noCaching is a receiving middleware that keeps questions out of caches:
// clients cache by URI, and would never send the answers.
func noCaching(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, req)
		if read, ok := result.(*mcp.ReadResourceResult); ok && read != nil && read.NeedsInput() {
			read.TTLMs = 0
		}
		return result, err
	}
}
