package policy_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/policy"
)

var (
	ada = inbox.Principal{Issuer: "https://id.example", Tenant: "acme", Subject: "ada"}
	ben = inbox.Principal{Issuer: "https://id.example", Tenant: "acme", Subject: "ben"}
	eve = inbox.Principal{Issuer: "https://evil.example", Tenant: "acme", Subject: "ada"}
)

func yes() *bool { b := true; return &b }
func no() *bool  { b := false; return &b }

func TestHints(t *testing.T) {
	t.Parallel()
	worst := policy.Hints{Destructive: true, OpenWorld: true}
	readOnly := policy.Annotations{ReadOnly: yes(), OpenWorld: no()}
	for name, tc := range map[string]struct {
		in   policy.Input
		want policy.Hints
	}{
		"nothing said":      {policy.Input{Trusted: true, Method: policy.ToolsCall}, worst},
		"stranger":          {policy.Input{Method: policy.ToolsCall, Annotations: readOnly}, worst},
		"no tool":           {policy.Input{Trusted: true, Method: policy.ResourcesRead, Annotations: readOnly}, worst},
		"read-only":         {policy.Input{Trusted: true, Method: policy.ToolsCall, Annotations: readOnly}, policy.Hints{ReadOnly: true, Idempotent: true}},
		"read-only and not": {policy.Input{Trusted: true, Method: policy.ToolsCall, Annotations: policy.Annotations{ReadOnly: yes(), Destructive: yes()}}, worst},
		"adds":              {policy.Input{Trusted: true, Method: policy.ToolsCall, Annotations: policy.Annotations{Destructive: no(), Idempotent: yes()}}, policy.Hints{Idempotent: true, OpenWorld: true}},
	} {
		if got := tc.in.Hints(); got != tc.want {
			t.Errorf("%s: Hints() = %+v, want %+v", name, got, tc.want)
		}
	}
}

