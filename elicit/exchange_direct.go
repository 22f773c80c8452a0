package elicit

import (
	"errors"
	"net/http"
	"reflect"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// NewDirectHTTPHandler returns a handler that answers as that of
// [NewHTTPHandler] does, with less work: modern requests for what was added to
// this Server get no session of their own, and nothing of the SDK's connections
// runs for them. Everything else is served as before: lists, what was added to
// the MCP server alone, legacy clients, and whatever is unusual in a request.
//
// It is an error if the MCP server has middleware of its author's, which could
// do nothing with the session that is there. If middleware is added later,
// requests get sessions from then on, and the log says so.
func NewDirectHTTPHandler(s *Server, options *HTTPOptions) (http.Handler, error) {
	if chains, _ := chainsOf(s.mcp); s.foreign || chains != s.own {
		return nil, errors.New("elicit: the MCP server has middleware, and requests to a direct handler have no session for it: use NewHTTPHandler, or put the middleware around the HTTP handler")
	}
	return newHandler(s, options, true), nil
}

// chains tell the outermost middlewares of a server from others, by where
// their code is.
type chains struct{ receiving, sending uintptr }

// chainsOf looks at a server's middleware by adding one that adds nothing. It
// also returns the outermost, which handles all requests.
func chainsOf(server *mcp.Server) (c chains, receive mcp.MethodHandler) {
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		receive = next
		return next
	})
	server.AddSendingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		c.sending = reflect.ValueOf(next).Pointer()
		return next
	})
	c.receiving = reflect.ValueOf(receive).Pointer()
	return c, receive
}

// bareServer is chainsOf a server to which nobody has added middleware. What handles
// its requests serves any session, on behalf of the session's own server.
var bareServer = sync.OnceValues(func() (chains, mcp.MethodHandler) {
	return chainsOf(mcp.NewServer(&mcp.Implementation{Name: "bare"}, nil))
})
