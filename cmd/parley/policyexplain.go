package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/link"
	"github.com/parley-mcp/parley/policy"
	"github.com/parley-mcp/parley/policy/rules"
)

var policyExplainCommand = command{
	name: "policy explain", short: "say what a policy decides about one call or question, and why",
	long: `
Prints the decision, the rule that makes it and its line, and of each rule before it the
condition that does not hold. Nothing is called.

The call is described by flags, or by a file in JSON or YAML (--input) with an object
"call" or "question", as in the cases of a policy. With --url or --mode it is a question.
Flags that are left out mean: a model's call, of a server that is not trusted, by
somebody who is in no group.

Examples:
  parley policy explain --policy policy.yaml --server finance --tool pay --arguments '{"amount": 5000}'
  parley policy explain --policy policy.yaml --server crm --tool find --trusted --annotations readOnly
  parley policy explain --policy policy.yaml --server crm --url https://login.example.com/authorize
  parley policy explain --policy policy.yaml --input call.json --format json`,
	setup: func(fs *flag.FlagSet) func(context.Context, *environment) error {
		var f explainFlags
		file := fs.String("policy", "", "`FILE` of the policy")
		format := fs.String("format", "text", "`FORMAT` of the output: text or json")
		fs.StringVar(&f.input, "input", "", "`FILE` that describes the call or question, - for standard input; instead of the flags below")
		fs.StringVar(&f.actor, "actor", string(inbox.Model), "who composed the call, `ACTOR`: model or person")
		fs.StringVar(&f.server, "server", "", "`NAME` of the server, its key in the servers file")
		fs.StringVar(&f.tool, "tool", "", "`NAME` of the tool that is called")
		fs.StringVar(&f.prompt, "prompt", "", "`NAME` of the prompt, if one is asked for")
		fs.StringVar(&f.resource, "resource", "", "`URI` of the resource, if one is read")
		fs.BoolVar(&f.trusted, "trusted", false, "the server is trusted")
		fs.StringVar(&f.annotations, "annotations", "", "`LIST` of the tool's annotations: readOnly, destructive=false, ...")
		fs.StringVar(&f.arguments, "arguments", "", "`JSON` object of the call's arguments")
		fs.StringVar(&f.groups, "groups", "", "`LIST` of the person's groups, with commas between them")
		fs.StringVar(&f.conversation, "conversation", "", "`ID` of the conversation")
		fs.StringVar(&f.mode, "mode", "", "`MODE` of a question: form or url")
		fs.StringVar(&f.url, "url", "", "`URL` of a question")
		return func(ctx context.Context, env *environment) error {
			if err := noArgs(env); err != nil {
				return err
			}
			if *format != "text" && *format != "json" {
				return usageError("choose text or json", "--format %q is not known", *format)
			}
			if *file == "" {
				return usageError("--policy policy.yaml", "no policy was named")
			}
			r, err := rules.Load(*file)
			if err != nil {
				return policyError(err)
			}
			req, err := f.request(env)
			if err != nil {
				return err
			}
			x := explanation{File: *file}
			if req.Question != nil {
				x.read(r.ExplainQuestion(ctx, &req.Input, *req.Question), true)
			} else {
				x.read(r.ExplainCall(ctx, &req.Input), false)
			}
			if *format == "json" {
				return json.NewEncoder(env.stdout).Encode(x)
			}
			return x.print(env.stdout)
		}
	},
}

// explainFlags describe a call or a question.
type explainFlags struct {
	input, actor, server, tool, prompt, resource      string
	annotations, arguments, groups, conversation, url string
	mode                                              string
	trusted                                           bool
}

func (f *explainFlags) request(env *environment) (*rules.Request, error) {
	if f.input != "" {
		return f.read(env)
	}
	req := &rules.Request{Input: policy.Input{
		Phase: policy.Compose, Actor: inbox.Actor(f.actor),
		Principal: inbox.Principal{Issuer: "https://issuer.example", Subject: "somebody"},
		Server:    f.server, Trusted: f.trusted, Conversation: f.conversation,
	}}
	in := &req.Input
	if in.Actor != inbox.Model && in.Actor != inbox.Person {
		return nil, usageError("choose model or person", "--actor %q is not known", f.actor)
	}
	if f.groups != "" {
		in.Groups = strings.Split(f.groups, ",")
	}
	if f.server == "" {
		return nil, usageError("--server NAME --tool NAME", "no server was named")
	}
	if f.arguments != "" {
		if !json.Valid([]byte(f.arguments)) {
			return nil, usageError(`--arguments '{"amount": 5000}'`, "--arguments is no JSON")
		}
		in.Arguments = json.RawMessage(f.arguments)
	}
	for _, of := range []struct{ method, name string }{
		{policy.ToolsCall, f.tool}, {policy.PromptsGet, f.prompt}, {policy.ResourcesRead, f.resource},
	} {
		if of.name == "" {
			continue
		}
		if in.Method != "" {
			return nil, usageError("", "a call is of one tool, prompt or resource")
		}
		in.Method, in.Name = of.method, of.name
	}
	var err error
	if in.Annotations, err = readAnnotations(f.annotations); err != nil {
		return nil, err
	}
	if f.url == "" && f.mode == "" {
		if in.Method == "" {
			return nil, usageError("--tool NAME, --prompt NAME or --resource URI; --url URL or --mode form for a question", "nothing is called")
		}
		return req, nil
	}
	in.Phase = policy.Asked
	if in.Method == "" {
		in.Method = policy.ToolsCall
	}
	req.Question = &policy.Question{Mode: inbox.Mode(f.mode)}
	switch {
	case f.url != "" && f.mode == string(inbox.Form):
		return nil, usageError("", "a question in form mode has no URL")
	case f.url != "":
		req.Question.Mode = inbox.URL
		req.Question.Domain = strings.TrimSuffix(link.Inspect(f.url, nil).Host, ".")
	case f.mode != string(inbox.Form) && f.mode != string(inbox.URL):
		return nil, usageError("choose form or url", "--mode %q is not known", f.mode)
	}
	return req, nil
}

