package host_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/store/memstore"
)

// full is a store without room, once it is.
type full struct {
	inbox.Store
	is atomic.Bool
}

func (f *full) Update(ctx context.Context, principal string, g func(inbox.Tx) error) error {
	if f.is.Load() {
		return inbox.ErrStoreFull
	}
	return f.Store.Update(ctx, principal, g)
}

// What keeps calls from being claimed, beside others that may be, is told: once a minute.
func TestPassedOverIsLogged(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*full, *inbox.CallRow){
		"unreadable": func(_ *full, row *inbox.CallRow) { row.Content = []byte("damaged") },
		"full":       func(f *full, _ *inbox.CallRow) { f.is.Store(true) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := &full{Store: memstore.New(nil)}
				var lines bytes.Buffer
				b := backends["memory"](t)
				b.open = func(*testing.T) inbox.Store { return store }
				o := together()()
				o.host.Log = slog.New(slog.NewTextHandler(&lines, nil))
				r := newRig(t, b, o, &host.Server{ID: "shop", URL: "http://127.0.0.1:1"})
				stop := r.run()
				time.Sleep(time.Minute) //nolint:forbidigo // synctest
				stop()
				if lines.Len() > 0 {
					t.Errorf("with nothing to do: %s", lines.String())
				}

				c, err := r.in.Compose(t.Context(), ada, inbox.NewCall{Server: "shop", Method: "tools/call", Name: "n"})
				if err != nil {
					t.Fatal(err)
				}
				err = store.Update(t.Context(), ada.Key(), func(tx inbox.Tx) error {
					row, err := tx.Call(c.ID)
					if err != nil {
						return err
					}
					spoil(store, row)
					return tx.PutCall(row)
				})
				if err != nil {
					t.Fatal(err)
				}
				r = newRig(t, b, o, &host.Server{ID: "shop", URL: "http://127.0.0.1:1"})
				stop = r.run()
				time.Sleep(10*time.Minute + time.Second) //nolint:forbidigo // synctest
				stop()
				told := strings.Count(lines.String(), "passed over")
				if told < 5 || told > 11 || !strings.Contains(lines.String(), "calls=1") || name == "unreadable" && !strings.Contains(lines.String(), string(c.ID)) {
					t.Errorf("in ten minutes it was told %d times\n%s", told, fmt.Sprintf("%.1000s", lines.String()))
				}
			})
		})
	}
}
