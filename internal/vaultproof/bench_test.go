package vaultproof_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-mcp/parley/internal/fakeprovider"
	"github.com/parley-mcp/parley/vault"
)

// reads is how many tokens a turn reads, grants how many there are.
const reads, grants = 20, 1000

// BenchmarkRead reads tokens that are valid, in turns with the floor: a plain
// read of the same row by the same columns on the same driver, with a prepared
// statement, that opens nothing and looks at nothing. of-floor is how long a read
// takes beside the floor's, 1 is as long: of the fastest tenth of the turns of
// each, since on a machine that has other work the slow ones measure that. The
// median of the turns' own ratios is beside it.
func BenchmarkRead(b *testing.B) {
	for _, driver := range drivers {
		b.Run(driver, func(b *testing.B) {
			d := newDesk(b, driver, fakeprovider.Options{})
			for i := range grants {
				d.hold(b, fmt.Sprint("account ", i))
			}
			floor := d.floor(b)
			token := func(label string) {
				if _, err := d.vault.Token(b.Context(), ada, server, label, "bench"); err != nil {
					b.Fatal(err)
				}
			}
			turn := func(read func(label string)) time.Duration {
				began := time.Now()
				for i := range reads {
					read(fmt.Sprint("account ", i*7%grants))
				}
				return time.Since(began)
			}
			turn(floor)
			turn(token)
			var ratios, ours, theirs []float64
			for b.Loop() {
				// Who begins changes, so that neither has the warmer processor.
				f, t := turn(floor), turn(token)
				t2, f2 := turn(token), turn(floor)
				ratios = append(ratios, float64(t+t2)/float64(f+f2))
				ours, theirs = append(ours, float64(t+t2)/2/reads), append(theirs, float64(f+f2)/2/reads)
			}
			b.ReportMetric(tenth(ours)/tenth(theirs), "of-floor")
			b.ReportMetric(median(ratios), "of-floor-median")
			b.ReportMetric(tenth(ours), "ns/read")
			b.ReportMetric(tenth(theirs), "ns/floor-read")
		})
	}
}

// tenth is the value that a tenth of the list stays below.
func tenth(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/10]
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// hold stores a grant whose token is valid.
func (d *desk) hold(b *testing.B, label string) {
	b.Helper()
	refresh, access := d.provider.Grant("desk", ada.Subject, "read")
	_, err := d.vault.Save(b.Context(), ada, vault.NewGrant{
		Provider: server, Label: label, Access: vault.NewSecret(access), Refresh: vault.NewSecret(refresh), Type: "Bearer", Lifetime: time.Hour,
		Asked: []string{"read", "write"}, Terms: vault.Terms{Issuer: d.issuer, TokenEndpoint: d.issuer + "/token", Client: vault.ClientRef{Issuer: d.issuer}},
	})
	if err != nil {
		b.Fatal(err)
	}
}

// floor reads a row past the vault.
func (d *desk) floor(b *testing.B) func(label string) {
	b.Helper()
	const columns = `SELECT kind, id, provider, name, status, version, key, due, created, updated, detail, content FROM vault_rows`
	key := ada.Key()
	var kind, id, provider, name, status string
	var version, keyID int64
	var detail, content []byte
	if d.Driver == "sqlite" {
		db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: d.Address}).EscapedPath()+"?_pragma=query_only(1)&_pragma=busy_timeout(10000)")
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { db.Close() })
		stmt, err := db.Prepare(columns + ` WHERE principal = ? AND kind = ? AND provider = ? AND name = ?`)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { stmt.Close() })
		return func(label string) {
			var due, created, updated sql.NullInt64
			row := stmt.QueryRowContext(b.Context(), key, "grant", server, label)
			if err := row.Scan(&kind, &id, &provider, &name, &status, &version, &keyID, &due, &created, &updated, &detail, &content); err != nil {
				b.Fatal(err)
			}
		}
	}
	pool, err := pgxpool.New(b.Context(), d.Address) // its search_path is the schema
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(pool.Close)
	// As the server does by itself within a minute: until then it keeps the plans
	// that it made for the empty table.
	if _, err := pool.Exec(b.Context(), `ANALYZE vault_rows`); err != nil {
		b.Fatal(err)
	}
	return func(label string) {
		var due, created, updated *time.Time
		row := pool.QueryRow(b.Context(), columns+` WHERE principal = $1 AND kind = $2 AND left(provider, 64) = left($3, 64) AND provider = $3 AND name = $4`, key, "grant", server, label)
		if err := row.Scan(&kind, &id, &provider, &name, &status, &version, &keyID, &due, &created, &updated, &detail, &content); err != nil && !errors.Is(err, pgx.ErrNoRows) {
			b.Fatal(err)
		}
	}
}

// BenchmarkRenewal lets 10,000 callers of one process want the token of one
// grant that has to be renewed, in turns with one caller alone. of-one is how
// long it takes until the last has it, beside the one.
func BenchmarkRenewal(b *testing.B) {
	const many = 10_000
	for _, driver := range drivers {
		b.Run(driver, func(b *testing.B) {
			d := newDesk(b, driver, fakeprovider.Options{RevokeFamily: true})
			n := 0
			renewal := func(callers int) time.Duration {
				n++
				label := fmt.Sprint("account ", n)
				d.consent(b, d.vault, label)
				before := d.provider.Counts().Refresh
				ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
				defer cancel()
				begin := make(chan struct{})
				var group sync.WaitGroup
				for range callers {
					group.Go(func() {
						<-begin
						if _, err := d.vault.Token(ctx, ada, server, label, "bench"); err != nil {
							b.Error(err)
						}
					})
				}
				began := time.Now()
				close(begin)
				group.Wait()
				took := time.Since(began)
				if sent := d.provider.Counts().Refresh - before; sent != 1 {
					b.Fatalf("%d requests for %d callers", sent, callers)
				}
				return took
			}
			renewal(1)
			var ratios, all, one []float64
			for b.Loop() {
				alone, together := renewal(1), renewal(many)
				ratios = append(ratios, float64(together)/float64(alone))
				all, one = append(all, float64(together)/1e6), append(one, float64(alone)/1e6)
			}
			b.ReportMetric(median(ratios), "of-one")
			b.ReportMetric(median(all), "ms/10000-callers")
			b.ReportMetric(median(one), "ms/1-caller")
		})
	}
}
