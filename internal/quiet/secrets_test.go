package quiet_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// What is a secret by its shape, or by the name before it, is not logged from the middle
// of a sentence either; what only looks a little like it is.
func TestSecretsInText(t *testing.T) {
	t.Parallel()
	const hidden = "s3ntinel-4711"
	for text, want := range map[string]string{
		"no key parley_api_" + hidden + "_x- here":                            "no key parley_api_(withheld) here",
		"token parley_embed_" + hidden + " ended":                             "token parley_embed_(withheld) ended",
		`{"key":"parley_api_` + hidden + `"}`:                                 `{"key":"parley_api_(withheld)"}`,
		"secret whsec_" + hidden + "/+Q== is bad":                             "secret whsec_(withheld) is bad",
		"send parley_api_… please":                                            "send parley_api_… please",
		"Authorization: " + hidden + " was refused":                           "Authorization: (withheld) was refused",
		"authorization: DPoP " + hidden + ", nonce":                           "authorization: (withheld), nonce",
		`{"access_token":"` + hidden + `","token_type":"Bearer"}`:             `{"access_token":"(withheld)","token_type":"Bearer"}`,
		`{ "refresh_token" : "a\"` + hidden + `", "expires_in": 3600 }`:       `{ "refresh_token" : "(withheld)", "expires_in": 3600 }`,
		`{"id_token":"` + hidden:                                              `{"id_token":"(withheld)"`,
		`{"client_secret":"` + hidden + `\`:                                   `{"client_secret":"(withheld)"\`,
		`{"code":"` + hidden + `"}`:                                           `{"code":"(withheld)"}`,
		`{"code_verifier":"` + hidden + `","requestState":"a` + hidden + `"}`: `{"code_verifier":"(withheld)","requestState":"(withheld)"}`,
		"{'token': '" + hidden + "'}":                                         `{'token': "(withheld)"}`,
		`{"code":-32602,"message":"no"}`:                                      `{"code":-32602,"message":"no"}`,
		`{"scope":"a","encode":"x","token_endpoint":"y"}`:                     `{"scope":"a","encode":"x","token_endpoint":"y"}`,
		fmt.Sprintf("%q", `{"access_token":"a\"`+hidden+`\\","x":"y"}`):       `"{\"access_token\":\"(withheld)\",\"x\":\"y\"}"`,
		fmt.Sprintf("cut %.40q", `{"client_secret": "`+hidden+hidden):         `cut "{\"client_secret\": \"(withheld)\""`,
	} {
		got := logged(func(l *slog.Logger) { l.Info("m", "err", errors.New(text)) })
		plain := strings.TrimPrefix(got, "msg=m err=")
		if strings.HasPrefix(plain, `"`) { // the handler's own quotes
			if _, err := fmt.Sscanf(plain, "%q", &plain); err != nil {
				t.Fatal(err)
			}
		}
		if plain != want {
			t.Errorf("%s:\n got %s\nwant %s", text, plain, want)
		}
		if strings.Contains(got, hidden) {
			t.Errorf("the log holds the secret: %s", got)
		}
	}
}
