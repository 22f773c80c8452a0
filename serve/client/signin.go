package client

import (
	"context"

	"github.com/parley-mcp/parley/link"
)

// A SignInPage is where a person has to go to sign in to a server. Pages show the
// domain of Link before they open URL.
type SignInPage struct {
	URL    string       `json:"url" doc:"good for ten minutes, and for this person alone"`
	Link   *link.Report `json:"link" doc:"what the address really is"`
	Issuer string       `json:"issuer"`
	Scopes []string     `json:"scopes" doc:"what is asked for"`
}

// A SignInReply is what the browser brought back from an authorization server, each
// parameter as it came and once.
type SignInReply struct {
	State  string `json:"state"`
	Code   string `json:"code"`
	Issuer string `json:"iss"`
	Error  string `json:"error"`
	Via    string `json:"via,omitempty" enum:"chat,inbox,terminal,api"`
}

// A SignInResult is how a sign-in to a server ended.
type SignInResult struct {
	Server   string   `json:"server"`
	Outcome  string   `json:"outcome" doc:"\"done\", \"denied\" or \"other_account\""`
	Account  string   `json:"account,omitempty"`
	Before   string   `json:"before,omitempty" doc:"of other_account: who is signed in still"`
	Decision string   `json:"decision,omitempty" doc:"of other_account: what POST /v1/servers/{id}/account takes, within ten minutes"`
	Missing  []string `json:"missing" doc:"asked for and not allowed"`
	Resumed  int      `json:"resumed" doc:"calls that go on"`
}

// An AccountChoice says whether another account replaces the one that is signed in.
type AccountChoice struct {
	Decision string `json:"decision"`
	Replace  bool   `json:"replace"`
	Via      string `json:"via,omitempty" enum:"chat,inbox,terminal,api"`
}

// SignIn begins a sign-in to a server and returns the page to go to.
func (c *Client) SignIn(ctx context.Context, server string) (*SignInPage, error) {
	return post[SignInPage](ctx, c, place("/v1/servers/{id}/sign-in", server), "", nil)
}

// SignedIn finishes a sign-in with what the browser brought back.
func (c *Client) SignedIn(ctx context.Context, reply SignInReply) (*SignInResult, error) {
	return post[SignInResult](ctx, c, "/v1/servers/sign-in/callback", "", reply)
}

// ChooseAccount decides about another account than the one that is signed in.
func (c *Client) ChooseAccount(ctx context.Context, server string, choice AccountChoice) (*SignInResult, error) {
	return post[SignInResult](ctx, c, place("/v1/servers/{id}/account", server), "", choice)
}

// A SignOutResult is what came of signing out of a server. The sign-in is gone from this
// host, whatever Revoked says.
type SignOutResult struct {
	Server  string `json:"server"`
	Revoked string `json:"revoked" doc:"what became of it at the authorization server: \"revoked\", \"pending\" (it did not confirm it, and is asked again), \"not_offered\" or \"nothing\" (nobody was signed in)"`
}

// SignOut ends what the person was given for a server.
func (c *Client) SignOut(ctx context.Context, server string) (*SignOutResult, error) {
	return post[SignOutResult](ctx, c, place("/v1/servers/{id}/sign-out", server), "", nil)
}
