package host_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/policy"
)

// trail is what Ada's trail has of a call, oldest first, of these kinds: each with the
// rule, and whether there is an approval.
func (r *rig) trail(id inbox.CallID, kinds ...inbox.AuditKind) (list []string) {
	r.t.Helper()
	entries, err := r.in.Audit(r.t.Context(), ada, inbox.AuditFilter{Call: id, Kinds: kinds})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, e := range slices.Backward(entries) {
		text := fmt.Sprint(e.Kind, " ", e.Rule)
		if e.Approval != "" {
			text += " approval"
		}
		list = append(list, text)
	}
	return list
}

// The trail says by which rule a call was sent, and an answer delivered.
func TestTrailTellsWhatAllowed(t *testing.T) {
	t.Parallel()
	modern, _ := web(t, "modern", &hosttest.Script{Tools: map[string]hosttest.Tool{"order": func(x *hosttest.Exchange) {
		if x.State == nil {
			x.Asks("{"+request("size", askSize)+"}", "state")
			return
		}
		x.Text("ordered")
	}}})
	script := legacy("2025-11-25")
	script.Tools = map[string]hosttest.Tool{"order": func(x *hosttest.Exchange) {
		x.Elicit(askSize)
		x.Text("ordered")
	}}
	held, _ := web(t, "held", script)
	p := &changing{}
	r := newRig(t, nil, &rigOptions{host: host.Options{Policy: p}}, modern, held)
	p.set(func(in *policy.Input) (policy.Decision, error) {
		d, err := allows(in)
		// A program's own policy may say anything.
		d.Rule = "may " + string(in.Phase) + "\x00\xff" + strings.Repeat("!", 1<<20)
		return d, err
	})
	kinds := []inbox.AuditKind{inbox.AuditComposed, inbox.AuditAllowed, inbox.AuditDelivered, inbox.AuditFinished}
	for server, phase := range map[string]policy.Phase{"modern": policy.Resume, "held": policy.Deliver} {
		c := r.start(server, "order", "")
		r.step(c.ID, map[string]host.Why{"modern": host.Asked, "held": host.Held}[server])
		r.answer(r.one(c.ID), inbox.Accept, `{"n":1}`)
		if server == "modern" {
			r.step(c.ID, "")
		}
		r.until(c.ID, inbox.Done)
		rule := func(phase policy.Phase) string {
			return " " + ("may " + string(phase) + strings.Repeat("!", 1<<10))[:1<<10]
		}
		want := []string{"composed" + rule(policy.Compose), "delivered" + rule(phase), "finished "}
		if diff := cmp.Diff(want, r.trail(c.ID, kinds...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", server, diff)
		}
	}

	p.set(asks)
	for range 2 { // the second is covered
		c := r.compose("modern", "order")
		if c.State == inbox.Approving {
			r.decide(r.approval(c.ID), true, inbox.Always)
		}
		r.step(c.ID, host.Asked)
		r.answer(r.one(c.ID), inbox.Accept, `{"n":1}`)
		r.step(c.ID, "")
		want := []string{"composed ask approval", "delivered ask approval", "finished  approval"}
		if got := r.trail(c.ID, kinds...); !slices.Equal(got[1:], want[1:]) || c.State != inbox.Approving && got[0] != want[0] {
			t.Errorf("%s: %q", c.State, got)
		}
	}
}
