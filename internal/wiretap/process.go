package wiretap

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Defaults of [ProcessOptions].
const (
	DefaultGrace     = 2 * time.Second
	DefaultProbe     = 5 * time.Second
	DefaultProse     = 20 * time.Second
	DefaultStderrMax = 16 << 10
)

// drain is how long a process that has exited may keep its pipes open through its children.
const drain = time.Second

// lastState is how long the state of a process is waited for whose output has ended. It is past drain, which may pass
// before that is known.
const lastState = 2 * drain

// ProcessOptions are the options of [Tap.Process].
type ProcessOptions struct {
	// Grace is how long Close waits after it has closed the program's stdin, and again after SIGTERM, before it kills
	// the process group. Default [DefaultGrace].
	Grace time.Duration
	// Probe is how long server/discover may stay without a reply before it is answered "method not found" for the
	// server. MCP 2026-07-28 basic/transports/stdio: no response "within a reasonable timeout: the server is legacy".
	// Without it the SDK waits until its context ends, and the fallback with it. Default [DefaultProbe]; negative
	// means never.
	Probe time.Duration
	// Prose is how long a program that has written text and no message may then be silent before it counts as no
	// server. Default [DefaultProse].
	Prose time.Duration
	// StderrMax bounds how much of the end of stderr is kept, in bytes. Default [DefaultStderrMax].
	StderrMax int
}

// An ExitError says that a server's process has ended or its pipe was closed. Its text holds nothing that the program
// wrote.
type ExitError struct {
	State  string // how the process ended, as in "exit status 1"; "" if it had not
	Stderr string // the last lines it wrote there, whole if possible; to be sanitised, it may hold secrets
	Err    error  // what ended the connection, nil for the end of the stream; [ErrNotServer], *[LimitError]
}

