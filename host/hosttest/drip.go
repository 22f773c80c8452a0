package hosttest

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// drip plays f again and again until the client gives up.
func drip(x *Exchange, every time.Duration, f func(n int)) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for n := 0; ; n++ {
		select {
		case <-ticker.C:
			f(n)
		case <-x.Context.Done():
			return
		}
	}
}

// response is the HTTP response of the exchange, for what is no event stream.
func (x *Exchange) response() http.ResponseWriter { return x.wire.(*httpWire).w } //nolint:forcetypeassert // scripts of overHTTP alone use it

// begins writes the head of a response.
func (x *Exchange) begins(status int, header ...string) http.ResponseWriter {
	w := x.response()
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		w.Header().Set(name, value)
	}
	w.WriteHeader(status)
	flush(w)
	return w
}

// pours writes text without end, as fast as it is read.
func pours(x *Exchange, w io.Writer, text string) {
	for x.Context.Err() == nil {
		if _, err := io.WriteString(w, text); err != nil {
			return
		}
	}
}

// headersForEver takes the connection and writes one header after the other;
// each is over before the client's own limit of them all would end it.
func headersForEver(x *Exchange) {
	conn, _, err := http.NewResponseController(x.response()).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	// The server no longer looks whether a client that was hijacked is there.
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = bufio.NewReader(conn).ReadByte()
	}()
	_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n")
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for n := 0; ; n++ {
		select {
		case <-gone:
			return
		case <-ticker.C:
			fmt.Fprintf(conn, "X-%d: x\r\n", n)
		}
	}
}

// pouring is a response without end, as fast as it is read.
func pouring(status int, kind, before string) Tool {
	return func(x *Exchange) {
		w := x.begins(status, "Content-Type: "+kind)
		_, _ = io.WriteString(w, before)
		pours(x, w, strings.Repeat(" ", 1<<16))
	}
}

// bomb is a response of few bytes that are very many when they are decoded.
func bomb(status int, kind, before string) Tool {
	return func(x *Exchange) {
		w := x.begins(status, "Content-Type: "+kind, "Content-Encoding: gzip")
		z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed) // the level is one
		_, _ = io.WriteString(z, before)
		for space := []byte(strings.Repeat(" ", 1<<18)); x.Context.Err() == nil; {
			if _, err := z.Write(space); err != nil || z.Flush() != nil {
				return
			}
			flush(w)
		}
	}
}

// dripping is a response without end, byte by byte.
func dripping(status int) Tool {
	return func(x *Exchange) {
		w := x.begins(status, "Content-Type: "+kindJSON)
		drip(x, time.Millisecond, func(int) { _, _ = io.WriteString(w, " "); flush(w) })
	}
}

// bare is a response without a body.
func bare(status int) Tool { return func(x *Exchange) { x.Status(status, nil) } }

func page(x *Exchange) {
	_, _ = io.WriteString(x.begins(http.StatusOK, "Content-Type: text/html"), "<html>")
}

func commentsDrip(x *Exchange) { drip(x, time.Millisecond, func(int) { x.Raw(": still here\n\n") }) }

const (
	kindJSON   = "application/json"
	kindEvents = "text/event-stream"
)

// asked is what a server does when it is asked what it is, in whichever era.
func asked(tool Tool) *Script {
	return &Script{Methods: map[string]Tool{"server/discover": tool, "initialize": tool}}
}

