// Package tokenendpoint talks to the token and revocation endpoints of OAuth 2
// authorization servers (RFC 6749, RFC 7009, RFC 8707): it is the
// [vault.Endpoint] that refreshes and revokes, and it exchanges codes for
// sign-in.
//
// It differs from golang.org/x/oauth2 where that costs grants or secrets:
//
//   - One call is one request. How the client authenticates is said, never
//     tried out, and no request is repeated, not even by net/http.
//   - Redirects are not followed: a 307 would carry code, verifier and secret to
//     another host.
//   - A response is bounded in size, before and after decompression, and in time
//     as a whole.
//   - What providers get wrong without harm is read: lifetimes as texts or with a
//     fraction, JSON that is labelled as text, forms, errors with status 200 or as
//     objects. Only a response without a usable access token is unreadable: a
//     strange lifetime must not cost the refresh token beside it.
//   - An error tells apart what matters to the owner of a grant that rotates: the
//     request did not arrive, may have arrived, or was answered, and how
//     ([vault.Class]).
//   - No error repeats anything that the server sent, except a code of letters
//     that holds no part of the secrets of its request.
//
// The address guard, and the limits of the connection and of a response's head,
// are those of the HTTP client: package egress makes one. Connections should not
// be kept alive: one that the server closes just then looks as if the request
// may have arrived.
//
// Clients authenticate with none, client_secret_basic, client_secret_post or
// private_key_jwt, by their names in RFC 8414. Mutual TLS and DPoP are not
// supported.
package tokenendpoint
