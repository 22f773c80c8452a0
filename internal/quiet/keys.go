package quiet

import (
	"strings"
	"unicode"
)

// private are the words that make a key private, wherever in it they stand:
// "token" covers access_token, sessionToken and x-token.
var private = wordSet(`
	token bearer authorization credential credentials cookie
	secret password passwd passphrase otp
	answer answers content input inputs typed
	argument arguments args
	state memo memos
	query fragment userinfo
	header headers env environ environment
	schema body payload
`)

// privatePairs are words that are private only together: "key" alone is often
// the name of a field.
var privatePairs = wordSet("api key|private key|signing key|idempotency key|session id")

// public are keys that look private and are not.
var public = wordSet("content type|content length|token count")

func wordSet(s string) map[string]bool {
	set := map[string]bool{}
	if strings.Contains(s, "|") {
		for w := range strings.SplitSeq(s, "|") {
			set[w] = true
		}
		return set
	}
	for w := range strings.FieldsSeq(s) {
		set[w] = true
	}
	return set
}

// isPrivate reports whether values under key are withheld.
func isPrivate(key string) bool {
	words := split(key)
	if public[strings.Join(words, " ")] {
		return false
	}
	for i, w := range words {
		// A plural in "s" is as private as its word.
		if private[w] || private[strings.TrimSuffix(w, "s")] {
			return true
		}
		if i > 0 && privatePairs[words[i-1]+" "+strings.TrimSuffix(w, "s")] {
			return true
		}
	}
	return private[strings.Join(words, "")] || privatePairs[strings.Join(words, "")] || joined[strings.Join(words, "")]
}

// joined are the pairs as they are written without a break.
var joined = map[string]bool{"apikey": true, "privatekey": true, "signingkey": true, "idempotencykey": true, "sessionid": true, "requeststate": true, "setcookie": true}

// split cuts a key into its words, in lower case: at what is no letter or digit,
// and where a capital follows a small letter.
func split(key string) []string {
	var words []string
	var word strings.Builder
	end := func() {
		if word.Len() > 0 {
			words = append(words, word.String())
			word.Reset()
		}
	}
	var before rune
	for _, r := range key {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			end()
		} else {
			if unicode.IsUpper(r) && !unicode.IsUpper(before) {
				end()
			}
			word.WriteRune(unicode.ToLower(r))
		}
		before = r
	}
	end()
	return words
}
