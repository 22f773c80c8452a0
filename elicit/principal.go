package elicit

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Principal is the verified person behind a call. The zero Principal is
// anonymous: then a request state is a bearer token, and whoever has it can go
// on with the call.
type Principal struct {
	Issuer  string // who vouches for the person, such as the URL of an OpenID provider
	Tenant  string // part of the issuer that the subject belongs to; often empty
	Subject string // the person, as the issuer names them
}

// IsZero reports whether the principal is anonymous.
func (p Principal) IsZero() bool { return p == Principal{} }

// Local is the principal behind a program on stdio ([Serve]): whoever started
// it. An [Options.Principal] that serves stdio too returns it for requests that
// have neither a token nor headers.
var Local = Principal{Issuer: "stdio", Subject: "local"}

// ErrUnavailable is wrapped by the error of an [Options.Principal] that could not find
// out who the person is, as when a store is away. Nothing runs, as with any other error,
// but the client is told that the server has trouble (HTTP 503, or JSON-RPC error -32603)
// and not that the person is refused, which would end its session.
var ErrUnavailable = errors.New("elicit: who the person is cannot be found out at the moment")

// FromToken returns an [Options.Principal] for access tokens of one issuer, as
// the SDK's auth.RequireBearerToken verifies them. A request without a token, or
// whose token names no user, is refused.
//
// The token that the SDK hands on has a user id and neither issuer nor tenant
// (auth.TokenInfo): a server that accepts several writes a function of its own.
func FromToken(issuer string) func(context.Context, *mcp.RequestExtra) (Principal, error) {
	return func(_ context.Context, extra *mcp.RequestExtra) (Principal, error) {
		if extra == nil || extra.TokenInfo == nil || extra.TokenInfo.UserID == "" {
			return Principal{}, errors.New("elicit: no access token that names a user")
		}
		return Principal{Issuer: issuer, Subject: extra.TokenInfo.UserID}, nil
	}
}

// identify asks for the principal behind a request. The author's function gets
// something to look at on stdio too, and its panic, which would end the process,
// refuses the request.
func (s *Server) identify(ctx context.Context, extra *mcp.RequestExtra) (p Principal, err error) {
	defer func() {
		if value := recover(); value != nil {
			s.log.Error("Options.Principal panicked", "panic", fmt.Sprint(value), "stack", string(debug.Stack()))
			p, err = Principal{}, errors.New("elicit: Options.Principal panicked")
		}
	}()
	if extra == nil {
		extra = &mcp.RequestExtra{}
	}
	return s.principal(ctx, extra)
}

// localKey is the context key of requests that [Serve] reads.
type localKey struct{}

// withoutToken is the principal where no option says whose tokens count: the
// local person, or anonymous. A verified token belongs to somebody, and whom a
// user id names without its issuer nobody knows, so such a request is refused.
// Nothing else that a client says counts (MCP 2026-07-28 elicitation,
// "Identifying the User" S1, S2, and MCP 2026-07-28 elicitation, "Statefulness" S3).
func withoutToken(ctx context.Context, extra *mcp.RequestExtra) (Principal, error) {
	switch {
	case extra != nil && extra.TokenInfo != nil:
		return Principal{}, errors.New("elicit: a request has an access token, and Options.Principal is not set")
	case ctx.Value(localKey{}) != nil:
		return Local, nil
	}
	return Principal{}, nil
}