func (e *ExitError) Error() string {
	text := "server process ended"
	if e.State != "" {
		text += ": " + e.State
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *ExitError) Unwrap() error { return e.Err }

// A Process is an [mcp.Transport] that runs a program and talks to it over stdin and stdout. It is connected once.
type Process struct {
	tap  *Tap
	cmd  *exec.Cmd
	opts ProcessOptions

	in, out *os.File
	errors  tail
	lines   chan []byte
	verdict chan []byte   // what discover answers for the program
	write   chan struct{} // holds one token: the right to write
	exited  chan struct{} // the process has ended; state is set
	ended   chan struct{} // nothing more comes from stdout; err is set
	closing chan struct{}
	once    sync.Once
	state   string
	err     error

	mu      sync.Mutex
	started bool
	broken  error
	probe   *time.Timer
	probed  bool
	silence *time.Timer // after text, before the first message
	foreign bool        // it is no MCP server: nothing more is read
}

var _ mcp.Transport = (*Process)(nil)

// Process returns a transport that will run cmd, in a process group of its own, with its stdin, stdout and stderr
// connected here. opts may be nil. If cmd was made with a context, its end kills the program.
//
// Lines on stdout that are no JSON-RPC are skipped and counted. A line longer than [Options].MaxMessage ends the
// connection; so do, with [ErrNotServer], a hundred lines before the first message, fewer and then silence, and a
// request of ours that comes back.
func (t *Tap) Process(cmd *exec.Cmd, opts *ProcessOptions) *Process {
	p := &Process{
		tap: t, cmd: cmd,
		lines: make(chan []byte), verdict: make(chan []byte, 1), write: make(chan struct{}, 1),
		exited: make(chan struct{}), ended: make(chan struct{}), closing: make(chan struct{}),
	}
	if opts != nil {
		p.opts = *opts
	}
	if p.opts.Grace <= 0 {
		p.opts.Grace = DefaultGrace
	}
	if p.opts.Probe == 0 {
		p.opts.Probe = DefaultProbe
	}
	if p.opts.Prose <= 0 {
		p.opts.Prose = DefaultProse
	}
	if p.opts.StderrMax <= 0 {
		p.opts.StderrMax = DefaultStderrMax
	}
	p.errors.max = p.opts.StderrMax
	p.write <- struct{}{}
	return p
}

// Stderr returns the end of what the program has written there so far.
func (p *Process) Stderr() string { return p.errors.String() }

// Exited is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Err returns an *[ExitError] once the connection has ended, nil before.
func (p *Process) Err() error {
	select {
	case <-p.ended:
		return p.exitError()
	default:
		return nil
	}
}

func (p *Process) exitError() *ExitError {
	e := &ExitError{Stderr: p.errors.String(), Err: p.err}
	select {
	case <-p.exited:
		e.State = p.state
	default:
	}
	return e
}

// Connect starts the program. It implements [mcp.Transport].
func (p *Process) Connect(context.Context) (mcp.Connection, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.started {
		return nil, errors.New("process transport connected twice")
	}
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		childIn.Close()
		in.Close()
		return nil, err
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = childIn, childOut, &p.errors
	p.cmd.WaitDelay = drain
	ownGroup(p.cmd)
	err = p.cmd.Start()
	childIn.Close()
	childOut.Close()
	if err != nil {
		in.Close()
		out.Close()
		return nil, err
	}
	p.started, p.in, p.out = true, in, out
	go p.wait()
	go p.read()
	return &processConn{p}, nil
}

func (p *Process) wait() {
	// Wait reports how the copying of stderr ended too; the state of the process says more.
	_ = p.cmd.Wait()
	p.state = p.cmd.ProcessState.String()
	close(p.exited)
	// Whatever the program started and left behind goes with it.
	kill(p.cmd)
	// A child of the program may hold stdout open after it. Whatever was written before is read in the meantime.
	timer := time.NewTimer(drain)
	defer timer.Stop()
	select {
	case <-p.ended:
	case <-timer.C:
		_ = p.out.SetReadDeadline(time.Now()) // a pipe has deadlines, or is closed already
	}
}

// read cuts stdout into lines.
func (p *Process) read() {
	limit := p.tap.opts.MaxMessage
	r := bufio.NewReaderSize(p.out, 32<<10)
	var err error
	for {
		var line []byte
		if line, err = readLine(r, limit); err != nil {
			// What stands after the last line break is no whole message.
			if len(line) > 0 {
				p.tap.junk(line)
			}
			break
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		select {
		case p.lines <- line:
			continue
		case <-p.closing:
		}
		break
	}
	p.mu.Lock()
	if p.foreign {
		err = ErrNotServer
	}
	p.mu.Unlock()
	if errors.As(err, new(*LimitError)) || errors.Is(err, ErrNotServer) {
		p.err = err
	}
	p.out.Close()
	// Most often the program has ended, and its state says more than the end of its output.
	if p.err == nil {
		timer := time.NewTimer(lastState)
		defer timer.Stop()
		select {
		case <-p.exited:
		case <-p.closing:
		case <-timer.C:
		}
	}
	p.tap.end(p.exitError()) // before the SDK hears of it
	close(p.ended)
}

type processConn struct{ p *Process }

func (c *processConn) SessionID() string { return "" }

func (c *processConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	p := c.p
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-p.closing:
			return nil, io.EOF
		case <-p.ended:
			return nil, p.exitError()
		case line := <-p.verdict:
			return jsonrpc.DecodeMessage(line)
		case line := <-p.lines:
			out, to, err := p.tap.incoming(line, nil)
			if err != nil {
				p.suspect(err)
			}
			if err != nil || out == nil {
				continue
			}
			msg, err := jsonrpc.DecodeMessage(out)
			if err != nil {
				p.tap.junk(out)
				if to == nil {
					continue
				}
				// The decoders disagree; the call must not wait for ever.
				if msg, err = jsonrpc.DecodeMessage(p.tap.faulty(to, fmt.Errorf("%w: not decodable", ErrMalformed))); err != nil {
					continue
				}
			}
			return msg, nil
		}
	}
}

