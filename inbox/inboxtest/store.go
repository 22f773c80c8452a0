package inboxtest

import "testing"

// TestStore runs the suite: first what a store promises of its rows, then what
// an inbox over it promises to people and machines.
func TestStore(t *testing.T, fresh Fresh) {
	for _, group := range []struct {
		name  string
		tests map[string]func(*kit)
	}{
		{"rows", rowTests},
		{"find", findTests},
		{"transaction", transactionTests},
		{"person", personTests},
		{"view", viewTests},
		{"again", againTests},
		{"machine", machineTests},
		{"limits", limitTests},
		{"held", heldTests},
		{"stop", stopTests},
		{"time", timeTests},
		{"crash", crashTests},
		{"race", raceTests},
		{"retention", retentionTests},
		{"approval", approvalTests},
		{"audit", auditTests},
		{"disable", disableTests},
		{"server", serverTests},
		{"reseal", resealTests},
	} {
		t.Run(group.name, func(t *testing.T) {
			t.Parallel()
			for name, test := range group.tests {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					test(newKit(t, fresh))
				})
			}
		})
	}
}
