package vaultproof_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/parley-mcp/parley/internal/fakeprovider"
)

// TestRace: four processes with 50 callers each want the token of one grant at
// the same moment, and it has to be renewed. The server takes each refresh token
// once and ends the whole grant at the second time. One request arrives, nobody
// is refused, everybody gets the same token. Every other round the server is
// slow, so that all of them meet.
func TestRace(t *testing.T) {
	t.Parallel()
	const machines, callers = 4, 50
	rounds := (points(t, 20) + 3) / 4
	for _, driver := range drivers {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			d := newDesk(t, driver, fakeprovider.Options{RevokeFamily: true})
			var all []*process
			for range machines {
				all = append(all, start(t, d.machine))
			}
			for round := range rounds {
				label := fmt.Sprint("account ", round)
				d.consent(t, d.vault, label)
				if round%2 == 1 {
					d.provider.Misbehave("token", fakeprovider.Fault{Delay: 100 * time.Millisecond})
				}
				before := d.provider.Counts()
				for _, p := range all {
					if err := p.send(job{Label: label, Callers: callers}); err != nil {
						t.Fatal(err)
					}
				}
				served, tokens := 0, map[string]int{}
				for _, p := range all {
					var r result
					if err := p.out.Decode(&r); err != nil {
						t.Fatal(err)
					}
					for token, n := range r.Tokens {
						served += n
						tokens[token] += n
					}
					for text, n := range r.Errors {
						t.Errorf("round %d: %d callers: %s", round, n, text)
					}
				}
				if served != machines*callers || len(tokens) != 1 {
					t.Errorf("round %d: %d of %d callers were served, with %d tokens", round, served, machines*callers, len(tokens))
				}
				for token := range tokens {
					if subject, ok := d.provider.Valid(token); !ok || subject != ada.Subject {
						t.Errorf("round %d: the server does not take the token", round)
					}
				}
				after := d.provider.Counts()
				if after.Refresh != before.Refresh+1 || after.Refreshed != before.Refreshed+1 || after.InvalidGrant != 0 {
					t.Errorf("round %d: %+v, before it %+v", round, after, before)
				}
			}
			if !t.Failed() {
				report(t, "race", fmt.Sprintf("| %s | %s | %d | %d | %d | %d | %d | %.0f s |", today(), driver, rounds, machines*callers,
					d.provider.Counts().Refresh, d.provider.Counts().InvalidGrant, rounds*machines*callers, time.Since(began).Seconds()))
			}
		})
	}
}
