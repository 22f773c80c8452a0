package host

import (
	"encoding/base64"
	"testing"
	"time"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/vault"
)

// Names count as they are written in whatever decides about a call: the page and the SDK
// read no others.
func TestExactNames(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]judgement{
		`{"content":[],"isError":true}`: outcomeFailed, `{"content":[],"ISERROR":true}`: outcomeDone,
		`{"content":[],"isError":true,"IsError":false}`: outcomeFailed,
	} {
		if v := judgeResult([]byte(text), "tools/call", inbox.Modern); v.judgement != want {
			t.Errorf("%s: judged %d, want %d", text, v.judgement, want)
		}
	}
	for data, want := range map[string]judgement{
		`{"reason":"outcome_unknown"}`: outcomeUnknown, `{"REASON":"outcome_unknown"}`: outcomeFailed,
		`{"reason":"outcome_unknown","Reason":""}`: outcomeUnknown, `{"reason":"outcome_unknown","elicitations":5}`: outcomeUnknown,
	} {
		if v := judgeError([]byte(`{"code":-32000,"message":"m","data":`+data+`}`), inbox.Modern, false, false); v.judgement != want {
			t.Errorf("%s: judged %d, want %d", data, v.judgement, want)
		}
	}
}

// A provider whose users name claims of their own does not let them be another account.
func TestAccountByExactClaims(t *testing.T) {
	t.Parallel()
	token := func(more string) vault.Secret {
		body := `{"iss":"https://id.example","aud":"us","exp":2000000000,"sub":"mallory","name":"Mallory"` + more + `}`
		return vault.NewSecret("e30." + base64.RawURLEncoding.EncodeToString([]byte(body)) + ".sig")
	}
	for more, want := range map[string]vault.Account{
		``: {ID: "mallory", Name: "Mallory"}, `,"SUB":"ann","Name":"Ann"`: {ID: "mallory", Name: "Mallory"}, `,"sub":"ann"`: {},
	} {
		if got := accountOf(token(more), "https://id.example", "us", time.Unix(1_900_000_000, 0)); got != want {
			t.Errorf("%s: %+v, want %+v", more, got, want)
		}
	}
}
