package vault

import "time"

// Client is a registration at an authorization server: by hand, or as a
// dynamic one (RFC 7591).
type Client struct {
	Issuer            string
	Name              string // which of several at the issuer; empty: the default one
	ID                string
	Secret            Secret
	Method            string // token_endpoint_auth_method (RFC 7591 2), such as client_secret_basic or none
	PrivateKey        Secret // PEM, for private_key_jwt
	SecretExpires     time.Time
	RedirectURIs      []string
	RegistrationURI   string // RFC 7592
	RegistrationToken Secret
}
