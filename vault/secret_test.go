package vault_test

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"text/template"

	"go.yaml.in/yaml/v3"

	"github.com/parley-mcp/parley/vault"
	"github.com/parley-mcp/parley/vault/vaulttest"
)

// sentinel is a secret that is easy to find again, in any coding.
const sentinel = "SENTINEL+value/with\"odd?bytes&ü-0123456789"

// accessToken makes a token with this text.
func accessToken(t *testing.T, text string) vault.Token {
	t.Helper()
	v, err := vault.New(vault.NewMemory(nil), vault.NewKeys(), nil)
	if err != nil {
		t.Fatal(err)
	}
	p := vault.Principal{Issuer: "i", Subject: "s"}
	if _, err := v.Save(t.Context(), p, vault.NewGrant{Provider: "p", Access: vault.NewSecret(text)}); err != nil {
		t.Fatal(err)
	}
	tok, err := v.Token(t.Context(), p, "p", "", "test")
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// TestSecretsDoNotPrint puts secrets through everything that writes values out.
func TestSecretsDoNotPrint(t *testing.T) {
	t.Parallel()
	secret, tok := vault.NewSecret(sentinel), accessToken(t, sentinel)
	type holder struct {
		Public  vault.Secret
		private vault.Secret
		Token   vault.Token
		hidden  vault.Token
		List    []vault.Secret
		Map     map[string]vault.Token
		Any     any
		Pointer *vault.Secret
	}
	values := map[string]any{
		"secret": secret, "token": tok, "pointer": &secret, "pointer to a token": &tok, "header": tok.Header(),
		"holder":    holder{secret, secret, tok, tok, []vault.Secret{secret}, map[string]vault.Token{"a": tok}, secret, &secret},
		"new grant": vault.NewGrant{Access: secret, Refresh: secret, Secrets: map[string]vault.Secret{"k": secret}},
		"flow":      vault.Flow{Verifier: secret, Nonce: secret},
		"client":    vault.Client{Secret: secret, PrivateKey: secret, RegistrationToken: secret},
		"tokens":    vault.Tokens{Access: secret, Refresh: secret},
		"request":   vault.RefreshRequest{Refresh: secret, Access: secret, Client: vault.Client{Secret: secret}},
		"revoke":    &vault.RevokeRequest{Token: secret},
		"decision":  &vault.OtherAccountError{Decision: secret},
	}
	for name, value := range values {
		var sink bytes.Buffer
		for verb := range strings.SplitSeq("v +v #v s q x X d t o b e g p U c T 10s -20.3v # x", " ") {
			fmt.Fprintf(&sink, "%"+verb+" ", value)
		}
		fmt.Fprint(&sink, value)
		fmt.Fprintln(&sink, value)
		for _, log := range []*slog.Logger{slog.New(slog.NewTextHandler(&sink, nil)), slog.New(slog.NewJSONHandler(&sink, nil))} {
			log.Info("x", "value", value)
			log.Info("x", slog.Any("any", value), slog.Group("g", "value", value))
			log.With("value", value).Info(fmt.Sprint(value))
		}
		if text, err := json.Marshal(value); err == nil {
			sink.Write(text)
		}
		if text, err := xml.Marshal(value); err == nil {
			sink.Write(text)
		}
		if text, err := yaml.Marshal(value); err == nil {
			sink.Write(text)
		}
		if err := gob.NewEncoder(&sink).Encode(value); err == nil && name != "decision" && strings.Contains(name, "secret") {
			t.Errorf("%s: gob took it", name)
		}
		if err := template.Must(template.New("x").Parse(`{{.}} {{printf "%#v" .}}`)).Execute(&sink, value); err != nil {
			t.Error(err)
		}
		sink.WriteString(errors.Join(fmt.Errorf("wrapped: %v", value)).Error())
		func() {
			defer func() { fmt.Fprintf(&sink, "%v %#v", recover(), value) }()
			panic(fmt.Sprint("because of ", value))
		}()
		walk(&sink, reflect.ValueOf(value), 0)
		if where := vaulttest.Find(sink.Bytes(), sentinel); where != "" {
			t.Errorf("%s is written out %s:\n%.3000s", name, where, sink.Bytes())
		}
		if !bytes.Contains(sink.Bytes(), []byte("(withheld)")) {
			t.Errorf("%s: nothing says that something is withheld", name)
		}
	}
	if secret.Reveal() != sentinel || tok.Reveal() != sentinel || tok.Header().Reveal() != "Bearer "+sentinel {
		t.Error("a secret does not reveal what it was made of")
	}
}

// walk writes out what reflection reaches, private fields included, as dumpers do.
func walk(sink *bytes.Buffer, v reflect.Value, depth int) {
	if depth > 20 {
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			walk(sink, v.Elem(), depth+1)
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			walk(sink, field, depth+1)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			walk(sink, v.Index(i), depth+1)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			walk(sink, key, depth+1)
			walk(sink, v.MapIndex(key), depth+1)
		}
	case reflect.String:
		sink.WriteString(v.String())
	case reflect.Bool, reflect.Int, reflect.Int64, reflect.Float64:
		fmt.Fprint(sink, v)
	default: // a closure shows nothing
	}
}

// TestSecretsAreNotComparable: == would compare in a time that depends on the
// text, or compare pointers. The compiler refuses it for types like these.
func TestSecretsAreNotComparable(t *testing.T) {
	t.Parallel()
	for _, typ := range []reflect.Type{reflect.TypeFor[vault.Secret](), reflect.TypeFor[vault.Token]()} {
		if typ.Comparable() {
			t.Errorf("%v can be compared with ==", typ)
		}
	}
}

func TestSecretEqual(t *testing.T) {
	t.Parallel()
	tests := []struct {
		a, b string
		want bool
	}{{"", "", true}, {"a", "a", true}, {"a", "b", false}, {"a", "", false}, {"a", "aa", false}, {sentinel, sentinel, true}}
	for _, test := range tests {
		a, b := vault.NewSecret(test.a), vault.NewSecret(test.b)
		if got := a.Equal(b); got != test.want {
			t.Errorf("%q.Equal(%q) = %v", test.a, test.b, got)
		}
		if a.IsZero() != (test.a == "") {
			t.Errorf("%q.IsZero() = %v", test.a, a.IsZero())
		}
	}
	if a := accessToken(t, "a"); !a.Equal(accessToken(t, "a")) || a.Equal(accessToken(t, "b")) {
		t.Error("Token.Equal is wrong")
	}
}

// TestDecodingGivesNoSecret: what was withheld cannot be read back as if it
// were a secret.
func TestDecodingGivesNoSecret(t *testing.T) {
	t.Parallel()
	var s vault.Secret
	//lint:ignore SA9005 it must give nothing
	if err := json.Unmarshal([]byte(`"(withheld)"`), &s); err == nil || !s.IsZero() {
		t.Errorf("JSON gave a secret: %v", err)
	}
}
