package inbox

import "context"

// A Tally says how much there is of everybody, at one moment or nearly so.
type Tally struct {
	Questions int                          // open ones
	Calls     map[string]map[CallState]int // by server, those that have not ended
}

// mostTally is where the figures of a tally stop.
const mostTally = 1_000_000

// Tally counts the open questions of everybody, and the calls of these servers
// that have not ended. It is for figures on an operator's screen, every half
// minute or so: a figure stops at a million, which takes a database some tenths
// of a second to count to.
func (in *Inbox) Tally(ctx context.Context, servers []string) (*Tally, error) {
	t := &Tally{Calls: map[string]map[CallState]int{}}
	var err error
	if t.Questions, err = in.store.CountQuestions(ctx, mostTally); err != nil {
		return nil, err
	}
	for _, server := range servers {
		states := map[CallState]int{}
		for _, state := range []CallState{Approving, Ready, Claimed, Sent, Waiting, Blocked, Uncertain} {
			if states[state], err = in.store.CountCalls(ctx, server, state, mostTally); err != nil {
				return nil, err
			}
		}
		t.Calls[server] = states
	}
	return t, nil
}

// Ping reports whether the store answers. It reads next to nothing.
func (in *Inbox) Ping(ctx context.Context) error {
	return in.store.View(ctx, Principal{Issuer: "parley", Subject: "ping"}.Key(), func(tx Tx) error {
		_, err := tx.Disabled()
		return err
	})
}
