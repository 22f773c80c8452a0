package servicetest

import (
	"testing"

	"go.uber.org/goleak"
)

// VerifyTestMain is [goleak.VerifyTestMain] with more patience: that gives goroutines
// less than half a second to end, which a connection that was closed may exceed on a
// machine with much to do. Only a leak takes all of it.
func VerifyTestMain(m *testing.M) { goleak.VerifyTestMain(patient{m}) }

type patient struct{ m *testing.M }

func (p patient) Run() int {
	code := p.m.Run()
	for n := 0; code == 0 && n < 40 && goleak.Find() != nil; n++ { // each for half a second
		continue
	}
	return code
}
