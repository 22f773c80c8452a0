package host

import (
	"context"
	"net/http"
	"testing"

	"github.com/parley-mcp/parley/internal/seal"
	"github.com/parley-mcp/parley/vault"
)

type tripping func(*http.Request) (*http.Response, error)

func (f tripping) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// What no later request would mend ends the resuming of a response; and nothing is sent
// with the token of another sign-in.
func TestResumptionThatIsNotAuthorized(t *testing.T) {
	t.Parallel()
	v, err := vault.New(vault.NewMemory(nil), seal.NewRing(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	for _, tt := range []struct {
		name  string
		have  bool
		token string // of the call
		want  []int
		sent  int
	}{
		{"signed out since", true, "Bearer a", []int{403, 403}, 0},
		{"refused", false, "Bearer a", []int{401, 401, 403}, 3},
		{"without a token", false, "", []int{401, 401, 401, 401}, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sent := 0
			r := &renewing{
				base: tripping(func(*http.Request) (*http.Response, error) {
					sent++
					return &http.Response{StatusCode: http.StatusUnauthorized, Body: http.NoBody}, nil
				}),
				bearer: &bearer{
					vault: v, have: tt.have, server: &Server{ID: "s", URL: "https://s.example/mcp"},
					principal: vault.Principal{Issuer: "test", Subject: "ada"},
				},
			}
			ctx := context.WithValue(t.Context(), requestKey{}, &request{})
			for i, want := range tt.want {
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://s.example/mcp", http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				if tt.token != "" {
					req.Header.Set("Authorization", tt.token)
				}
				resp, err := r.RoundTrip(req)
				if err != nil {
					t.Fatalf("%d: %v", i, err)
				}
				resp.Body.Close()
				if resp.StatusCode != want {
					t.Errorf("%d: status %d, want %d", i, resp.StatusCode, want)
				}
			}
			if sent != tt.sent {
				t.Errorf("%d requests, want %d", sent, tt.sent)
			}
		})
	}
}
