//go:build proof

package e2e_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// other is a torture of another kind than kills of machines on PostgreSQL. hurt
// does the n-th harm, once that many of its calls are executed.
func (x *torture) other(t *testing.T, start func(servers map[string]any), hurt func(ctx context.Context, n int)) {
	begun := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), x.patience)
	var work sync.WaitGroup
	defer work.Wait() // after cancel
	defer cancel()
	x.t, x.ids = t, map[int]string{}
	x.desk = newDesk(t, "never")
	x.wire = newWire(t, x.desk.url())
	servers := map[string]any{}
	for i := range (x.calls + callsPerServer - 1) / callsPerServer {
		servers[fmt.Sprint("travel", i)] = map[string]any{"url": x.wire.url}
	}
	start(servers)
	work.Go(func() { x.compose(ctx) })
	for range 2 {
		work.Go(func() { x.answer(ctx) })
	}
	for n := range x.kills {
		want := x.calls * (n + 1) / (x.kills + 2)
		x.until(ctx, fmt.Sprintf("%d executions", want), func() bool { return x.desk.bookings() >= want })
		hurt(ctx, n)
	}
	states := x.settle(ctx)
	cancel()
	work.Wait()
	x.judge(states, time.Since(begun))
}

// TestTortureSQLite: one process on SQLite is killed and started again.
func TestTortureSQLite(t *testing.T) {
	t.Parallel()
	x := &torture{calls: 300, machines: 1, kills: 15, patience: 20 * time.Minute, note: "SQLite"}
	var p *parley
	x.other(t, func(servers map[string]any) {
		store := "sqlite:" + filepath.Join(t.TempDir(), "torture.db")
		p = start(t, "serve", "--servers", serversFile(t, servers), "--store", store, "--lease", "3s")
		x.join(p)
	}, func(ctx context.Context, n int) {
		switch n % 3 {
		case 0:
			x.strike(p)
		case 1:
			x.wire.strike(ctx, beforeServer, func() { x.strike(p) })
		case 2:
			x.wire.strike(ctx, beforeReply, func() { x.strike(p) })
		}
		p.again()
		x.join(p)
	})
}
