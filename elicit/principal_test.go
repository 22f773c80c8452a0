package elicit_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/elicit"
	"github.com/parley-mcp/parley/elicit/elicittest"
)

// TestPrincipals is who stands behind a request: with and without a token, with
// and without an option, on both transports. What is not clear is refused.
func TestPrincipals(t *testing.T) {
	t.Parallel()
	const issuer = "https://id.example"
	for name, test := range map[string]struct {
		option func(context.Context, *mcp.RequestExtra) (elicit.Principal, error)
		token  string // the user that it names; "-" is a token without a user, "" no token
		want   elicit.Principal
		refuse bool
	}{
		"nobody":                        {nil, "", elicit.Principal{}, false},
		"token without the option":      {nil, "ada", elicit.Principal{}, true},
		"bare token without the option": {nil, "-", elicit.Principal{}, true},
		"token":                         {elicit.FromToken(issuer), "ada", elicit.Principal{Issuer: issuer, Subject: "ada"}, false},
		"token that names nobody":       {elicit.FromToken(issuer), "-", elicit.Principal{}, true},
		"no token":                      {elicit.FromToken(issuer), "", elicit.Principal{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, revision := range elicittest.Revisions {
				t.Run(revision, func(t *testing.T) {
					t.Parallel()
					server, handler := newServer(t, &elicit.Options{Principal: test.option})
					var got elicit.Principal
					elicit.AddTool(server, &mcp.Tool{Name: "who"}, func(_ context.Context, call *elicit.Call, _ none) (none, error) {
						got = call.Principal()
						return none{}, nil
					})
					if test.token != "" {
						handler = auth.RequireBearerToken(func(context.Context, string, *http.Request) (*auth.TokenInfo, error) {
							return &auth.TokenInfo{UserID: strings.Trim(test.token, "-"), Expiration: time.Now().Add(time.Hour)}, nil
						}, nil)(handler)
					}
					session, err := mcp.NewClient(&mcp.Implementation{Name: "c"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}}).Connect(t.Context(),
						&mcp.StreamableClientTransport{Endpoint: serve(t, handler), MaxRetries: -1, HTTPClient: withToken(test.token)}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
					if err == nil {
						t.Cleanup(func() { session.Close() })
						_, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "who", Arguments: none{}})
					}
					if (err != nil) != test.refuse || got != test.want {
						t.Errorf("principal %+v, error %v", got, err)
					}
				})
			}
		})
	}
}

// withToken is a client that sends a bearer token, if there is one.
func withToken(token string) *http.Client {
	if token == "" {
		return nil
	}
	return &http.Client{Transport: roundTripper(func(req *http.Request) (*http.Response, error) {
		req = req.Clone(req.Context())
		req.Header.Set("Authorization", "Bearer t")
		return http.DefaultTransport.RoundTrip(req)
	})}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// TestLocal is the principal of a program on stdio, unless an option decides.
func TestLocal(t *testing.T) {
	t.Parallel()
	bob := elicit.Principal{Issuer: "passwd", Subject: "bob"}
	for name, test := range map[string]struct {
		option func(context.Context, *mcp.RequestExtra) (elicit.Principal, error)
		want   elicit.Principal
		refuse bool
	}{
		"local":    {nil, elicit.Local, false},
		"an other": {func(context.Context, *mcp.RequestExtra) (elicit.Principal, error) { return bob, nil }, bob, false},
		"panics": {func(context.Context, *mcp.RequestExtra) (elicit.Principal, error) {
			panic("no such table")
		}, elicit.Principal{}, true},
		"looks at headers": {byHeader, elicit.Principal{}, false},
		"refused": {func(context.Context, *mcp.RequestExtra) (elicit.Principal, error) {
			return elicit.Principal{}, errors.New("nobody")
		}, elicit.Principal{}, true},
	} {
		for _, revision := range elicittest.Revisions {
			t.Run(name+"/"+revision, func(t *testing.T) {
				t.Parallel()
				server, _ := newServer(t, &elicit.Options{Principal: test.option})
				var got elicit.Principal
				elicit.AddTool(server, &mcp.Tool{Name: "who"}, func(_ context.Context, call *elicit.Call, _ none) (none, error) {
					got = call.Principal()
					return none{}, nil
				})
				_, err := elicittest.ConnectPipes(t, server, revision, nil, nil).Call(t.Context(), "who", none{})
				if (err != nil) != test.refuse || got != test.want {
					t.Errorf("principal %+v, error %v", got, err)
				}
			})
		}
	}
}

// TestPrincipalUnavailable: a store that is away refuses nobody. Nothing runs, and the
// client is told to come back; any other error is still a refusal.
func TestPrincipalUnavailable(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err    error
		legacy int
		modern string
	}{
		"away":    {fmt.Errorf("s3ntinel: %w", elicit.ErrUnavailable), http.StatusServiceUnavailable, `"code":-32603`},
		"refused": {errors.New("s3ntinel"), http.StatusForbidden, `"code":-32600`},
	} {
		server, handler := newServer(t, &elicit.Options{Principal: func(context.Context, *mcp.RequestExtra) (elicit.Principal, error) {
			return elicit.Principal{}, test.err
		}})
		elicit.AddTool(server, &mcp.Tool{Name: "delete"}, func(context.Context, *elicit.Call, none) (none, error) {
			t.Errorf("%s: the tool ran", name)
			return none{}, nil
		})
		w := post(handler, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"delete","arguments":{},"_meta":{`+
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`)
		if !strings.Contains(w.Body.String(), test.modern) || strings.Contains(w.Body.String(), "s3ntinel") {
			t.Errorf("%s, modern: %d %s", name, w.Code, w.Body)
		}
		r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/", strings.NewReader(
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		w = httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != test.legacy || (w.Header().Get("Retry-After") != "") != (name == "away") || strings.Contains(w.Body.String(), "s3ntinel") {
			t.Errorf("%s, legacy: %d %s", name, w.Code, w.Body)
		}
	}
}
