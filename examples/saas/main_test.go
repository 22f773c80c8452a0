package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/serve/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A visitor is a browser at the product.
type visitor struct {
	*http.Client

	t    *testing.T
	site *site
}

func (s *site) visitor(t *testing.T, user, password string) (*visitor, int) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	v := &visitor{&http.Client{Jar: jar, Transport: transport}, t, s}
	status, _ := v.post("/sign-in", url.Values{"user": {user}, "password": {password}})
	return v, status
}

func (v *visitor) post(path string, form url.Values) (int, string) {
	v.t.Helper()
	resp, err := v.PostForm(v.site.address+path, form)
	if err != nil {
		v.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// page is the host as the visitor's page asks it.
func (v *visitor) page() *client.Client {
	v.t.Helper()
	status, body := v.post("/parley-token", nil)
	var out struct{ Token string }
	if err := json.Unmarshal([]byte(body), &out); err != nil || status != http.StatusOK {
		v.t.Fatalf("%d %s", status, body)
	}
	return client.New(v.site.parley.address(), client.Bearer(out.Token))
}

func begin(t *testing.T) *site {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ready, ended := make(chan *site, 1), make(chan error, 1)
	dir := t.TempDir()
	go func() { ended <- run(ctx, dir, "127.0.0.1:0", func(s *site) { ready <- s }) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the product ended with %v", err)
		}
	})
	select {
	case s := <-ready:
		return s
	case err := <-ended:
		ended <- err
		t.Fatal(err)
		return nil
	}
}

// TestDesk is a user's way through the product: what they see is theirs alone.
func TestDesk(t *testing.T) {
	t.Parallel()
	s := begin(t)
	ada, _ := s.visitor(t, "ada", demoPassword)
	if status, body := ada.post("/desk", nil); status != http.StatusOK || !strings.Contains(body, "<parley-chat") {
		t.Fatalf("%d %s", status, body)
	}
	page := ada.page()
	snapshot, err := page.Conversation(t.Context(), conversation("ada"))
	if err != nil || len(snapshot.Calls) != 1 {
		t.Fatalf("%+v, %v", snapshot, err)
	}
	call := snapshot.Calls[0]
	for call.State != "waiting" {
		if call, err = page.Wait(t.Context(), call.ID, call.Version, 30*time.Second); err != nil {
			t.Fatal(err)
		}
	}

	bob, _ := s.visitor(t, "bob", demoPassword)
	if _, err := bob.page().Call(t.Context(), call.ID); client.Code(err) != "not_found" {
		t.Errorf("another user of the product: %v", err)
	}
	if _, err := page.Compose(t.Context(), client.NewCall{Server: "desks", Tool: "reserve_desk", Arguments: json.RawMessage(`{}`)}, ""); client.Code(err) != "scope" {
		t.Errorf("the page calls a tool by itself: %v", err)
	}

	q, err := page.Answer(t.Context(), call.Questions[0], client.NewAnswer{Action: inbox.Accept, Content: json.RawMessage(`{"desk":"4.07","day":"2027-03-27"}`)}, "")
	if err != nil || q.State != inbox.Accepted {
		t.Fatalf("%+v, %v", q, err)
	}
	for call.State != "done" {
		if call, err = page.Wait(t.Context(), call.ID, call.Version, 30*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(string(call.Result), "4.07") {
		t.Errorf("%s", call.Result)
	}

	// Who signs out of the product is out here, too.
	ada.post("/sign-out", nil)
	if _, err := page.Call(t.Context(), call.ID); client.Code(err) != "signed_out" {
		t.Errorf("after the sign-out: %v", err)
	}
	if status, _ := ada.post("/parley-token", nil); status != http.StatusUnauthorized {
		t.Errorf("a token after the sign-out: %d", status)
	}
}

func TestSignInRefused(t *testing.T) {
	t.Parallel()
	s := begin(t)
	for _, who := range [][2]string{{"ada", "wrong"}, {"eve", demoPassword}, {"", ""}} {
		v, status := s.visitor(t, who[0], who[1])
		if status != http.StatusForbidden {
			t.Errorf("%q signs in with %q: %d", who[0], who[1], status)
		}
		for _, path := range []string{"/parley-token", "/desk"} {
			if status, _ := v.post(path, nil); status != http.StatusUnauthorized {
				t.Errorf("%s without a sign-in: %d", path, status)
			}
		}
	}
	// Another site cannot make a user's browser do these.
	ada, _ := s.visitor(t, "ada", demoPassword)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.address+"/desk", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Origin", "https://evil.example")
	resp, err := ada.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("another site's request: %d", resp.StatusCode)
	}
}
