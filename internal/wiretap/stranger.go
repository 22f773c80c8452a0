package wiretap

import (
	"errors"
	"time"
)

// maxProse is how many lines a program may write before its first message. Banners and logs of a start are shorter.
const maxProse = 100

// ErrNotServer marks a program that is no MCP server: it writes text where messages belong, or sends back what it gets.
var ErrNotServer = errors.New("the program is not an MCP server")

// suspect looks at a line that was dropped. Text before the first message may be a banner, or all that there is.
func (p *Process) suspect(err error) {
	s := p.tap.Stats()
	switch {
	case errors.Is(err, ErrNotServer), s.Messages == 0 && s.Junk >= maxProse:
		p.refuse()
	case s.Messages == 0:
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.silence != nil {
			p.silence.Stop()
		}
		p.silence = time.AfterFunc(p.opts.Prose, func() {
			if p.tap.Stats().Messages == 0 {
				p.refuse()
			}
		})
	}
}

// refuse stops reading from a program that is no MCP server; what is in the buffer still comes.
func (p *Process) refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.foreign {
		p.foreign = true
		_ = p.out.SetReadDeadline(time.Unix(1, 0))
	}
}

// Probed reports whether the program left server/discover without a reply for [ProcessOptions].Probe. It may be legacy,
// or slow to start.
func (p *Process) Probed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.probed
}

// discover answers server/discover if the server does not.
func (p *Process) discover(c *call) {
	if p.opts.Probe < 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.probe != nil {
		p.probe.Stop()
	}
	p.probe = time.AfterFunc(p.opts.Probe, func() {
		if !p.tap.forget(c) {
			return
		}
		p.mu.Lock()
		p.probed = true
		p.mu.Unlock()
		select {
		case p.verdict <- errorMessage(c.id, -32601, "no reply to server/discover"):
		case <-p.closing:
		case <-p.ended:
		}
	})
}
