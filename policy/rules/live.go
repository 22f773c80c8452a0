package rules

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"sync/atomic"
	"time"

	"github.com/parley-mcp/parley/policy"
)

// Live is a policy that follows its file. A decision is made by one version of
// the file, never by parts of two; a version with a mistake changes nothing.
// Live is safe for concurrent use.
type Live struct {
	path string
	now  atomic.Pointer[Rules]
}

var _ policy.Policy = (*Live)(nil)

// Open loads the file. One that cannot be read, or has a mistake, is an error:
// without a policy there is nothing to keep.
func Open(path string) (*Live, error) {
	r, err := Load(path)
	if err != nil {
		return nil, err
	}
	l := &Live{path: path}
	l.now.Store(r)
	return l, nil
}

// Call decides by the rules in force.
func (l *Live) Call(ctx context.Context, in *policy.Input) (policy.Decision, error) {
	return l.now.Load().Call(ctx, in)
}

// Question decides by the rules in force.
func (l *Live) Question(ctx context.Context, in *policy.Input, q policy.Question) (policy.Showing, error) {
	return l.now.Load().Question(ctx, in, q)
}

// Rules returns the rules in force.
func (l *Live) Rules() *Rules { return l.now.Load() }

// Reload reads the file again. It reports whether other rules are in force now;
// on an error those from before are.
func (l *Live) Reload() (changed bool, err error) {
	data, err := readFile(l.path)
	if err != nil {
		return false, err
	}
	return l.replace(data)
}

func (l *Live) replace(data []byte) (changed bool, err error) {
	before := l.now.Load()
	if before.digest == digest(data) {
		return false, nil
	}
	r, err := Parse(l.path, data)
	if err != nil {
		return false, err
	}
	return l.now.CompareAndSwap(before, r), nil // a Reload at the same time has been as new
}

// Watch looks at the file at the given interval until ctx ends, and puts a new
// version in force. A version counts once it was seen twice in a row, so that a
// file that is being written is not taken for a shorter policy. tell is called
// after each change with the rules that are in force now, and with the error
// where a new version cannot be used (once for each version).
func (l *Live) Watch(ctx context.Context, every time.Duration, tell func(*Rules, error)) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	look := l.looker()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if changed, err := look(); changed || err != nil {
				tell(l.Rules(), err)
			}
		}
	}
}

// looker returns one look of Watch, with what it remembers.
func (l *Live) looker() func() (changed bool, err error) {
	var seen, judged string // what the last look found; what was taken or refused last
	return func() (bool, error) {
		data, err := readFile(l.path)
		found := digest(data)
		if err != nil {
			found = "unreadable"
		}
		settled := found == seen
		seen = found
		if !settled || found == judged {
			return false, nil
		}
		judged = found
		if err != nil {
			return false, err
		}
		return l.replace(data)
	}
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}
