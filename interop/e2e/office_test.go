package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/interop/browsertest"
	"github.com/parley-mcp/parley/policy"
	httpapi "github.com/parley-mcp/parley/serve"
	"github.com/parley-mcp/parley/store/memstore"
)

// An office is a host with several people and a model, which the binary has not
// yet: the product's own parts behind a sign-in that believes a cookie. The cookie
// holds the subject; /sign-in?as=SUBJECT sets it.
type office struct {
	t     *testing.T
	base  string
	key   string // of the product whose pages embed the elements
	inbox *inbox.Inbox
	host  *host.Host
	away  *atomic.Bool // nobody can say who asks
}

// officePolicy asks other people for two tools, and is the default for the rest.
type officePolicy struct{ policy.Policy }

func (p officePolicy) Call(ctx context.Context, in *policy.Input) (policy.Decision, error) {
	d := policy.Decision{Effect: policy.Ask, Offer: []policy.Scope{policy.Once}}
	switch in.Name {
	case "pay":
		d.Rule, d.Reason, d.Other = "money needs a second person", "Payments are approved by somebody else.", true
		d.Assign.Principal = someone("bob")
	case "post":
		d.Rule, d.Reason = "letters go through the registry", "The registry looks at what leaves the house."
		d.Assign.Group = "registry"
	case "book":
		// Nothing leaves without a look once answers are on their way.
		if in.Phase != policy.Resume {
			return policy.Decision{Effect: policy.Allow, Rule: "rooms are free"}, nil
		}
		d.Rule, d.Reason = "bookings are looked at", "Your answers leave the house now."
	default:
		return p.Policy.Call(ctx, in)
	}
	return d, nil
}

const issuer = "https://login.example"

func someone(subject string) inbox.Principal {
	return inbox.Principal{Issuer: issuer, Subject: subject}
}

// newOffice starts a host of the server "desk" with the tools of the script.
// Pages of origin may embed the elements.
func newOffice(t *testing.T, script *hosttest.Script, origin string) *office {
	t.Helper()
	server := hosttest.NewServer(t, script)
	ring := inbox.NewKeys()
	in := inbox.New(memstore.New(nil), ring, nil)
	h, err := host.New(in, []*host.Server{{ID: "desk", URL: server.URL}}, &host.Options{Policy: officePolicy{policy.Default()}})
	if err != nil {
		t.Fatal(err)
	}
	var origins []string
	if origin != "" {
		origins = []string{origin}
	}
	key, row, err := httpapi.NewAPIKey("product", "https://product.example", nil, origins)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- h.Run(ctx) }()
	away := &atomic.Bool{}
	identify := func(r *http.Request) (*httpapi.Session, error) {
		if away.Load() {
			return nil, errors.New("the sessions are away")
		}
		return byCookie(r)
	}
	api := httptest.NewServer(httpapi.New(h, in, &httpapi.Options{
		Identify: identify, SignIn: http.HandlerFunc(officeDoor), APIKeys: []*httpapi.APIKey{row}, Keys: ring, Version: "test",
	}).Handler())
	t.Cleanup(func() {
		cancel()
		<-ran
		api.CloseClientConnections() // ends the streams
		api.Close()
	})
	return &office{t: t, base: api.URL, key: key, inbox: in, host: h, away: away}
}

func byCookie(r *http.Request) (*httpapi.Session, error) {
	c, err := r.Cookie("office")
	if err != nil {
		return nil, httpapi.ErrSignedOut
	}
	session := &httpapi.Session{Principal: someone(c.Value), Name: strings.ToUpper(c.Value[:1]) + c.Value[1:]}
	if c.Value == "rita" {
		session.Groups = []string{"registry"}
	}
	return session, nil
}

func officeDoor(w http.ResponseWriter, r *http.Request) {
	switch as := r.URL.Query().Get("as"); {
	case r.Method == http.MethodPost:
		http.SetCookie(w, &http.Cookie{Name: "office", Path: "/", MaxAge: -1})
		io.WriteString(w, "<!doctype html><title>Out</title><p>You are signed out")
	case as != "":
		http.SetCookie(w, &http.Cookie{Name: "office", Path: "/", Value: as, HttpOnly: true, SameSite: http.SameSiteLaxMode})
		http.Redirect(w, r, "/", http.StatusSeeOther)
	default:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, "<!doctype html><title>In</title><p>Who are you")
	}
}

// enter opens the page as somebody.
func (o *office) enter(subject string) *browsertest.Page {
	o.t.Helper()
	page := browsertest.Open(o.t, o.base+"/sign-in?as="+subject)
	page.WaitText("Signed in: ")
	return page
}

// model composes a call as a model does for somebody.
func (o *office) model(subject, conversation, tool, arguments string) *inbox.Call { //nolint:unparam // who it is stands where it matters
	o.t.Helper()
	c, err := o.host.Start(o.t.Context(), someone(subject), host.NewCall{
		Conversation: conversation, Actor: inbox.Model, Server: "desk", Name: tool, Arguments: json.RawMessage(arguments),
	})
	if err != nil {
		o.t.Fatal(err)
	}
	return c
}

// person composes a call as somebody does themself.
func (o *office) person(subject, conversation, tool string) *inbox.Call {
	o.t.Helper()
	c, err := o.host.Start(o.t.Context(), someone(subject), host.NewCall{Conversation: conversation, Server: "desk", Name: tool})
	if err != nil {
		o.t.Fatal(err)
	}
	return c
}

// trail lists what happened to somebody, the newest first.
func (o *office) trail(subject string, kinds ...inbox.AuditKind) []*inbox.AuditEntry { //nolint:unparam // as above
	o.t.Helper()
	list, err := o.inbox.Audit(o.t.Context(), someone(subject), inbox.AuditFilter{Kinds: kinds})
	if err != nil {
		o.t.Fatal(err)
	}
	return list
}

// mint gets a token for a page of the product.
func (o *office) mint(subject, conversation string, scopes ...string) string { //nolint:unparam // as above
	o.t.Helper()
	return o.mintFor(map[string]any{"subject": subject, "conversation": conversation, "scopes": scopes})
}

func (o *office) mintFor(in map[string]any) string {
	o.t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		o.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(o.t.Context(), http.MethodPost, o.base+"/v1/embed-tokens", bytes.NewReader(body))
	if err != nil {
		o.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+o.key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		o.t.Fatal(err)
	}
	defer resp.Body.Close()
	var out struct{ Token string }
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil || resp.StatusCode != http.StatusCreated {
		o.t.Fatalf("a token: %d %v", resp.StatusCode, err)
	}
	return out.Token
}

// newSite serves a site of another origin.
func newSite(t *testing.T, h http.Handler) (origin string) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}
