package host

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/wiretap"
	"github.com/parley-mcp/parley/policy"
	"github.com/parley-mcp/parley/vault"
)

// Why the work on a call is cut short.
var (
	errTimeout = errors.New("no sign of progress in time")
	errTooLong = errors.New("progress for too long")
	errStopped = errors.New("the person stopped the call")
	errLost    = errors.New("the claim was lost")
	errOver    = errors.New("the work on the call is over")
)

// A carriage is this machine's work on one claimed call, from the claim to the
// next stop: an end, questions, a block, or uncertainty.
type carriage struct {
	host   *Host
	server *Server // nil: not among ours
	claim  *inbox.Claim
	call   *inbox.Call
	tries  tries
	lease  time.Duration

	ctx    context.Context
	cancel context.CancelCauseFunc
	done   chan struct{}
	ending atomic.Bool // this machine ended the call itself; its stream stays open until the server was told
	// deciding is held while the inbox may end the call before ending says so.
	deciding sync.Mutex

	// Set before the connection knows of the carriage.
	conn  *connection
	token string // progress token
	watch *watchdog

	doubt bool // the store failed at the mark, so nothing was sent, and the mark may be stored

	fence     int64       // of the claim
	marked    atomic.Bool // the request may have left
	askedBack atomic.Bool // by a question that is held

	stops lookout

	thinking int // questions that wait for a person here; guarded by the host's mu

	heldMu  sync.Mutex
	heldIDs []inbox.QuestionID // questions that are held here
}

// tries counts what may be done once, or a few times, for one call while this
// machine has it.
type tries struct {
	listed  bool // -32020: the tools were listed anew
	session bool // 404, or -32022: the session was opened anew
	refused bool // the list of tools was refused: the session was opened anew
	renewed bool // 401: the token was renewed
	guessed bool // the era was a guess, and not that of the parked call: the session was opened anew
	empty   int  // sends of which nothing left
}

// maxEmpty is how often a call is sent in vain before its server counts as unreachable.
const maxEmpty = 3

// begin works on a claimed call in a goroutine of the host. It reports false
// if the host is stopping; the claim is given back then.
func (h *Host) begin(claim *inbox.Claim, call *inbox.Call) bool {
	c := h.register(claim, call, tries{})
	if c == nil {
		h.giveBack(claim)
		return false
	}
	go func() {
		defer h.group.Done()
		for c.run() {
			// Proof that nothing ran: this machine may try once more at once.
			claim, call, err := h.inbox.Claim(h.base, c.claim.Principal, c.claim.Call)
			if err != nil {
				break // someone else has it, or it was stopped
			}
			next := h.register(claim, call, c.tries)
			if next == nil {
				h.giveBack(claim)
				break
			}
			close(c.done)
			c = next
			h.group.Done() // register counted this goroutine once more
		}
		c.forget()
		c.cancel(errOver)
		close(c.done)
	}()
	return true
}

// register makes the carriage known; nil if the host is stopping. It counts a
// goroutine of the host.
func (h *Host) register(claim *inbox.Claim, call *inbox.Call, t tries) *carriage {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-h.stopping:
		return nil
	default:
	}
	c := &carriage{
		host: h, server: h.servers[call.Server], claim: claim, call: call, tries: t, lease: leaseOf(call),
		done: make(chan struct{}), fence: call.Fence,
	}
	if c.server != nil {
		claim.Limits = inbox.Limits(c.server.Limits)
	}
	c.ctx, c.cancel = context.WithCancelCause(h.base)
	if before := h.running[claim.Call]; before != nil && before.thinking > 0 {
		h.resting--
	}
	h.running[claim.Call] = c
	h.lease = c.lease
	h.group.Add(1)
	return c
}

// storePause is how long to wait when the store fails, before looking again.
const storePause = time.Second

// pause waits and reports whether ctx still stands.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// defaultLease stands in where no claim has shown the inbox's.
const defaultLease = 30 * time.Second

// leaseOf is the lease of the inbox, as a call that was just claimed shows it.
func leaseOf(claimed *inbox.Call) time.Duration {
	if d := claimed.LeaseUntil.Sub(claimed.Updated); d > 0 {
		return d
	}
	return defaultLease
}

func (h *Host) leaseTime() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lease
}

// giveBack returns a claim of which nothing was sent.
func (h *Host) giveBack(claim *inbox.Claim) {
	h.record("release", claim, func(ctx context.Context) error { return h.inbox.Release(ctx, claim) })
}

// giveBack returns the claim, of which nothing was sent: no mark, or one that
// the store said to have failed. That one may be stored nevertheless, where
// only the word of it was lost.
func (c *carriage) giveBack() {
	c.host.record("release", c.claim, func(ctx context.Context) error {
		err := c.host.inbox.Release(ctx, c.claim)
		if errors.Is(err, inbox.ErrState) && c.doubt {
			_, err = c.host.inbox.NothingRan(ctx, c.claim, "")
		}
		return err
	})
}

