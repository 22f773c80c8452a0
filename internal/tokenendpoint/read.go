package tokenendpoint

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"math"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/parley-mcp/parley/vault"
)

// readBody reads at most MaxResponse bytes. Some servers compress unasked.
func readBody(from *http.Response) ([]byte, error) {
	wire := &io.LimitedReader{R: from.Body, N: MaxResponse + 1}
	var body io.Reader = wire
	switch strings.ToLower(from.Header.Get("Content-Encoding")) {
	case "", "identity":
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(wire)
		if err != nil {
			return nil, errEncoding
		}
		body = io.LimitReader(z, MaxResponse+1)
	default:
		return nil, errEncoding
	}
	var text bytes.Buffer
	_, err := text.ReadFrom(body)
	switch {
	case text.Len() > MaxResponse || wire.N <= 0:
		return nil, errTooLarge
	case errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader):
		return nil, errEncoding
	case err != nil:
		return nil, err
	}
	return text.Bytes(), nil
}

// A result is what a body says: an error, tokens, or neither.
type result struct {
	failed bool   // it has an error
	code   string // of the error; may be empty
	reply  Reply
	why    error // why there is neither; repeats nothing of the body
}

var (
	errFormat  = errors.New("the response is neither a JSON object nor a form")
	errNoToken = errors.New("the response has no access_token that can be used")
)

// read reads JSON whatever its type says, since many servers label it wrongly,
// and a form only where the type allows one.
func read(body []byte, contentType string) result {
	body = bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")))
	if len(body) > 0 && body[0] == '{' {
		var fields map[string]json.RawMessage
		if json.Unmarshal(body, &fields) != nil { // its error quotes the text
			return result{why: errFormat}
		}
		return readFields(fields)
	}
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil && contentType != "" || kind != "application/x-www-form-urlencoded" && kind != "text/plain" && kind != "" {
		return result{why: errFormat}
	}
	form, err := url.ParseQuery(string(body))
	if err != nil || !form.Has("access_token") && !form.Has("error") {
		return result{why: errFormat}
	}
	fields := map[string]json.RawMessage{}
	for name, values := range form {
		if text, err := json.Marshal(values[0]); err == nil { // a string always is
			fields[name] = text
		}
	}
	return readFields(fields)
}

// readFields reads a response (RFC 6749, sections 5.1 and 5.2).
func readFields(fields map[string]json.RawMessage) result {
	if code, failed := readError(fields["error"]); failed {
		return result{failed: true, code: code}
	}
	access := visible(fields["access_token"])
	if access == "" {
		return result{why: errNoToken}
	}
	return result{reply: Reply{
		Tokens: vault.Tokens{
			Access:   vault.NewSecret(access),
			Refresh:  vault.NewSecret(visible(fields["refresh_token"])),
			Type:     visible(fields["token_type"]),
			Lifetime: lifetime(fields["expires_in"]),
			Scopes:   scopes(fields["scope"]),
		},
		ID: vault.NewSecret(visible(fields["id_token"])),
	}}
}

// readError reads the error field: a code, or an object as Facebook's. null, ""
// and false are no errors.
func readError(raw json.RawMessage) (code string, failed bool) {
	switch string(raw) {
	case "", "null", "false", `""`:
		return "", false
	}
	if json.Unmarshal(raw, &code) == nil {
		return cleanCode(code), true
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) == nil {
		for _, name := range []string{"error", "code", "type", "status"} {
			if code = cleanCode(visible(object[name])); code != "" {
				return code, true
			}
		}
	}
	return "", true
}

// visible reads a string of the characters that RFC 6749, appendix A allows
// (VSCHAR): what goes into headers must not break them. Everything else is as if
// it were not there.
func visible(raw json.RawMessage) string {
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

// scopes reads a text, or a list of texts as some servers send. nil is none; an
// empty text is none either (RFC 6749, section 3.3). Servers that put commas
// between scopes are known by one text with commas and no space.
func scopes(raw json.RawMessage) []string {
	var list []string
	if json.Unmarshal(raw, &list) != nil {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			return nil
		}
		list = strings.Fields(text)
		if len(list) == 1 && strings.Contains(list[0], ",") {
			list = strings.Split(list[0], ",")
		}
	}
	var clean []string
	for _, one := range list {
		if one != "" && !strings.ContainsFunc(one, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }) {
			clean = append(clean, one)
		}
	}
	return clean
}

// maxLifetime is the longest that is believed.
const maxLifetime = 10 * 365 * 24 * time.Hour

// lifetime reads a number of seconds: 3600, 3600.0, "3600". What cannot be read
// is no reason to throw tokens away, and a lifetime of 0 or less says nothing.
func lifetime(raw json.RawMessage) time.Duration {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		s = string(raw)
	}
	d, _ := decimalSeconds(strings.TrimSpace(s))
	return d
}

var decimal = regexp.MustCompile(`^[0-9]{1,20}(\.[0-9]{1,20})?([eE]\+?[0-9]{1,2})?$`)

// decimalSeconds reads a decimal number, and not the other texts that strconv
// takes for one.
func decimalSeconds(s string) (time.Duration, bool) {
	if !decimal.MatchString(s) {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, false
	}
	return time.Duration(math.Floor(min(f, maxLifetime.Seconds()))) * time.Second, true
}