func (c *processConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	p := c.p
	body, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return rejected(err)
	}
	s, err := p.tap.outgoing(ctx, body)
	if err != nil {
		if s.ask != nil {
			p.tap.answered(s.ask, 0, false, err)
		}
		return rejected(err)
	}
	switch {
	case s.swallow:
		if s.ask != nil {
			p.tap.answered(s.ask, 0, false, ErrWithdrawn)
		}
		return nil
	case s.ask != nil:
		return c.answer(ctx, s)
	}
	x := s.exchange()
	if x != nil {
		if err := x.begin(ctx, false); err != nil {
			return rejected(err)
		}
	}
	if s.call != nil {
		p.tap.expect(s.call)
		if s.call.method == "server/discover" {
			p.discover(s.call)
		}
	}
	left, err := c.line(ctx, s.body)
	if x != nil && left {
		x.left()
	}
	if err != nil && s.call != nil {
		p.tap.forget(s.call)
		if x != nil {
			x.fault(err)
		}
	}
	return err
}

func (c *processConn) answer(ctx context.Context, s sending) error {
	p, q := c.p, s.ask.q
	if q != nil {
		switch err := q.begin(ctx); {
		case errors.Is(err, ErrWithdrawn), errors.Is(err, ErrClosed):
			p.tap.answered(s.ask, 0, false, err)
			return nil
		case err != nil:
			p.tap.answered(s.ask, 0, false, err)
			return rejected(err)
		}
	}
	left, err := c.line(ctx, s.body)
	if q != nil && left {
		q.left()
	}
	p.tap.answered(s.ask, 0, err == nil, err)
	return err
}

// line writes one line and reports whether a byte of it may have left.
func (c *processConn) line(ctx context.Context, body []byte) (left bool, err error) {
	p := c.p
	select {
	case <-ctx.Done():
		return false, ctx.Err()
	case <-p.closing:
		return false, ErrClosed
	case <-p.write:
	}
	defer func() { p.write <- struct{}{} }()
	p.mu.Lock()
	broken := p.broken
	p.mu.Unlock()
	if broken != nil {
		return false, broken
	}
	// A program that does not read its stdin must not hold the caller past its context.
	expired := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(expired)
		_ = p.in.SetWriteDeadline(time.Unix(1, 0))
	})
	n, err := p.in.Write(append(body, '\n'))
	if !stop() {
		<-expired
		_ = p.in.SetWriteDeadline(time.Time{})
		if n == 0 && errors.Is(err, os.ErrDeadlineExceeded) {
			return false, ctx.Err()
		}
	}
	if err != nil {
		err = fmt.Errorf("writing to the server process: %w", err)
		p.mu.Lock()
		p.broken = err
		p.mu.Unlock()
		if n > 0 {
			// Half a line is in the pipe: nothing more can be said to this program.
			go func() { _ = c.Close() }()
		}
		return n > 0, err
	}
	return true, nil
}

// rejected marks an error so that the SDK fails the one request and not the connection: its test is the error code
// that its own HTTP transport uses.
func rejected(err error) error {
	return fmt.Errorf("%w: %w", &jsonrpc.Error{Code: -32005, Message: "rejected by transport"}, err)
}

// Close ends the program. It implements [mcp.Connection].
func (c *processConn) Close() error {
	p := c.p
	p.once.Do(func() {
		close(p.closing)
		p.mu.Lock()
		for _, timer := range []*time.Timer{p.probe, p.silence} {
			if timer != nil {
				timer.Stop()
			}
		}
		p.mu.Unlock()
		// MCP 2025-11-25 basic/lifecycle, "Shutdown", stdio: close the input stream, wait, SIGTERM, wait, SIGKILL.
		p.in.Close()
		if !p.within(p.opts.Grace) {
			terminate(p.cmd)
			if !p.within(p.opts.Grace) {
				kill(p.cmd)
			}
		}
	})
	<-p.exited
	<-p.ended
	return nil
}

func (p *Process) within(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.exited:
		return true
	case <-timer.C:
		return false
	}
}