// A tool's annotations are unmarshalled as a server lists them.
func TestAnnotationsAreMCPs(t *testing.T) {
	t.Parallel()
	var got policy.Annotations
	if err := json.Unmarshal([]byte(`{"title":"x","readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}`), &got); err != nil {
		t.Fatal(err)
	}
	want := policy.Annotations{ReadOnly: yes(), Destructive: no(), Idempotent: yes(), OpenWorld: no()}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDefault(t *testing.T) {
	t.Parallel()
	all := []policy.Scope{policy.Once, policy.Conversation, policy.Always}
	reads := policy.Annotations{ReadOnly: yes()}
	for name, tc := range map[string]struct {
		in     policy.Input
		effect policy.Effect
		rule   string
		offer  []policy.Scope
	}{
		"person":              {policy.Input{Actor: inbox.Person, Method: policy.ToolsCall}, policy.Allow, policy.RulePerson, nil},
		"model":               {policy.Input{Actor: inbox.Model, Method: policy.ToolsCall}, policy.Ask, policy.RuleModel, all},
		"model, trusted":      {policy.Input{Actor: inbox.Model, Method: policy.ToolsCall, Trusted: true}, policy.Ask, policy.RuleModel, all},
		"model reads":         {policy.Input{Actor: inbox.Model, Method: policy.ToolsCall, Trusted: true, Annotations: reads}, policy.Allow, policy.RuleReadOnly, nil},
		"stranger says reads": {policy.Input{Actor: inbox.Model, Method: policy.ToolsCall, Annotations: reads}, policy.Ask, policy.RuleModel, all},
		"resource":            {policy.Input{Actor: inbox.Model, Method: policy.ResourcesRead, Trusted: true}, policy.Ask, policy.RuleModel, []policy.Scope{policy.Once}},
		"nobody said who":     {policy.Input{Method: policy.ToolsCall}, policy.Ask, policy.RuleModel, all},
	} {
		for _, phase := range []policy.Phase{policy.Compose, policy.Resume, policy.Deliver} {
			in := tc.in
			in.Phase, in.Principal = phase, ada
			d, err := policy.Default().Call(t.Context(), &in)
			if err != nil || d.Check() != nil {
				t.Fatalf("%s: %v, %v", name, err, d.Check())
			}
			if d.Effect != tc.effect || d.Rule != tc.rule || !slices.Equal(d.Offer, tc.offer) {
				t.Errorf("%s, %s: %+v, want %s by %s with %v", name, phase, d, tc.effect, tc.rule, tc.offer)
			}
			if !strings.HasSuffix(d.Reason, ".") {
				t.Errorf("%s: the reason %q is no sentence", name, d.Reason)
			}
		}
	}
	for _, mode := range []inbox.Mode{inbox.Form, inbox.URL} {
		s, err := policy.Default().Question(t.Context(), &policy.Input{}, policy.Question{Mode: mode, Domain: "evil.example"})
		if err != nil || !s.Show {
			t.Errorf("a question in %s mode: %+v, %v", mode, s, err)
		}
	}
}

// An answer can never widen what is allowed, since no answer, result or text of a
// question reaches a policy. A new field of an input has to be thought about
// here.
func TestInputsHoldNoAnswers(t *testing.T) {
	t.Parallel()
	want := []string{
		"Phase", "Actor", "Principal", "Groups", "Conversation", "Server", "Trusted", "Method", "Name", "Annotations", "Arguments", // of the call, as composed
		"Mode", "Domain", // of a question: how it is asked and where it leads
	}
	var got []string
	for _, of := range []any{policy.Input{}, policy.Question{}} {
		for f := range reflect.TypeOf(of).Fields() {
			got = append(got, f.Name)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	forbidden := []reflect.Type{reflect.TypeFor[inbox.Answer](), reflect.TypeFor[inbox.Question](), reflect.TypeFor[inbox.Call]()}
	for _, of := range []any{policy.Input{}, policy.Question{}} {
		holds(t, reflect.TypeOf(of), forbidden, map[reflect.Type]bool{})
	}
}

func holds(t *testing.T, typ reflect.Type, forbidden []reflect.Type, seen map[reflect.Type]bool) {
	t.Helper()
	if seen[typ] {
		return
	}
	seen[typ] = true
	if slices.Contains(forbidden, typ) {
		t.Errorf("an input holds %v", typ)
	}
	switch typ.Kind() {
	case reflect.Struct:
		for f := range typ.Fields() {
			holds(t, f.Type, forbidden, seen)
		}
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		holds(t, typ.Elem(), forbidden, seen)
	case reflect.Interface, reflect.Func, reflect.Chan:
		t.Errorf("an input holds %v, which can hold anything", typ)
	}
}

// A policy can show or refuse a question; the type has no room for an answer.
func TestShowingCannotAnswer(t *testing.T) {
	t.Parallel()
	var got []string
	for f := range reflect.TypeFor[policy.Showing]().Fields() {
		got = append(got, f.Name+" "+f.Type.String())
	}
	if diff := cmp.Diff([]string{"Show bool", "Rule string", "Reason string"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestDecisionCheck(t *testing.T) {
	t.Parallel()
	once := []policy.Scope{policy.Once}
	group := policy.Assignee{Group: "finance"}
	for name, tc := range map[string]struct {
		d  policy.Decision
		ok bool
	}{
		"zero":              {policy.Decision{}, false},
		"allow":             {policy.Decision{Effect: policy.Allow}, true},
		"allow with offer":  {policy.Decision{Effect: policy.Allow, Offer: once}, false},
		"deny":              {policy.Decision{Effect: policy.Deny}, true},
		"deny assigned":     {policy.Decision{Effect: policy.Deny, Assign: group}, false},
		"ask":               {policy.Decision{Effect: policy.Ask, Offer: once}, true},
		"ask without once":  {policy.Decision{Effect: policy.Ask, Offer: []policy.Scope{policy.Always}}, false},
		"ask, odd scope":    {policy.Decision{Effect: policy.Ask, Offer: []policy.Scope{policy.Once, "week"}}, false},
		"other":             {policy.Decision{Effect: policy.Ask, Offer: once, Assign: group, Other: true}, true},
		"other of nobody":   {policy.Decision{Effect: policy.Ask, Offer: once, Other: true}, false},
		"assigned for ever": {policy.Decision{Effect: policy.Ask, Offer: []policy.Scope{policy.Once, policy.Always}, Assign: group}, false},
		"person":            {policy.Decision{Effect: policy.Ask, Offer: once, Assign: policy.Assignee{Principal: ben}}, true},
		"half a person":     {policy.Decision{Effect: policy.Ask, Offer: once, Assign: policy.Assignee{Principal: inbox.Principal{Subject: "ben"}}}, false},
		"person and group":  {policy.Decision{Effect: policy.Ask, Offer: once, Assign: policy.Assignee{Principal: ben, Group: "finance"}}, false},
		"show":              {policy.Decision{Effect: "show"}, false},
	} {
		if err := tc.d.Check(); (err == nil) != tc.ok {
			t.Errorf("%s: Check() = %v", name, err)
		}
	}
}

func TestMayApprove(t *testing.T) {
	t.Parallel()
	once := []policy.Scope{policy.Once}
	finance := []string{"sales", "finance"}
	own := policy.Decision{Effect: policy.Ask, Offer: once}
	byGroup := policy.Decision{Effect: policy.Ask, Offer: once, Assign: policy.Assignee{Group: "finance"}}
	byOther := byGroup
	byOther.Other = true
	byBen := policy.Decision{Effect: policy.Ask, Offer: once, Assign: policy.Assignee{Principal: ben}}
	elsewhere := inbox.Principal{Issuer: ada.Issuer, Tenant: "globex", Subject: "ada"}
	for name, tc := range map[string]struct {
		d        policy.Decision
		approver inbox.Principal
		groups   []string
		want     bool
	}{
		"own":                        {own, ada, nil, true},
		"own, by a colleague":        {own, ben, finance, false},
		"own, same name elsewhere":   {own, eve, finance, false},
		"group":                      {byGroup, ben, finance, true},
		"group, asker in it":         {byGroup, ada, finance, true},
		"group, not in it":           {byGroup, ben, []string{"sales"}, false},
		"group of another issuer":    {byGroup, eve, finance, false},
		"group of another tenant":    {byGroup, elsewhere, finance, false},
		"other":                      {byOther, ben, finance, true},
		"other, asker":               {byOther, ada, finance, false},
		"other, no group":            {byOther, ben, nil, false},
		"person":                     {byBen, ben, nil, true},
		"person, asker":              {byBen, ada, finance, false},
		"denied":                     {policy.Decision{Effect: policy.Deny}, ada, finance, false},
		"allowed: nothing to decide": {policy.Decision{Effect: policy.Allow}, ada, finance, false},
	} {
		if got := tc.d.MayApprove(ada, tc.approver, tc.groups); got != tc.want {
			t.Errorf("%s: %t, want %t", name, got, tc.want)
		}
	}
}
