package host_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/host/hosttest"
	"github.com/parley-mcp/parley/inbox"
)

// bothEras is a server that speaks both. It is asked what it is through discover, if that
// is not nil, with the number of earlier times.
func bothEras(asked *atomic.Int32, discover func(x *hosttest.Exchange) bool) *hosttest.Script {
	return &hosttest.Script{
		Tools: map[string]hosttest.Tool{"tool": func(x *hosttest.Exchange) {
			if x.State == nil {
				x.Asks("{"+request("q", askName)+"}", "s")
				return
			}
			x.Text("ok")
		}},
		Methods: map[string]hosttest.Tool{
			"server/discover": func(x *hosttest.Exchange) {
				asked.Add(1)
				if discover == nil || discover(x) {
					x.Result(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0}`)
				}
			},
			"initialize": func(x *hosttest.Exchange) {
				x.Result(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"both","version":"1"}}`)
			},
		},
	}
}

// nobodyIsThatFast is a probe's time in which no server answers.
const nobodyIsThatFast = time.Nanosecond

// A server that is slow to wake up and speaks both eras is not taken for a legacy one
// where a call waits that it has asked in the modern era.
func TestParkedCallKnowsTheEra(t *testing.T) {
	t.Parallel()
	s, _ := web(t, "shop", bothEras(new(atomic.Int32), nil))
	b := backends["memory"](t)
	r := newRig(t, b, nil, s)
	call := r.start("shop", "tool", "")
	r.step(call.ID, host.Asked)
	r.answer(r.one(call.ID), inbox.Accept, `{"name":"Ada"}`)
	r.Close()
	r = newRig(t, b, &rigOptions{host: host.Options{ProbeTimeout: nobodyIsThatFast}}, s)
	if end := r.step(call.ID, ""); end.State != inbox.Done {
		t.Errorf("ended %s (%q)", end.State, end.Detail)
	}
}

// The same where somebody's look at the tools came first, and took the server for a legacy
// one: the answered call does not go on in that session.
func TestParkedCallLeavesTheGuess(t *testing.T) {
	t.Parallel()
	var sleeps atomic.Bool
	s, wire := web(t, "shop", bothEras(new(atomic.Int32), func(x *hosttest.Exchange) bool {
		if sleeps.Load() {
			<-x.Context.Done()
			return false
		}
		return true
	}))
	b := backends["memory"](t)
	r := newRig(t, b, nil, s)
	call := r.start("shop", "tool", "")
	r.step(call.ID, host.Asked)
	r.Close()
	r = newRig(t, b, &rigOptions{host: host.Options{ProbeTimeout: nobodyIsThatFast}}, s)
	sleeps.Store(true) // for as long as that look takes, however fast the server is
	if _, err := r.Tools(t.Context(), ada, "shop"); err != nil {
		t.Fatal(err)
	}
	sleeps.Store(false)
	if st := r.Servers(ada)[0]; st.Era != inbox.Legacy {
		t.Fatalf("era %s before the answer", st.Era)
	}
	r.answer(r.one(call.ID), inbox.Accept, `{"name":"Ada"}`)
	if end := r.step(call.ID, ""); end.State != inbox.Done || len(wire.Calls()) != 2 {
		t.Errorf("ended %s (%q) after %d sends", end.State, end.Detail, len(wire.Calls()))
	}
	if st := r.Servers(ada)[0]; st.Era != inbox.Modern {
		t.Errorf("era %s afterwards", st.Era)
	}
}

// Silence makes a server count as legacy for one session. The next asks again.
func TestSilenceIsAGuess(t *testing.T) {
	t.Parallel()
	asked := new(atomic.Int32)
	s, _ := web(t, "shop", bothEras(asked, func(x *hosttest.Exchange) bool {
		if x.N == 0 {
			<-x.Context.Done()
			return false
		}
		return true
	}))
	r := newRig(t, nil, &rigOptions{host: host.Options{ProbeTimeout: 5 * time.Second}}, s)
	for i, want := range []inbox.Era{inbox.Legacy, inbox.Modern} {
		p := []inbox.Principal{ada, bob}[i]
		if _, err := r.Tools(t.Context(), p, "shop"); err != nil {
			t.Fatal(err)
		}
		if st := r.Servers(p)[0]; st.Era != want || asked.Load() != int32(i+1) {
			t.Errorf("%s: era %s after it was asked %d times, want %s", p.Subject, st.Era, asked.Load(), want)
		}
	}
}

// A server that is known to be modern may take its time, and one that was replaced by a
// silent one of the era before is found out when all of it has passed.
func TestModernServerFallsSilent(t *testing.T) {
	t.Parallel()
	s, _ := web(t, "shop", bothEras(new(atomic.Int32), func(x *hosttest.Exchange) bool {
		if x.N > 0 {
			<-x.Context.Done()
			return false
		}
		return true
	}))
	r := newRig(t, nil, &rigOptions{host: host.Options{ProbeTimeout: 5 * time.Second, ConnectTimeout: 10 * time.Second}}, s)
	for i, want := range []inbox.Era{inbox.Modern, inbox.Legacy} {
		p := []inbox.Principal{ada, bob}[i]
		if _, err := r.Tools(t.Context(), p, "shop"); err != nil {
			t.Fatal(err)
		}
		if st := r.Servers(p)[0]; st.Era != want {
			t.Errorf("%s: era %s, want %s", p.Subject, st.Era, want)
		}
	}
}

// A message of an event stream may be over several lines of data: the server is what it
// says it is, and its tools are read as it wrote them.
func TestReplyOverSeveralLines(t *testing.T) {
	t.Parallel()
	split := func(result string) hosttest.Tool {
		return func(x *hosttest.Exchange) {
			x.Raw("data: {\"jsonrpc\":\"2.0\",\"id\":" + string(x.ID) + ",\ndata: \"result\":" + strings.ReplaceAll(result, ",", ",\ndata: ") + "}\n\n")
		}
	}
	script := bothEras(new(atomic.Int32), nil)
	script.Methods["server/discover"] = split(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0}`)
	script.Methods["tools/list"] = split(`{"resultType":"complete","ttlMs":0,"tools":[{"name":"tool","inputSchema":{"type":"object","z":1,"a":2}}]}`)
	s, _ := web(t, "shop", script)
	r := newRig(t, nil, nil, s)
	tools, err := r.Tools(t.Context(), ada, "shop")
	if err != nil || len(tools) != 1 || string(tools[0].InputSchema) != "{\"type\":\"object\",\n\"z\":1,\n\"a\":2}" {
		t.Errorf("tools %+v (%v)", tools, err)
	}
	if st := r.Servers(ada)[0]; st.Era != inbox.Modern {
		t.Errorf("era %s, want modern", st.Era)
	}
}
