package servicetest

import "testing"

// Processes of which one begins to look where the other one is do not get the same port.
func TestFreeAddr(t *testing.T) {
	first := FreeAddr(t)
	nextPort.Add(-1)
	if second := FreeAddr(t); second == first {
		t.Errorf("two tests are given %s", first)
	}
}
