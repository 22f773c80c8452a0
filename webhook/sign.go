package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Headers of Standard Webhooks.
const (
	headerID        = "Webhook-Id"
	headerTimestamp = "Webhook-Timestamp"
	headerSignature = "Webhook-Signature"
)

// Tolerance is how far the time of a message may be from now. An older one may be one
// that somebody recorded and sends again.
const Tolerance = 5 * time.Minute

// ErrSignature is the one answer of [Verify] to everything that is wrong.
var ErrSignature = errors.New("webhook: the message is not signed with this secret, or too old")

func sign(key []byte, id, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// Verify reports whether a message was signed with the secret ("whsec_...") within
// [Tolerance]. A receiver calls it before it reads the body, and drops messages with a
// webhook-id that it has seen.
func Verify(secret string, header http.Header, body []byte) error {
	return verify(secret, header, body, time.Now())
}

func verify(secret string, header http.Header, body []byte, now time.Time) error {
	text, ok := strings.CutPrefix(secret, secretPrefix)
	key, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil || len(key) < minSecret {
		return errors.New("webhook: the secret cannot be read")
	}
	id, timestamp := header.Get(headerID), header.Get(headerTimestamp)
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if id == "" || err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > Tolerance {
		return ErrSignature
	}
	want := []byte(sign(key, id, timestamp, body))
	// Several signatures, with a space between, while a secret is replaced.
	for got := range strings.FieldsSeq(header.Get(headerSignature)) {
		if hmac.Equal([]byte(got), want) {
			return nil
		}
	}
	return ErrSignature
}
