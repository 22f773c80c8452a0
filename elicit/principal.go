package elicit

import (
	"context"

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

// tokenPrincipal takes the subject from the access token that the SDK's
// middleware verified. The token has no issuer and no tenant (auth.TokenInfo),
// so a server that accepts several issuers sets [Options.Principal]. Nothing else
// that a client says counts (MCP 2026-07-28 elicitation, "Identifying the User" S1,
// S2, and MCP 2026-07-28 elicitation, "Statefulness" S3).
func tokenPrincipal(_ context.Context, extra *mcp.RequestExtra) (Principal, error) {
	if extra == nil || extra.TokenInfo == nil {
		return Principal{}, nil
	}
	return Principal{Subject: extra.TokenInfo.UserID}, nil
}
