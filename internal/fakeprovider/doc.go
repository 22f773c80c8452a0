// Package fakeprovider is an OAuth 2 authorization server for tests: real HTTP,
// with a memory instead of a database, that misbehaves on demand.
//
// It has what this module's clients speak to: metadata (RFC 8414), dynamic
// registration (RFC 7591), an authorization endpoint that consents at once
// (RFC 6749 with PKCE, RFC 7636, and RFC 9207's iss), a token endpoint with
// refresh tokens that are used once, revocation (RFC 7009), and a resource that
// wants its tokens (RFC 6750, RFC 9728). It is strict: a client that
// authenticates in another way than it registered, or that uses a refresh token
// twice, is refused and counted.
//
// [Start] runs it within a test, [New] makes a handler, and the command in
// cmd/fakeprovider is the same in a process of its own. What a test does with
// methods it can do over HTTP too, below /-/ : see [Server.Misbehave].
//
//	POST /-/grant       {"client","subject","scope"}     -> {"refresh_token","access_token"}
//	POST /-/misbehave   {"endpoint","fault":{...}}
//	GET  /-/counts      -> the [Counts]
//
// Nothing in it is for production: it keeps secrets in the clear and everybody
// consents to everything.
package fakeprovider
