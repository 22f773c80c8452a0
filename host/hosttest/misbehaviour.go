package hosttest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Misbehaviour is one way in which a server can be against its client. What a
// host has to make of it is for the host's own test to say, which must have a
// row for each.
type Misbehaviour struct {
	Name   string
	Script *Script // its tool is called "tool"
	HTTP   bool    // it can be played over HTTP
	Stdio  bool    // and by a program
}

// Misbehaviours lists them by name.
func Misbehaviours() []Misbehaviour {
	list := slices.Concat(misbehaviours(true, true, anywhere()), misbehaviours(true, false, overHTTP()), misbehaviours(true, false, cuts()),
		misbehaviours(false, true, onPipes()))
	slices.SortFunc(list, func(a, b Misbehaviour) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

func misbehaviours(web, stdio bool, scripts map[string]*Script) []Misbehaviour {
	list := make([]Misbehaviour, 0, len(scripts))
	for name, script := range scripts {
		if script.Tools == nil {
			script.Tools = map[string]Tool{"tool": func(x *Exchange) { x.Text("ok") }}
		}
		list = append(list, Misbehaviour{Name: name, Script: script, HTTP: web, Stdio: stdio})
	}
	return list
}

const legacyRevision = "2025-11-25"

const askForm = `{"message":"Who are you?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}`

// inputRequests has these questions, under keys of their place.
func inputRequests(questions ...string) string {
	list := make([]string, len(questions))
	for i, q := range questions {
		list[i] = fmt.Sprintf(`"q%d":{"method":"elicitation/create","params":%s}`, i, q)
	}
	return "{" + strings.Join(list, ",") + "}"
}

func elicitation(id, params string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"elicitation/create","params":` + params + `}`
}

// numbered is a form that no other has asked.
func numbered(n int) string { return fmt.Sprintf(`{"message":"Question %d?"}`, n) }

// nested is a value of so many arrays.
func nested(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }

// once is a server of the modern era with the one tool.
func once(tool Tool) *Script { return &Script{Tools: map[string]Tool{"tool": tool}} }

// inOlder is one of the legacy era.
func inOlder(tool Tool) *Script {
	return &Script{Revision: legacyRevision, Tools: map[string]Tool{"tool": tool}}
}

// with plays the requests of one method.
func with(method string, tool Tool) *Script {
	return &Script{Methods: map[string]Tool{method: tool}}
}

// thenAsks asks in the first round and plays the rest with next.
func thenAsks(next Tool) Tool {
	return func(x *Exchange) {
		if x.State == nil {
			x.Asks(inputRequests(askForm), "s")
			return
		}
		next(x)
	}
}

// needsPage wants one page visited before it goes on: error -32042.
func needsPage(x *Exchange, id string) {
	x.Error(-32042, "pages", fmt.Sprintf(`{"elicitations":[{"mode":"url","message":"Pay","url":"https://pay.example/%s","elicitationId":"e%s"}]}`, id, id))
}

func die(x *Exchange) { x.Die() }

// silent says nothing until the client gives up.
func silent(x *Exchange) { <-x.Context.Done() }

// anywhere is what a server can do on each transport.
func anywhere() map[string]*Script {
	return map[string]*Script{
		// It dies at each step.
		"dies when it is asked what it is": asked(die),
		"dies when its tools are listed":   with("tools/list", die),
		"dies in a call":                   once(die),
		"dies in a call, older":            inOlder(die),
		"dies when it goes on":             once(thenAsks(die)),
		"dies when it has the answer":      inOlder(func(x *Exchange) { x.Elicit(askForm); x.Die() }),
		"dies while its question is open":  inOlder(diesAsking),
		"half a frame, then it dies":       once(func(x *Exchange) { x.Raw(`data: {"jsonrpc":"2.0","id":`); x.Die() }),

		// It is silent, or slow.
		"silent when it is asked what it is": asked(silent),
		"silent on discover alone":           discoversNothing(silent),
		"silent when its tools are listed":   with("tools/list", silent),
		"silent in a call":                   once(silent),
		"silent when it goes on":             once(thenAsks(silent)),
		"half a frame, then silence":         once(func(x *Exchange) { x.Raw(`data: {"jsonrpc":"2.0","id":`); silent(x) }),
		"progress for ever": once(func(x *Exchange) {
			drip(x, 20*time.Millisecond, func(n int) {
				x.Notify("notifications/progress", fmt.Sprintf(`{"progressToken":%s,"progress":%d}`, x.Meta["progressToken"], n))
			})
		}),
		"junk for ever": once(func(x *Exchange) { drip(x, time.Millisecond, func(int) { x.Raw("debug: still here\n") }) }),

		// It answers wrongly.
		"answers twice": once(func(x *Exchange) {
			x.Notify("notifications/message", `{"level":"info","data":1}`)
			x.Text("first")
			x.Text("second")
		}),
		"answers another request":       once(func(x *Exchange) { x.ID = []byte(`777`); x.Text("ok") }),
		"answers under an id like ours": once(func(x *Exchange) { x.ID = fmt.Appendf(nil, "%q", x.ID); x.Text("ok") }),
		"answers and fails at once": once(func(x *Exchange) {
			x.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{},"error":{"code":1,"message":"no"}}`, x.ID))
		}),
		"state, and says that it is done": once(func(x *Exchange) { x.Result(`{"resultType":"complete","content":[],"requestState":"s"}`) }),
		"answers with a batch":            once(func(x *Exchange) { x.Send(fmt.Sprintf(`[{"jsonrpc":"2.0","id":%s,"result":{}}]`, x.ID)) }),
		"answers with prose":              once(func(x *Exchange) { x.Raw("data: <html>\n\n") }),

		// It asks without end, or out of turn.
		"asks for ever":                 once(func(x *Exchange) { x.Asks(inputRequests(numbered(x.N)), "s") }),
		"asks the same for ever":        once(func(x *Exchange) { x.Asks(inputRequests(askForm), "s") }),
		"asks for ever, older":          inOlder(asksOn),
		"one page for ever, older":      inOlder(func(x *Exchange) { needsPage(x, "1") }),
		"other pages for ever, older":   inOlder(func(x *Exchange) { needsPage(x, fmt.Sprint(x.N)) }),
		"wants to be asked for ever":    once(func(x *Exchange) { x.Asks("", "later") }),
		"asks after the end":            inOlder(func(x *Exchange) { x.Text("ok"); x.Send(elicitation("9", askForm)) }),
		"asks twice under one id":       inOlder(asksTwiceUnderOneID),
		"takes its question back":       inOlder(takesBack),
		"asks a hundred things at once": once(func(x *Exchange) { x.Asks(inputRequests(many(100)...), "s") }),
		"asks a thousand at once":       once(func(x *Exchange) { x.Asks(inputRequests(many(1000)...), "s") }),
		"floods with questions":         inOlder(floodsWithQuestions),
		"floods with notifications": once(func(x *Exchange) {
			for range 2000 {
				x.Notify("notifications/message", `{"level":"info","data":"`+strings.Repeat("x", 400)+`"}`)
			}
			x.Text("ok")
		}),
		"floods with pings":         once(floodsWithPings),
		"floods with pings, older":  inOlder(floodsWithPings),
		"floods with cancellations": inOlder(floodsWithCancellations),
		"floods with completions": inOlder(func(x *Exchange) {
			for n := range 2000 {
				x.Notify("notifications/elicitation/complete", fmt.Sprintf(`{"elicitationId":"e%d"}`, n))
			}
			x.Text("ok")
		}),

		// It sends what is huge or deep.
		"a huge schema":           once(func(x *Exchange) { x.Asks(inputRequests(hugeForm(2<<20)), "s") }),
		"a huge schema, older":    inOlder(func(x *Exchange) { x.Text(short(x.Elicit(hugeForm(2 << 20)))) }),
		"a large schema":          once(thenWith(hugeForm(700<<10), func(x *Exchange) { x.Text("ok") })),
		"a deep schema":           once(thenWith(deepForm(300), func(x *Exchange) { x.Text("ok") })),
		"a deeper schema":         once(func(x *Exchange) { x.Asks(inputRequests(deepForm(5000)), "s") }),
		"a schema of many fields": once(thenWith(wideForm(5000), func(x *Exchange) { x.Text("ok") })),
		"a huge request state":    once(func(x *Exchange) { x.Asks(inputRequests(askForm), strings.Repeat("s", 2<<20)) }),
		"a huge result":           once(func(x *Exchange) { x.Text(strings.Repeat("x", 6<<20)) }),
		"a deep result":           once(func(x *Exchange) { x.Result(`{"content":[],"structuredContent":{"a":` + nested(5000) + `}}`) }),
		"a huge error":            once(func(x *Exchange) { x.Error(-32603, strings.Repeat("no ", 1<<20), "") }),
		"a deep error":            once(func(x *Exchange) { x.Error(-32603, "no", nested(5000)) }),

		// It lies about its era.
		"modern, and calls back":            once(func(x *Exchange) { x.Text(short(x.Elicit(askForm))) }),
		"older, and asks in its result":     inOlder(func(x *Exchange) { x.Asks(inputRequests(askForm), "s") }),
		"discovers a revision of its own":   with("server/discover", discovers("2099-01-01")),
		"initializes a revision of its own": {Revision: legacyRevision, Methods: map[string]Tool{"initialize": initializes("1.0")}},
		"initializes as modern":             {Revision: legacyRevision, Methods: map[string]Tool{"initialize": initializes("2026-07-28")}},
		"forgets what it speaks":            once(thenAsks(unsupported)),

		// It changes, or forgets.
		"changes its tools": {Tools: map[string]Tool{"tool": thenAsks(func(x *Exchange) { x.Text("ok") })}, Listed: func(n int) string {
			return fmt.Sprintf(`[{"name":"tool","description":"one","inputSchema":{"type":"object","properties":{"p%d":{}}}}]`, n)
		}},
		"loses its tools": {Tools: map[string]Tool{"tool": thenAsks(func(x *Exchange) { x.Text("ok") })}, Listed: func(n int) string {
			return []string{"", "[]"}[min(n, 1)]
		}},
		"loses its key": once(thenAsks(func(x *Exchange) { x.Error(-32602, "bad state", `{"reason":"invalid_request_state"}`) })),

		// Its list of tools is no list.
		"lists pages for ever": with("tools/list", func(x *Exchange) {
			x.Result(fmt.Sprintf(`{"resultType":"complete","tools":[{"name":"t%d","inputSchema":{"type":"object"}}],"nextCursor":"c%d"}`, x.N, x.N))
		}),
		"lists the same page for ever": with("tools/list", func(x *Exchange) {
			x.Result(`{"resultType":"complete","tools":[{"name":"tool","inputSchema":{"type":"object"}}],"nextCursor":"c"}`)
		}),
		"lists too many tools": with("tools/list", func(x *Exchange) {
			list := make([]string, 6000)
			for i := range list {
				list[i] = fmt.Sprintf(`{"name":"t%d","inputSchema":{"type":"object"}}`, i)
			}
			x.Result(`{"resultType":"complete","tools":[` + strings.Join(list, ",") + `]}`)
		}),
		"lists heavy pages for ever": with("tools/list", func(x *Exchange) {
			x.Result(fmt.Sprintf(`{"resultType":"complete","tools":[{"name":"t%d","description":%q,"inputSchema":{"type":"object"}}],"nextCursor":"c%d"}`,
				x.N, strings.Repeat("x", 900<<10), x.N))
		}),
		"lists a huge page": with("tools/list", func(x *Exchange) {
			x.Result(fmt.Sprintf(`{"resultType":"complete","tools":[{"name":"tool","description":%q,"inputSchema":{"type":"object"}}]}`, strings.Repeat("x", 6<<20)))
		}),
		"lists a deep schema": with("tools/list", func(x *Exchange) {
			x.Result(`{"resultType":"complete","tools":[{"name":"tool","inputSchema":{"type":"object","x":` + nested(5000) + `}}]}`)
		}),
		"lists what is no list": with("tools/list", func(x *Exchange) { x.Result(`{"resultType":"complete","tools":"all of them"}`) }),
	}
}

