package metrics

import (
	"context"
	"encoding/base64"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/store/memstore"
	"github.com/parley-mcp/parley/vault"
	"github.com/parley-mcp/parley/webhook"
)

type quietEndpoint struct{}

func (quietEndpoint) Refresh(context.Context, vault.RefreshRequest) (vault.Tokens, error) {
	return vault.Tokens{}, nil
}
func (quietEndpoint) Revoke(context.Context, vault.RevokeRequest) error { return nil }

// everything is the page of a host where all that is counted has happened, as
// figures with their labels in the order of the letters.
func everything(t *testing.T) map[string]string {
	t.Helper()
	m := New(&Options{Servers: []string{"hotel"}})
	store := memstore.New(nil)
	in := inbox.New(store, inbox.NewKeys(), nil)
	hooks, err := webhook.New(in, store, []*webhook.Endpoint{{ID: "mail", URL: "https://mail.example", Secret: "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 32))}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m.Watch(in, hooks)
	for _, kind := range []inbox.AuditKind{
		inbox.AuditComposed, inbox.AuditAsked, inbox.AuditShown, inbox.AuditAnswered, inbox.AuditChecked, inbox.AuditDelivered, inbox.AuditBlocked,
		inbox.AuditUncertain, inbox.AuditFinished, inbox.AuditApprovalAsked, inbox.AuditApprovalDecided, inbox.AuditCredentialRead, inbox.AuditRefused,
	} {
		m.Observe(&inbox.AuditEntry{Kind: kind, State: string(inbox.Done), Question: "q"})
	}
	m.Sent("mail", webhook.Delivered)
	e := m.Endpoint(quietEndpoint{}, nil)
	if _, err := e.Refresh(t.Context(), vault.RefreshRequest{}); err != nil {
		t.Fatal(err)
	}
	if err := e.Revoke(t.Context(), vault.RevokeRequest{}); err != nil {
		t.Fatal(err)
	}
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "parley_") {
			continue
		}
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		all[f.GetName()] = strings.Join(labels, ",")
	}
	return all
}

var figure = regexp.MustCompile(`(parley_[a-z_]+)(?:\{([^}]*)\})?`)

func sorted(labels string) string {
	list := strings.FieldsFunc(labels, func(r rune) bool { return r == ',' })
	slices.Sort(list)
	return strings.Join(list, ",")
}

// TestFiguresAreDocumented: the lists in the package's documentation and in the
// guide have each figure with its labels, and nothing else.
func TestFiguresAreDocumented(t *testing.T) {
	t.Parallel()
	want := everything(t)
	for path, line := range map[string]*regexp.Regexp{
		"doc.go":                   regexp.MustCompile(`(?m)^//\t(parley_\S+)`),
		"../../docs/operations.md": regexp.MustCompile("(?m)^\\| `(parley_[^`]+)` \\|"),
	} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, m := range line.FindAllSubmatch(text, -1) {
			parts := figure.FindStringSubmatch(string(m[1]))
			if parts[0] != string(m[1]) {
				t.Errorf("%s: %s cannot be read", path, m[1])
			}
			got[parts[1]] = sorted(parts[2])
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-there is +documented):\n%s", path, diff)
		}
	}
}

// TestAlertsAreTrue: the alerts of the guide ask for figures, labels and values that
// there are, so that none of them stays silent for a slip.
func TestAlertsAreTrue(t *testing.T) {
	t.Parallel()
	known := everything(t)
	values := map[string][]string{
		"server": {""}, "actor": actors, "mode": modes, "era": {string(inbox.Legacy), string(inbox.Modern), "unknown"},
		"state":  slices.Concat(callStates, questionStates, approvalStates, openStates()),
		"reason": slices.Concat(reasons, limits, requestLimits),
		"outcome": slices.Concat(classes, []string{
			outcomeRenewed, outcomeRevoked, string(webhook.Delivered), string(webhook.Failed), string(webhook.Dead),
		}),
	}
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, alerts, _ := strings.Cut(string(text), "| expression | means |")
	alerts, _, _ = strings.Cut(alerts, "\n\n")
	n := 0
	for row := range strings.SplitSeq(alerts, "\n") {
		_, expression, ok := strings.Cut(row, "| `")
		if !ok {
			continue
		}
		n++
		expression, _, _ = strings.Cut(expression, "`")
		found := figure.FindAllStringSubmatch(expression, -1)
		if len(found) == 0 {
			t.Errorf("%s: no figure", expression)
		}
		for _, m := range found {
			labels, ok := known[m[1]]
			if !ok {
				t.Errorf("%s: there is no %s", expression, m[1])
			}
			for _, selector := range strings.FieldsFunc(m[2], func(r rune) bool { return r == ',' }) {
				parts := regexp.MustCompile(`^([a-z]+)!?="([a-z_]*)"$`).FindStringSubmatch(selector)
				if parts == nil || !slices.Contains(strings.Split(labels, ","), parts[1]) || !slices.Contains(values[parts[1]], parts[2]) {
					t.Errorf("%s: %s has no %s", expression, m[1], selector)
				}
			}
		}
	}
	if n < 8 {
		t.Errorf("%d alerts: the test looks at the wrong place", n)
	}
}

func openStates() (list []string) {
	for _, s := range []inbox.CallState{inbox.Approving, inbox.Ready, inbox.Claimed, inbox.Sent, inbox.Waiting, inbox.Blocked, inbox.Uncertain} {
		list = append(list, string(s))
	}
	return list
}
