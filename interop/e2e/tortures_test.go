//go:build proof

package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/parley-mcp/parley/internal/servicetest"
)

// tortureSize makes a torture shorter or longer: CALLS,KILLS.
const tortureSize = "PARLEY_TORTURE"

func newTorture(t *testing.T) *torture {
	t.Helper()
	x := &torture{calls: 2000, kills: 30, patience: time.Hour}
	if text := os.Getenv(tortureSize); text != "" {
		if _, err := fmt.Sscanf(text, "%d,%d", &x.calls, &x.kills); err != nil {
			t.Fatalf("%s is CALLS,KILLS: %v", tortureSize, err)
		}
	}
	return x
}

// TestTorturePostgres: three machines on a PostgreSQL that is itself restarted,
// in order and like a crash.
func TestTorturePostgres(t *testing.T) {
	t.Parallel()
	x := newTorture(t)
	server := servicetest.NewOwnPostgres(t, nil)
	x.restarts, x.restart = 2, func(n int) {
		if n%2 == 0 {
			server.Crash()
		} else {
			server.Stop()
		}
		<-time.After(rand.N(time.Second)) // some work is begun and fails
		server.Start()
	}
	x.run(t, func(servers map[string]any) []*parley {
		x.common = &shared{t: t, dsn: server.DSN("", "torture")}
		keys := filepath.Join(t.TempDir(), "keys.json")
		if out, err := exec.Command(binary, "migrate", "--store", x.common.dsn, "--keys", keys).CombinedOutput(); err != nil {
			t.Fatalf("parley migrate: %v\n%s", err, out)
		}
		// A lease that outlasts the restarts: what a machine learns while the
		// store is away is written down when it is back.
		x.common.args = []string{"serve", "--servers", serversFile(t, servers), "--store", x.common.dsn, "--keys", keys, "--lease", "10s"}
		return x.share(3)
	})
}

// TestTortureSQLite: one process on SQLite is killed and started again.
func TestTortureSQLite(t *testing.T) {
	t.Parallel()
	x := newTorture(t)
	x.note = "SQLite"
	x.run(t, func(servers map[string]any) []*parley {
		store := "sqlite:" + filepath.Join(t.TempDir(), "torture.db")
		return []*parley{start(t, "serve", "--servers", serversFile(t, servers), "--store", store, "--lease", "3s")}
	})
}