func (f *explainFlags) read(env *environment) (*rules.Request, error) {
	in := env.stdin
	if f.input != "-" {
		file, err := os.Open(f.input)
		if err != nil {
			return nil, usageError("", "reading the input: %w", err)
		}
		defer file.Close()
		in = file
	}
	b, err := io.ReadAll(io.LimitReader(in, rules.MaxFile+1))
	if err != nil {
		return nil, usageError("", "reading the input: %w", err)
	}
	req, err := rules.ReadRequest(f.input, b)
	if err != nil {
		return nil, policyError(err)
	}
	return req, nil
}

// readAnnotations reads a list such as "readOnly,openWorld=false".
func readAnnotations(list string) (a policy.Annotations, err error) {
	if list == "" {
		return a, nil
	}
	known := map[string]**bool{
		"readOnly": &a.ReadOnly, "destructive": &a.Destructive, "idempotent": &a.Idempotent, "openWorld": &a.OpenWorld,
	}
	for item := range strings.SplitSeq(list, ",") {
		name, value, given := strings.Cut(strings.TrimSpace(item), "=")
		at, ok := known[name]
		if !ok || given && value != "true" && value != "false" {
			return a, usageError("readOnly, destructive, idempotent, openWorld, each perhaps with =false", "--annotations: %q is not known", item)
		}
		yes := value != "false"
		*at = &yes
	}
	return a, nil
}

// An explanation is what is printed.
type explanation struct {
	Decision string         `json:"decision"`
	Reason   string         `json:"reason"`
	Rule     string         `json:"rule"`
	File     string         `json:"file"`
	Line     int            `json:"line,omitempty"` // of the rule; absent for the default
	Assign   *assignee      `json:"assign,omitempty"`
	Other    bool           `json:"other,omitempty"` // the approver is not who asks
	Offer    []policy.Scope `json:"offer,omitempty"`
	Steps    []rules.Step   `json:"steps"`
}

type assignee struct {
	Group     string           `json:"group,omitempty"`
	Principal *inbox.Principal `json:"principal,omitempty"`
}

func (x *explanation) read(from rules.Explanation, question bool) {
	x.Line, x.Steps = from.Line, from.Steps
	if question {
		s := from.Showing
		x.Decision, x.Reason, x.Rule = "refuse", s.Reason, s.Rule
		if s.Show {
			x.Decision = "show"
		}
		return
	}
	d := from.Decision
	x.Decision, x.Reason, x.Rule, x.Other, x.Offer = string(d.Effect), d.Reason, d.Rule, d.Other, d.Offer
	if !d.Assign.IsZero() {
		x.Assign = &assignee{Group: d.Assign.Group}
		if d.Assign.Group == "" {
			x.Assign.Principal = &d.Assign.Principal
		}
	}
}

func (x *explanation) print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", x.Decision, x.Reason)
	if x.Line > 0 {
		fmt.Fprintf(&b, "  decided by %q, %s:%d\n", x.Rule, x.File, x.Line)
	} else {
		fmt.Fprintf(&b, "  decided by the default %q\n", x.Rule)
	}
	if x.Decision == string(policy.Ask) {
		fmt.Fprintf(&b, "  approved by %s\n", x.approver())
		var scopes []string
		for _, s := range x.Offer {
			scopes = append(scopes, string(s))
		}
		fmt.Fprintf(&b, "  may be given: %s\n", strings.Join(scopes, ", "))
	}
	if names := x.unsure(); names != "" {
		fmt.Fprintf(&b, "  could not be judged: %s; the stricter outcome holds, match or no match\n", names)
	}
	b.WriteString("\nrules, in order:\n")
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, s := range x.Steps {
		place := "default"
		if s.Line > 0 {
			place = fmt.Sprintf("%s:%d", x.File, s.Line)
		}
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\n", place, s.Rule, s.Outcome, s.Why)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// unsure names the rules that could not be evaluated.
func (x *explanation) unsure() string {
	var names []string
	for _, s := range x.Steps {
		if s.Outcome == rules.Unknown {
			names = append(names, strconv.Quote(s.Rule))
		}
	}
	return strings.Join(names, ", ")
}

func (x *explanation) approver() string {
	switch {
	case x.Assign == nil:
		return "the person on whose behalf the call is made"
	case x.Assign.Group != "" && x.Other:
		return fmt.Sprintf("another member of the group %q", x.Assign.Group)
	case x.Assign.Group != "":
		return fmt.Sprintf("a member of the group %q", x.Assign.Group)
	}
	return fmt.Sprintf("%q of %s", x.Assign.Principal.Subject, x.Assign.Principal.Issuer)
}