// overHTTP is what a server can do over HTTP only.
func overHTTP() map[string]*Script {
	const ok, wrong = http.StatusOK, http.StatusInternalServerError
	return map[string]*Script{
		"headers for ever when it is asked what it is":    asked(headersForEver),
		"a body byte by byte when it is asked what it is": asked(dripping(ok)),
		"comments for ever when it is asked what it is":   asked(commentsDrip),
		"a body without end when it is asked what it is":  asked(pouring(ok, kindJSON, "")),
		"a gzip bomb when it is asked what it is":         asked(bomb(ok, kindJSON, "")),

		"202 when it is asked what it is":         asked(bare(http.StatusAccepted)),
		"a page when it is asked what it is":      asked(page),
		"202 on discover alone":                   discoversNothing(bare(http.StatusAccepted)),
		"204 on discover alone":                   discoversNothing(bare(http.StatusNoContent)),
		"a page on discover alone":                discoversNothing(page),
		"prose on discover alone":                 discoversNothing(func(x *Exchange) { x.Raw("data: <html>\n\n") }),
		"an empty stream on discover alone":       discoversNothing(func(x *Exchange) { x.Raw(": nothing\n\n") }),
		"comments for ever on discover alone":     discoversNothing(commentsDrip),
		"headers for ever on discover alone":      discoversNothing(headersForEver),
		"a body byte by byte on discover alone":   discoversNothing(dripping(ok)),
		"an error byte by byte on discover alone": discoversNothing(dripping(wrong)),
		"dies on discover alone":                  discoversNothing(die),
		"answers discover in a stream that stays open": with("server/discover", func(x *Exchange) {
			x.Notify("notifications/message", `{"level":"info","data":1}`)
			discovers("2026-07-28")(x)
			silent(x)
		}),
		// It wakes up more slowly than a client that knows nothing of it waits.
		"slow when it is first asked what it is": with("server/discover", func(x *Exchange) {
			if x.N == 0 {
				silent(x)
				return
			}
			discovers("2026-07-28")(x)
		}),

		"headers for ever when its tools are listed":    with("tools/list", headersForEver),
		"a body byte by byte when its tools are listed": with("tools/list", dripping(ok)),
		"a gzip bomb when its tools are listed":         with("tools/list", bomb(ok, kindJSON, "")),

		"headers for ever in a call":       once(headersForEver),
		"headers for ever when it goes on": once(thenAsks(headersForEver)),
		"a body byte by byte in a call":    once(dripping(ok)),
		"an error byte by byte":            once(dripping(wrong)),
		"comments for ever in a call":      once(commentsDrip),
		"a comment without end in a call":  once(pouring(ok, kindEvents, ": ")),
		"an event without end in a call":   once(pouring(ok, kindEvents, "data: ")),
		"a body without end in a call":     once(pouring(ok, kindJSON, "")),
		"an error without end":             once(pouring(wrong, kindJSON, "")),
		"a gzip bomb in a call":            once(bomb(ok, kindJSON, "")),
		"a gzip bomb of events in a call":  once(bomb(ok, kindEvents, "data: ")),
		"a gzip bomb of an error":          once(bomb(wrong, kindJSON, "")),
		"a body that promises more than comes": once(func(x *Exchange) {
			_, _ = io.WriteString(x.begins(ok, "Content-Type: "+kindJSON, "Content-Length: 500"), "{")
			silent(x)
		}),
		"a page in the place of a reply": once(page),
		"202 in the place of a reply":    once(bare(http.StatusAccepted)),
		"becomes a server of an older revision": becomesOlder(func(x *Exchange) {
			w := x.begins(http.StatusBadRequest, "Content-Type: "+kindJSON)
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: Server not initialized"}}`)
		}, nil),
		"refuses the revision of before": becomesOlder(nil, unsupported),
	}
}

// becomesOlder is a server that is replaced, while its question is open, by a
// build that knows only the older era. It says so when its tools are listed, or
// when the call goes on; nil says nothing.
func becomesOlder(atList, atCall Tool) *Script {
	refused := func(x *Exchange, refuse, next Tool) {
		if x.N > 0 && refuse != nil && x.Header.Get("Mcp-Session-Id") == "" {
			next = refuse
		}
		next(x)
	}
	list := func(x *Exchange) {
		x.Result(`{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"tool","inputSchema":{"type":"object"}}]}`)
	}
	return &Script{
		Tools: map[string]Tool{"tool": func(x *Exchange) {
			refused(x, atCall, thenAsks(func(x *Exchange) { x.Text("wrong") }))
		}},
		Methods: map[string]Tool{
			"server/discover": func(x *Exchange) {
				if x.N > 0 {
					x.Error(-32601, "method not found", "")
					return
				}
				discovers("2026-07-28")(x)
			},
			"initialize": func(x *Exchange) {
				x.response().Header().Set("Mcp-Session-Id", "s-1")
				initializes(legacyRevision)(x)
			},
			"tools/list": func(x *Exchange) { refused(x, atList, list) },
		},
	}
}

// onPipes is what a program can do.
func onPipes() map[string]*Script {
	lineDrips := func(x *Exchange) {
		x.Raw(`{"jsonrpc":"2.0",`)
		drip(x, time.Millisecond, func(int) { x.Raw(" ") })
	}
	lineWithoutEnd := func(x *Exchange) {
		x.Raw(`{"jsonrpc":"2.0",`)
		for x.Context.Err() == nil {
			x.Raw(strings.Repeat(" ", 1<<16))
		}
	}
	return map[string]*Script{
		"dies of a first message that is not initialize": {Revision: legacyRevision, Methods: map[string]Tool{"server/discover": die}, inOrder: true},

		"a line byte by byte when it is asked what it is": asked(lineDrips),
		"a line byte by byte when its tools are listed":   with("tools/list", lineDrips),
		"a line byte by byte in a call":                   once(lineDrips),
		"a line without end in a call":                    once(lineWithoutEnd),
		"closes its output and stays": once(func(x *Exchange) {
			_ = os.Stdout.Close()
			silent(x)
		}),
		"talks without end on its standard error": once(func(x *Exchange) {
			for range 20_000 {
				fmt.Fprintln(os.Stderr, strings.Repeat("worry ", 50))
			}
			x.Text("ok")
		}),
	}
}
