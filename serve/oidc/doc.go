// Package oidc signs people in to a host with OpenID Connect: the authorization code
// flow with PKCE, and a session in a cookie.
//
//	browser ── GET /sign-in ───────────▶ a fresh session; to the provider, with state, nonce and challenge
//	browser ── GET /sign-in/callback ──▶ code for ID token; the session gets a new name and a principal
//	browser ── POST /sign-out ─────────▶ the session is gone
//
// The principal is the issuer and the subject of the ID token, byte for byte, and the
// tenant claim if one is named. Names and addresses of mail are for showing only: they
// change hands.
//
// # Sessions
//
// A session lives in the host's own store, sealed, under a digest of the cookie's
// value, so all machines on a store know it and a copy of the store signs nobody in.
// The cookie has the prefix __Host- (RFC 6265bis 4.1.3.2), is Secure, HttpOnly and
// SameSite=Lax. Package serve refuses requests that change something and come from
// another site.
//
// # What is checked on the way back
//
// The state belongs to this browser's session and is used up before the code is
// exchanged. iss must be the provider (RFC 9207). The ID token must be signed by the
// provider, for this client, with this sign-in's nonce. A parameter that comes twice
// is refused (RFC 6749 3.1). No text of the provider is shown.
package oidc