// carriage is this host's work on the call, if it works on it now.
func (h *Host) carriage(id inbox.CallID) *carriage {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.running[id]
}

// record writes down what happened. It outlives the carriage's own context,
// and tries again if the store fails for a moment: an outcome that is not
// written would turn into uncertainty. Past the lease another machine has
// judged the call already.
func (h *Host) record(what string, claim *inbox.Claim, f func(context.Context) error) {
	_ = h.try(what, claim, f) // it has said so in the log
}

// try is record with the error that is left: the inbox said no, or the store
// was out of reach for a whole lease.
func (h *Host) try(what string, claim *inbox.Claim, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), h.leaseTime())
	defer cancel()
	for wait := 50 * time.Millisecond; ; wait *= 2 {
		err := f(ctx)
		switch {
		case err == nil:
			return nil
		case saysNo(err):
			h.log.Debug("host: not recorded", "what", what, "call", claim.Call, "err", err)
			return err
		}
		h.log.Warn("host: recording failed", "what", what, "call", claim.Call, "err", err)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return err
		}
	}
}

// lost reports whether the call is not this machine's any more.
func lost(err error) bool {
	return errors.Is(err, inbox.ErrFenced) || errors.Is(err, inbox.ErrStopped) ||
		errors.Is(err, inbox.ErrExpired) || errors.Is(err, inbox.ErrNotFound)
}

// saysNo reports whether the inbox has said no, or has a row that nobody can read: it
// will be no other the next time. Any other error is trouble of
// the store, and what was to be written may be stored or not.
func saysNo(err error) bool {
	return lost(err) || errors.Is(err, inbox.ErrState) || errors.Is(err, inbox.ErrInvalid) || errors.Is(err, inbox.ErrLimit) ||
		errors.Is(err, inbox.ErrOpen) || errors.Is(err, inbox.ErrClosed) ||
		errors.Is(err, inbox.ErrUnreadable)
}

func (c *carriage) block(reason, word string) { c.blockFor(reason, explain(reason, c.name(), word)) }

// blockFor is block with a sentence of its own.
func (c *carriage) blockFor(reason, detail string) {
	c.host.record("block", c.claim, func(ctx context.Context) error {
		_, err := c.host.inbox.Block(ctx, c.claim, reason, detail)
		return err
	})
}

func (c *carriage) finish(o inbox.Outcome) {
	c.host.record("finish", c.claim, func(ctx context.Context) error { return c.end(ctx, o) })
}

// end finishes the call.
func (c *carriage) end(ctx context.Context, o inbox.Outcome) error {
	_, err := c.host.inbox.Finish(ctx, c.claim, o)
	if errors.Is(err, inbox.ErrLimit) { // a result larger than the inbox keeps
		o.Result, o.IsError = nil, false
		o.State, o.Reason = inbox.Failed, inbox.ReasonTooLarge
		o.Detail = explain(o.Reason, c.name(), "")
		_, err = c.host.inbox.Finish(ctx, c.claim, o)
	}
	return err
}

// name is the server's name for people.
func (c *carriage) name() string {
	if c.server != nil {
		return c.server.name()
	}
	return c.call.Server
}

// run carries the call to its next stop. It reports whether the call is ready
// again and this machine should take it at once.
func (c *carriage) run() (again bool) {
	defer c.keepClaim()()
	if c.server == nil {
		c.block(inbox.ReasonServerRemoved, "")
		return false
	}
	began := time.Now()
	c.recallEra()
	pool := c.host.pool(c.server, c.claim.Principal)
	conn, err := pool.acquire(c.ctx, c.call.ID, false)
	if err != nil {
		c.cannot(pool, err)
		return false
	}
	release := true
	defer func() {
		if release {
			pool.release(conn)
		}
	}()
	var since time.Time
	if c.paused() || c.call.Resends > 0 {
		since = began // the tool may have changed while a person thought, or its server was away
	}
	err = conn.ready(c.ctx, since)
	if err == nil && !c.matches(conn) {
		err = conn.ready(c.ctx, began) // a list that was fetched long ago proves nothing
	}
	// anew has this machine go on with the call on another connection.
	anew := func() bool {
		release = false
		pool.release(conn)
		pool.drop(conn)
		c.giveBack()
		return true
	}
	// unready ends the work on a call that cannot go on this connection. It reports
	// whether another one will do.
	unready := func(err error) bool {
		refused := errors.Is(err, errRefused) && !c.tries.refused // it may be another build by now
		if !refused && !errors.Is(err, errOtherGrant) {
			c.cannot(pool, err)
			return false
		}
		c.tries.refused = c.tries.refused || refused
		return anew()
	}
	if err != nil {
		return unready(err)
	}
	if !c.matches(conn) {
		if c.paused() && conn.guessed() && !c.tries.guessed {
			// Somebody's look made the session while the server slept. The next one is opened
			// with what the call knows (recallEra).
			c.tries.guessed = true
			return anew()
		}
		c.block(inbox.ReasonServerChanged, "")
		return false
	}
	phase := policy.Compose
	if c.paused() {
		phase = policy.Resume
	}
	may, by := c.permitted(c.ctx, conn, phase)
	switch may {
	case notNow:
		return false
	case noAnswer:
		c.giveBack()
		return false
	}
	responses, err := c.host.inbox.Answers(c.ctx, c.claim)
	if err != nil { // the context has ended
		c.giveBack()
		return false
	}
	if conn.era == inbox.Legacy {
		if !c.agreed(responses) {
			return false
		}
		responses = nil // this era has no place for them: the request goes again as it was
	}
	if err := c.authorized(c.ctx, conn); err != nil {
		return unready(err)
	}
	if len(responses) == 0 {
		responses = nil
	}
	verdict := c.send(conn, responses, by)
	switch verdict {
	case sentAgain:
		return true
	case sentDrop:
		release = false
		pool.release(conn)
		pool.drop(conn)
		return true
	}
	return false
}

