package webhook

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/settings"
)

// A Type says what a message is about.
type Type string

const (
	Asked     Type = "asked"     // a question waits for an answer
	Expiring  Type = "expiring"  // it will expire soon and has none
	Answered  Type = "answered"  // it was answered
	Blocked   Type = "blocked"   // something has to be done before a call goes on, such as a sign-in
	Uncertain Type = "uncertain" // nobody knows whether a call has happened, until the person says it

	ApprovalAsked    Type = "approval_asked"    // an approval waits for a decision
	ApprovalExpiring Type = "approval_expiring" // it will expire soon and has none
)

var types = []Type{Asked, Expiring, Answered, Blocked, Uncertain, ApprovalAsked, ApprovalExpiring}

// An Endpoint is where messages go.
type Endpoint struct { //nolint:recvcheck // Format is of values too, the rest is not
	// ID names the endpoint. With another one it is another endpoint, which begins anew.
	ID string `json:"id"`
	// URL takes the messages, by POST. It may hold ${VAR} of the environment.
	URL string `json:"url"`
	// Secret signs them: "whsec_" and at least 24 bytes in base64. It may be ${VAR}.
	Secret string `json:"secret"`
	// Events are the types that the endpoint wants. Empty: all.
	Events []Type `json:"events,omitempty"`
	// Issuers and Tenants restrict the messages to calls of people of these. Empty: all.
	Issuers []string `json:"issuers,omitempty"`
	Tenants []string `json:"tenants,omitempty"`

	key []byte
}

// Format keeps the secret, and what a URL may hold, from printing.
// A value must not print either.
func (e Endpoint) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "webhook endpoint %q", e.ID) }

const secretPrefix = "whsec_"

// minSecret is what Standard Webhooks asks for, in bytes.
const minSecret = 24

func (e *Endpoint) check() error {
	// It goes into a header and into what is signed, where a dot ends the id.
	if e.ID == "" || len(e.ID) > 100 || strings.ContainsFunc(e.ID, func(r rune) bool {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) {
		return errors.New("it needs an id of 1 to 100 letters, digits, - and _")
	}
	u, err := url.Parse(e.URL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.Fragment != "" {
		return errors.New("its url is no address of the web") // not repeated: it may hold a secret
	}
	text, ok := strings.CutPrefix(e.Secret, secretPrefix)
	key, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil || len(key) < minSecret {
		return fmt.Errorf("its secret is not %q and at least %d bytes in base64", secretPrefix, minSecret)
	}
	for _, t := range e.Events {
		if !slices.Contains(types, t) {
			return fmt.Errorf("%q is no event: there are asked, expiring, answered, blocked, uncertain, approval_asked and approval_expiring", string(t))
		}
	}
	e.key = key
	return nil
}

// wants reports whether the endpoint is told of t for p.
func (e *Endpoint) wants(t Type, p inbox.Principal) bool {
	in := func(list []string, one string) bool { return len(list) == 0 || slices.Contains(list, one) }
	return (len(e.Events) == 0 || slices.Contains(e.Events, t)) && in(e.Issuers, p.Issuer) && in(e.Tenants, p.Tenant)
}

// ReadEndpoints reads a file {"endpoints": [...]}. Variables of the environment are
// filled into url and secret, as in the servers file.
func ReadEndpoints(path string, lookup func(string) (string, bool)) ([]*Endpoint, error) {
	var file struct {
		Endpoints []*Endpoint `json:"endpoints"`
	}
	if err := settings.ReadJSON(path, &file); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for i, e := range file.Endpoints {
		if e == nil {
			return nil, fmt.Errorf("%s: endpoint %d is null", path, i+1)
		}
		for _, field := range []*string{&e.URL, &e.Secret} {
			var err error
			if *field, err = settings.Expand(*field, lookup); err != nil {
				return nil, fmt.Errorf("%s: endpoint %d (%q): %w", path, i+1, e.ID, err)
			}
		}
		if err := e.check(); err != nil {
			return nil, fmt.Errorf("%s: endpoint %d (%q): %w", path, i+1, e.ID, err)
		}
		if seen[e.ID] {
			return nil, fmt.Errorf("%s: two endpoints have the id %q", path, e.ID)
		}
		seen[e.ID] = true
	}
	return file.Endpoints, nil
}
