// Package aside runs what needs a deep stack beside whoever waits for days. The
// runtime makes no stack smaller of which more than a little is in use, so a
// goroutine that holds a question keeps the stack that it once needed.
//
//	aside.Do(func() { held, err = c.put(ctx, q, note) })
package aside

// Do runs f on a goroutine of its own, and waits for it. If f panics it panics here,
// where whoever called may recover it.
func Do(f func()) {
	broken := make(chan any, 1)
	go func() {
		defer func() { broken <- recover() }()
		f()
	}()
	if why := <-broken; why != nil {
		panic(why)
	}
}
