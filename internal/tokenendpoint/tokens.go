package tokenendpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"mime"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Tokens are what a token endpoint granted (RFC 6749, section 5.1). They do not
// print, and are handed around by pointer so that fmt does not reach them
// through a private field either.
type Tokens struct {
	Access  string
	Refresh string // empty: none was sent, so the old one stays
	ID      string // id_token, not verified

	// Type is token_type as it was sent, or "Bearer" if it was not. RFC 6749,
	// section 7.1 forbids the use of a token of an unknown type.
	Type string

	// ExpiresIn is how long the access token is valid from the receipt of the
	// response. 0: the server did not say, in a way that can be read; such a token
	// is valid until it is refused. At most [MaxLifetime].
	ExpiresIn time.Duration
	// RefreshExpiresIn is the same of the refresh token, which some servers send.
	RefreshExpiresIn time.Duration

	// Scope is the scope that was granted, as it was sent. ScopeSent is false if
	// the server sent none, which means: as requested (RFC 6749, section 5.1).
	Scope     string
	ScopeSent bool
}

// MaxLifetime is the longest time that is believed.
const MaxLifetime = 10 * 365 * 24 * time.Hour

// Missing returns which of the requested scopes were not granted. Servers may
// grant less than was asked.
func (t *Tokens) Missing(requested []string) []string {
	if !t.ScopeSent {
		return nil
	}
	granted := map[string]bool{}
	for _, s := range strings.Fields(t.Scope) {
		granted[s] = true
		for one := range strings.SplitSeq(s, ",") { // Slack, GitHub and others
			granted[one] = true
		}
	}
	var missing []string
	for _, s := range requested {
		if !granted[s] {
			missing = append(missing, s)
		}
	}
	return missing
}

const withheldTokens = "tokenendpoint.Tokens(withheld)"

// Format implements [fmt.Formatter].
func (t Tokens) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, withheldTokens) }

// LogValue implements [slog.LogValuer].
func (t Tokens) LogValue() slog.Value { return slog.StringValue(withheldTokens) }

// MarshalJSON refuses.
func (t Tokens) MarshalJSON() ([]byte, error) { return nil, errPrinted }

// A result is what a body says.
type result struct {
	failed bool   // it has an error
	code   string // of the error; may be empty
	tokens *Tokens
	why    error // why there are no tokens; repeats nothing of the body
}

var (
	errNotFound = errors.New("it is neither a JSON object nor a form")
	errNoToken  = errors.New("it has no access_token that can be used")
)

// readReply reads JSON whatever its type says, since many servers label it
// wrongly, and a form only where the type allows one.
func readReply(body []byte, contentType string) result {
	body = bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")))
	if len(body) > 0 && body[0] == '{' {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(body, &fields); err != nil {
			return result{why: errNotFound} // the parser's error quotes the text
		}
		return readFields(fields)
	}
	switch kind, _, err := mime.ParseMediaType(contentType); {
	case err != nil && contentType != "":
	case kind == "application/x-www-form-urlencoded", kind == "text/plain", kind == "":
		form, err := url.ParseQuery(string(body))
		if err != nil || !form.Has("access_token") && !form.Has("error") {
			break
		}
		fields := map[string]json.RawMessage{}
		for name, values := range form {
			text, err := json.Marshal(values[0])
			if err != nil {
				continue // cannot be
			}
			fields[name] = text
		}
		return readFields(fields)
	}
	return result{why: errNotFound}
}

func readFields(fields map[string]json.RawMessage) result {
	if code, failed := readError(fields["error"]); failed {
		return result{failed: true, code: code}
	}
	access := text(fields["access_token"])
	if access == "" {
		return result{why: errNoToken}
	}
	t := &Tokens{
		Access: access, Refresh: text(fields["refresh_token"]), ID: text(fields["id_token"]), Type: text(fields["token_type"]),
		ExpiresIn: lifetime(fields["expires_in"]),
	}
	if t.Type == "" {
		t.Type = "Bearer"
	}
	for _, name := range []string{"refresh_token_expires_in", "refresh_expires_in"} { // GitHub and others; Keycloak
		t.RefreshExpiresIn = max(t.RefreshExpiresIn, lifetime(fields[name]))
	}
	t.Scope, t.ScopeSent = scope(fields["scope"])
	return result{tokens: t}
}

// readError reads the error field: a code, or an object as Facebook's. null, ""
// and false are no errors.
func readError(raw json.RawMessage) (code string, failed bool) {
	switch string(raw) {
	case "", "null", "false", `""`:
		return "", false
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &code) == nil {
		return cleanCode(code), true
	}
	if json.Unmarshal(raw, &object) == nil {
		for _, name := range []string{"error", "code", "type", "status"} {
			if code = cleanCode(text(object[name])); code != "" {
				return code, true
			}
		}
	}
	return "", true
}

// text reads a string of visible characters (RFC 6749, appendix A: VSCHAR, or a
// part of it): what goes into headers must not break them. Everything else is as
// if it were not there.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return ""
		}
	}
	return s
}

// scope reads a text, or a list of texts as some servers send.
func scope(raw json.RawMessage) (string, bool) {
	var list []string
	if json.Unmarshal(raw, &list) == nil && len(list) > 0 {
		return strings.Join(list, " "), true
	}
	var s *string
	if json.Unmarshal(raw, &s) == nil && s != nil && *s != "" { // an empty one is none: RFC 6749, section 3.3
		return *s, true
	}
	return "", false
}

// lifetime reads a number of seconds: 3600, 3600.0, "3600". What cannot be read
// is no reason to throw tokens away, and a lifetime of 0 or less is none.
func lifetime(raw json.RawMessage) time.Duration {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		s = string(raw)
	}
	d, _ := decimalSeconds(strings.TrimSpace(s))
	return min(d, MaxLifetime)
}

var decimal = regexp.MustCompile(`^[0-9]{1,20}(\.[0-9]{1,20})?([eE]\+?[0-9]{1,2})?$`)

// decimalSeconds reads a decimal number, not one of the other texts that
// strconv takes for one.
func decimalSeconds(s string) (time.Duration, bool) {
	if !decimal.MatchString(s) {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, false
	}
	return time.Duration(math.Min(math.Floor(f), MaxLifetime.Seconds())) * time.Second, true
}
