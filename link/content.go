package link

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// tail judges path, query and fragment.
func (in *inspection) tail(tail string) {
	if tail != "" && tail[0] != '/' {
		// "https://bank.example#@evil.com/": no slash ends the name of the site.
		if part, _, _ := strings.Cut(tail[1:], "/"); strings.ContainsAny(part, ".@") {
			in.add(Note, "host_ends_early", "The name of the site ends before the %{sign} sign: this is %{host}.", "sign", tail[:1], "host", in.Host)
		}
	}
	text := decode(tail)
	switch {
	case strings.ContainsFunc(text, unicode.IsControl):
		in.add(Warn, "control_encoded", "The address contains encoded control characters.")
	case strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Bidi_Control, r) }):
		in.add(Warn, "direction", "The address contains characters that reverse the direction of text. They are shown as percent codes.")
	case strings.ContainsFunc(text, hidden):
		in.add(Note, "hidden", "The address contains invisible characters. They are shown as percent codes.")
	}
	in.credentials(tail)
	in.embedded(tail)
}

// credentialKeys are parameters that sign in whoever opens the address.
var credentialKeys = strings.Fields(`access_token id_token refresh_token auth_token authtoken token jwt session session_id sessionid sessionkey
	sid jsessionid phpsessid api_key apikey password passwd pwd secret client_secret bearer authorization auth
	x_amz_signature x_goog_signature x_amz_security_token`)

// tokenKeys are parameters in which a signed token grants nothing: RFC 9101 request
// objects, state, and hints of OpenID Connect.
var tokenKeys = strings.Fields("request state nonce login_hint_token id_token_hint logout_token")

var jwtPattern = regexp.MustCompile(`^eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$`)

// credentials looks for an address that is itself a key.
//
// MCP 2026-07-28 elicitation, "Safe URL Handling" S2: servers must not provide a URL that
// is pre-authenticated to access a protected resource.
func (in *inspection) credentials(tail string) {
	for part := range strings.FieldsFuncSeq(tail, func(r rune) bool { return strings.ContainsRune("/?#&;", r) }) {
		key, value, ok := strings.Cut(part, "=")
		if !ok {
			key, value = "", part
		}
		key = strings.ReplaceAll(strings.ToLower(decode(key)), "-", "_")
		named := value != "" && slices.Contains(credentialKeys, key)
		if named || jwtPattern.MatchString(decode(value)) && !slices.Contains(tokenKeys, key) {
			in.add(Warn, "pre_authenticated", "The address seems to contain a password or key. Whoever has the address can use it.")
			return
		}
	}
}

// embedded looks for other sites inside the address, where a redirect could lead.
func (in *inspection) embedded(tail string) {
	var found []string
	for part := range strings.FieldsFuncSeq(tail, func(r rune) bool { return strings.ContainsRune("?#&;=", r) }) {
		text := decode(decode(part))
		for {
			i := strings.Index(text, "://")
			if i < 0 {
				break
			}
			web := strings.HasSuffix(strings.ToLower(text[:i]), "http") || strings.HasSuffix(strings.ToLower(text[:i]), "https")
			text = text[i+3:]
			end := strings.IndexFunc(text, func(r rune) bool { return strings.ContainsRune("/?#\\\"'<>& ", r) })
			if end < 0 {
				end = len(text)
			}
			name, _, ok := cutPort(text[strings.LastIndexByte(text[:end], '@')+1 : end])
			if !web || !ok {
				continue
			}
			if h, bad := parseHost(name); bad == nil && h.ascii != in.Host && !slices.Contains(found, h.ascii) {
				found = append(found, h.ascii)
			}
		}
	}
	if len(found) > 0 {
		list := quoteList(found, 3)
		in.add(Note, "contains_address", "The address contains another one and may forward you to it: %{hosts}.", "hosts", list)
	}
}
