package vault

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestPackAccess: what was packed comes out, and nothing else does: every other
// text is an error or another packing.
func TestPackAccess(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		token, kind := rapid.String().Draw(t, "token"), rapid.String().Draw(t, "kind")
		var scopes []string
		if rapid.Bool().Draw(t, "said") {
			scopes = rapid.SliceOf(rapid.String()).Draw(t, "scopes")
		}
		packed := packAccess(NewSecret(token), kind, scopes)
		access, gotKind, gotScopes, err := unpackAccess(&Row{}, packed)
		if err != nil || access.Reveal() != token || gotKind != kind || !slices.Equal(gotScopes, scopes) || (gotScopes == nil) != (scopes == nil) {
			t.Fatalf("%q %q %q came out as %q %q %q, %v", token, kind, scopes, access.Reveal(), gotKind, gotScopes, err)
		}
	})
}

func TestUnpackAccessRefuses(t *testing.T) {
	t.Parallel()
	good := packAccess(NewSecret("token"), "Bearer", []string{"a", "b"})
	for name, text := range map[string][]byte{
		"empty": {}, "too long": append(slices.Clone(good), 0), "many scopes": append(packAccess(NewSecret("t"), "", nil), 0xff, 0xff, 0xff, 0xff, 0x0f),
	} {
		if _, _, _, err := unpackAccess(&Row{}, text); !errors.Is(err, ErrSealed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for n := range good {
		if n == len(packAccess(NewSecret("token"), "Bearer", nil)) {
			continue // which is whole without scopes
		}
		if _, _, _, err := unpackAccess(&Row{}, good[:n]); !errors.Is(err, ErrSealed) {
			t.Errorf("%d of %d bytes: %v", n, len(good), err)
		}
	}
}
