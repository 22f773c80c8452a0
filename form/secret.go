package form

import "strings"

// LooksSecret is true when a field seems to ask for something that must not
// go through a form (MCP 2026-07-28 elicitation, "User Interaction Model" S1:
// no passwords, API keys, access tokens or payment credentials in form mode). It reads only names, titles and descriptions of text
// fields, and is a warning to the person, not proof.
func LooksSecret(f *Field) bool {
	if f.Kind != Text && f.Kind != Integer && f.Kind != Number {
		return false
	}
	return secretWords(words(f.Name)) || secretWords(words(f.Title)) ||
		secretPhrase(strings.Join(words(f.Description), " "))
}

var secretWord = map[string]bool{
	"password": true, "passwd": true, "pwd": true, "passphrase": true, "passcode": true, "secret": true, "token": true,
	"apikey": true, "pin": true, "cvv": true, "cvc": true, "otp": true, "totp": true, "mnemonic": true,
	"credential": true, "credentials": true, "iban": true, "ssn": true, "privatekey": true, "secretkey": true,
}

var secretPairs = [...]string{
	"api key", "access key", "private key", "secret key", "ssl key", "signing key", "encryption key", "card number", "credit card",
	"security code", "one-time code", "one time code", "mfa code", "2fa code", "verification code", "seed phrase",
	"recovery phrase", "recovery code", "session cookie", "account key", "auth code",
}

func secretWords(ws []string) bool {
	for i, w := range ws {
		w = strings.ToLower(strings.Trim(w, `.,;:!?()"'`))
		if secretWord[w] {
			return true
		}
		ws[i] = w
	}
	return secretPair(strings.Join(ws, " "))
}

func secretPair(s string) bool {
	for _, p := range secretPairs {
		if strings.Contains(" "+s+" ", " "+p+" ") {
			return true
		}
	}
	return false
}

// secretPhrase is stricter: a description may talk about passwords without
// asking for one.
func secretPhrase(s string) bool {
	s = strings.ToLower(s)
	if secretPair(s) {
		return true
	}
	for _, lead := range [...]string{"your password", "your pin", "your token", "password of", "password for", "session token", "access token", "bearer token", "bot token"} {
		if strings.Contains(s, lead) {
			return true
		}
	}
	return false
}
