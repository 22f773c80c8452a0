package host

import (
	"context"
	"testing"
	"testing/synctest"
)

// TestLookout: one goroutine looks, none while somebody rests it, and after the
// end none ever again.
func TestLookout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l lookout
		looking, began := 0, 0 // the bubble's goroutines take turns at Wait
		expect := func(when string, wantLooking, wantBegan int) {
			t.Helper()
			synctest.Wait()
			if looking != wantLooking || began != wantBegan {
				t.Errorf("%s: %d look, %d began to; want %d and %d", when, looking, began, wantLooking, wantBegan)
			}
		}
		l.begin(t.Context(), func(ctx context.Context) {
			looking++
			began++
			<-ctx.Done()
			looking--
		})
		expect("at first", 1, 1)
		l.rest()
		expect("while a question is held", 0, 1)
		l.rest()
		l.resume()
		expect("while one of two is still held", 0, 1)
		l.resume()
		expect("after both", 1, 2)
		l.end()
		expect("at the end", 0, 2)
		l.rest()
		l.resume()
		expect("after the end", 0, 2)
	})
}
