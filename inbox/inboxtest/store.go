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
		{"keyed", keyedTests},
		{"machine", machineTests},
		{"sent again by itself", resendTests},
		{"may have happened", doubtTests},
		{"limits", limitTests},
		{"held", heldTests},
		{"completed", completedTests},
		{"stop", stopTests},
		{"unsent", unsentTests},
		{"time", timeTests},
		{"unreadable", unreadableTests},
		{"crash", crashTests},
		{"race", raceTests},
		{"retention", retentionTests},
		{"approval", approvalTests},
		{"audit", auditTests},
		{"disable", disableTests},
		{"token", tokenTests},
		{"server", serverTests},
		{"tools", toolTests},
		{"groups", groupTests},
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