// agreed looks at the answers of a round that error -32042 asked for: only if
// the person has been to all pages is the request sent again.
func (c *carriage) agreed(responses map[string]json.RawMessage) bool {
	if c.call.Held || c.call.Round == 0 {
		return true
	}
	for key, raw := range responses {
		var r struct {
			Action inbox.Action `json:"action"`
		}
		if key != "" && json.Unmarshal(raw, &r) == nil && r.Action != inbox.Accept {
			c.finish(inbox.Outcome{State: inbox.Failed, Reason: ReasonDeclined, Detail: explain(ReasonDeclined, c.name(), "")})
			return false
		}
	}
	return true
}

// matches reports whether the call may go to this connection: a parked call
// only to the same era, endpoint and tool; a new one only to the tool that it
// was composed for.
func (c *carriage) matches(conn *connection) bool {
	now := conn.fingerprint(c.call.Method, c.call.Name)
	if now == "" {
		return false
	}
	return same(c.call.Fingerprint, now) && same(c.call.Endpoint, c.server.Endpoint()) &&
		(!c.paused() || same(string(c.call.Era), string(conn.era)))
}

// paused reports whether the call was sent before and goes on from there.
func (c *carriage) paused() bool { return c.call.Round > 0 || c.call.RequestState != "" }

// same compares with a stored value; an empty one is not known yet.
func same(stored, now string) bool { return stored == "" || stored == now }

// cannot records why a call could not be sent. Nothing of it was.
func (c *carriage) cannot(p *pool, err error) {
	var want *signInError
	switch {
	case c.ctx.Err() != nil, errors.Is(err, ErrClosed), lost(err):
		c.giveBack()
	case errors.As(err, &want):
		c.blockForSignIn(want)
		c.host.log.Info("host: sign-in wanted", "server", c.server.ID)
	default:
		word := "the connection failed"
		if u, ok := errors.AsType[*UnreachableError](err); ok {
			word = u.Why
			if u.Stderr != "" {
				word += "; it last wrote: " + u.Stderr
			}
		}
		c.block(inbox.ReasonUnreachable, word)
		if !errors.Is(err, vault.ErrUnavailable) { // nothing is wrong with the server: the inbox's own time will do
			p.await()
		}
		c.host.log.Info("host: unreachable", "server", c.server.ID, "why", word)
	}
}

// what became of a send, for run.
type sent int

const (
	sentStop  sent = iota // the call is at a stop
	sentAgain             // ready again, for this machine
	sentDrop              // ready again, but not on this connection
)

// send sends the request and settles the call by what the wire says. by is what the
// policy said.
func (c *carriage) send(conn *connection, responses map[string]json.RawMessage, by *inbox.Allowed) sent {
	c.conn, c.token = conn, newToken()
	c.watch = watch(c.server.sendTimeout(), c.cancel)
	defer c.watch.stop()
	x := &wiretap.Exchange{Call: string(c.call.ID)}
	x.BeforeSend = func(ctx context.Context) error {
		marked, err := c.host.inbox.Mark(ctx, c.claim, inbox.Binding{
			Era: conn.era, Endpoint: c.server.Endpoint(), Fingerprint: conn.fingerprint(c.call.Method, c.call.Name),
			Within: c.within(conn), Allowed: by,
		})
		if err == nil {
			c.call = marked
			c.marked.Store(true)
		}
		c.doubt = err != nil && !saysNo(err)
		return err
	}
	span, end := c.sendSpan(conn)
	defer end()
	conn.begin(x, c)
	r := newRequest(c.call, responses, c.token)
	r.trace = span.Trace()
	err := r.send(wiretap.With(c.ctx, x), conn.session)
	defer conn.settle(c)()
	conn.end(x)
	return c.settle(conn, x, x.Outcome(), err)
}