// discoversNothing is a server of the legacy era that does this when it is asked for a later one.
func discoversNothing(tool Tool) *Script {
	return &Script{Revision: legacyRevision, Methods: map[string]Tool{"server/discover": tool}}
}

func discovers(version string) Tool {
	return func(x *Exchange) {
		x.Result(fmt.Sprintf(`{"resultType":"complete","supportedVersions":[%q],"capabilities":{"tools":{}},"ttlMs":0}`, version))
	}
}

func initializes(version string) Tool {
	return func(x *Exchange) {
		x.Result(fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"hosttest","version":"1"}}`, version))
	}
}

func unsupported(x *Exchange) {
	x.Error(-32022, "unsupported protocol version", `{"supported":["2025-11-25"],"requested":"2026-07-28"}`)
}

func many(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = numbered(i)
	}
	return list
}

func hugeForm(size int) string {
	return fmt.Sprintf(`{"message":"?","requestedSchema":{"type":"object","properties":{"name":{"type":"string","description":%q}}}}`, strings.Repeat("x", size))
}

func deepForm(levels int) string {
	return `{"message":"?","requestedSchema":{"type":"object","properties":{"name":{"type":"string","x":` + nested(levels) + `}}}}`
}

func wideForm(fields int) string {
	list := make([]string, fields)
	for i := range list {
		list[i] = fmt.Sprintf(`"f%d":{"type":"string"}`, i)
	}
	return `{"message":"?","requestedSchema":{"type":"object","properties":{` + strings.Join(list, ",") + `}}}`
}

// thenWith asks the one question in the first round.
func thenWith(question string, next Tool) Tool {
	return func(x *Exchange) {
		if x.State == nil {
			x.Asks(inputRequests(question), "s")
			return
		}
		next(x)
	}
}

// short is the beginning of what the client answered.
func short(answer []byte) string { return string(answer[:min(len(answer), 200)]) }

func asksOn(x *Exchange) {
	for n := 0; ; n++ {
		if answer := x.Elicit(numbered(n)); answer == nil || strings.Contains(string(answer), `"error"`) {
			x.Text(short(answer))
			return
		}
	}
}

func asksTwiceUnderOneID(x *Exchange) {
	answer := x.Expect("5")
	x.Send(elicitation("5", numbered(1)))
	x.Send(elicitation("5", numbered(2)))
	x.Text(short(x.Await(answer)))
}

func takesBack(x *Exchange) {
	x.Send(elicitation("5", askForm))
	x.Notify("notifications/cancelled", `{"requestId":5}`)
	x.Notify("notifications/cancelled", `{"requestId":5}`)
	x.Text("ok")
}

func diesAsking(x *Exchange) {
	x.Send(elicitation("5", askForm))
	x.Die()
}

func floodsWithQuestions(x *Exchange) {
	for n := range 2000 {
		x.Send(elicitation(fmt.Sprint(n), numbered(n)))
	}
	x.Text("ok")
}

func floodsWithPings(x *Exchange) {
	for n := range 2000 {
		x.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"ping-%d","method":"ping"}`, n))
	}
	x.Text("ok")
}

// floodsWithCancellations takes back what it never asked, and the client's own call.
func floodsWithCancellations(x *Exchange) {
	for n := range 2000 {
		x.Notify("notifications/cancelled", fmt.Sprintf(`{"requestId":%d}`, n))
	}
	x.Notify("notifications/cancelled", fmt.Sprintf(`{"requestId":%s}`, x.ID))
	x.Text("ok")
}
