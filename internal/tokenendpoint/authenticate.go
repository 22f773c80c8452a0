package tokenendpoint

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/url"
	"time"
)

// The methods of authentication, by their names in RFC 8414 and RFC 7591. There
// is no default: a wrong guess sends a single-use code twice, which burns it.
const (
	MethodNone          = "none"                // a public client: client_id in the body
	MethodBasic         = "client_secret_basic" // RFC 6749, section 2.3.1; nothing in the body
	MethodPost          = "client_secret_post"  // client_id and client_secret in the body; an empty secret is left out
	MethodPrivateKeyJWT = "private_key_jwt"     // RFC 7523: RS256, ES256 or EdDSA, as the key is
)

// assertionLifetime is short: the assertion is used at once, but clocks differ.
const assertionLifetime = 5 * time.Minute

// authenticate adds what says who the client is to the form or to the header,
// never to both: some servers refuse two methods in one request (RFC 6749,
// section 2.3).
func (r *request) authenticate(header http.Header) error {
	c := r.client
	if c.ID == "" {
		return unusable("the client has no id")
	}
	r.secrets = append(r.secrets, c.Secret)
	switch c.Method {
	case MethodNone:
		r.form.Set("client_id", c.ID)
	case MethodPost:
		r.form.Set("client_id", c.ID)
		setSecret(r.form, "client_secret", c.Secret)
	case MethodBasic:
		// RFC 6749, section 2.3.1: both are form-encoded first.
		plain := url.QueryEscape(c.ID) + ":" + url.QueryEscape(c.Secret.Reveal())
		header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(plain)))
	case MethodPrivateKeyJWT:
		audience := r.issuer
		if audience == "" {
			audience = r.to
		}
		assertion, err := assert(c.PrivateKey.Reveal(), c.ID, audience, time.Now())
		if err != nil {
			return unusable("the client's assertion: " + err.Error())
		}
		r.form.Set("client_id", c.ID)
		r.form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		r.form.Set("client_assertion", assertion)
	default:
		return unusable("the client's method of authentication is not supported")
	}
	return nil
}

var errKey = errors.New("the key is not a PEM block (PKCS #8) with an RSA key of 2048 bits or more, an ECDSA key on P-256 or an Ed25519 key")

// assert makes a signed JWT (RFC 7523, section 3). It has no kid: the key set
// that the client has registered has to have this one key of its kind. No error
// repeats anything of the key.
func assert(keyPEM, id, audience string, now time.Time) (string, error) {
	block, _ := pem.Decode([]byte(keyPEM))
	if block == nil {
		return "", errKey
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return "", errKey
	}
	var algorithm string
	var sign func(text []byte) ([]byte, error)
	switch key := parsed.(type) {
	case *rsa.PrivateKey:
		if key.N.BitLen() < 2048 { // RFC 7518, section 3.3
			return "", errKey
		}
		algorithm = "RS256"
		sign = func(text []byte) ([]byte, error) {
			digest := sha256.Sum256(text)
			return rsa.SignPKCS1v15(nil, key, crypto.SHA256, digest[:])
		}
	case *ecdsa.PrivateKey:
		if key.Curve != elliptic.P256() {
			return "", errKey
		}
		algorithm = "ES256"
		sign = func(text []byte) ([]byte, error) { // RFC 7518, section 3.4: r and s, not ASN.1
			digest := sha256.Sum256(text)
			r, s, err := ecdsa.Sign(rand.Reader, key, digest[:])
			if err != nil {
				return nil, err
			}
			return append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...), nil
		}
	case ed25519.PrivateKey:
		algorithm = "EdDSA"
		sign = func(text []byte) ([]byte, error) { return ed25519.Sign(key, text), nil }
	default:
		return "", errKey
	}
	head, err := json.Marshal(map[string]string{"alg": algorithm, "typ": "JWT"})
	if err != nil {
		return "", err
	}
	claims, err := json.Marshal(map[string]any{
		"iss": id, "sub": id, "aud": audience, "jti": rand.Text(), "iat": now.Unix(), "exp": now.Add(assertionLifetime).Unix(),
	})
	if err != nil {
		return "", err
	}
	text := base64.RawURLEncoding.EncodeToString(head) + "." + base64.RawURLEncoding.EncodeToString(claims)
	signature, err := sign([]byte(text))
	if err != nil {
		return "", errors.New("signing failed")
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}
