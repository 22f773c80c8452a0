package receivers_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A told is a mail server and a chat: where receivers tell people.
type told struct {
	mail, chat string // addresses
	texts      chan string
	away       atomic.Bool // it takes nothing
}

func newTold(t *testing.T) *told {
	t.Helper()
	d := &told{texts: make(chan string, 100)}
	d.serveMail(t)
	d.serveChat(t)
	return d
}

// nothing fails if somebody was told something.
func (d *told) nothing(t *testing.T, what string) {
	t.Helper()
	select {
	case text := <-d.texts:
		t.Errorf("somebody was told of %s: %s", what, text)
	default:
	}
}

// serveChat is a chat's webhook: what is posted to it was told.
func (d *told) serveChat(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Text string }
		if err := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&in); err != nil || d.away.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		d.texts <- in.Text
	}))
	t.Cleanup(server.Close)
	d.chat = server.URL
}

// serveMail speaks as much SMTP (RFC 5321) as programs that send one mail need.
func (d *told) serveMail(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d.mail = ln.Addr().String()
	var all sync.WaitGroup
	t.Cleanup(func() {
		ln.Close()
		all.Wait()
	})
	all.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer conn.Close()
				d.session(conn)
			})
		}
	})
}

func (d *told) session(conn net.Conn) {
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return
	}
	say := func(line string) { fmt.Fprint(conn, line+"\r\n") }
	say("220 mail.example")
	lines := bufio.NewScanner(conn)
	var to string
	for lines.Scan() {
		verb, _, _ := strings.Cut(strings.ToUpper(lines.Text()), " ")
		switch verb {
		case "DATA":
			say("354 go on")
			text := to + "\n"
			for lines.Scan() && lines.Text() != "." {
				text += lines.Text() + "\n"
			}
			d.texts <- text
			say("250 taken")
		case "RCPT":
			to = lines.Text()
			say("250 yes")
		case "QUIT":
			say("221 bye")
			return
		case "MAIL":
			if d.away.Load() {
				say("451 not now")
				continue
			}
			say("250 yes")
		default:
			say("250 yes")
		}
	}
}
