package main

import (
	"context"
	"fmt"

	"github.com/parley-mcp/parley/vault"
)

// rows are how many there are of the two that share the keys.
type rows struct{ vault, inbox int64 }

func (r rows) plus(more rows) rows { return rows{r.vault + more.vault, r.inbox + more.inbox} }

func (r rows) String() string {
	return fmt.Sprintf("%s of the vault and %d of the inbox", countRows(r.vault), r.inbox)
}

// keyUse is a key and what needs it.
type keyUse struct {
	vault.Key
	rows rows
}

// usage is what a store holds, and which keys that needs.
type usage struct {
	vault.Report
	keys []keyUse
}

// usage reads every row of the inbox, and counts those of the vault.
func (o *openedVault) usage(ctx context.Context) (u usage, err error) {
	if u.Report, err = o.Report(ctx); err != nil {
		return u, fmt.Errorf("the vault: %w", err)
	}
	place := map[uint32]int{}
	for i, key := range u.Keys {
		place[key.ID] = i
		u.keys = append(u.keys, keyUse{Key: key, rows: rows{vault: key.Rows}})
	}
	inInbox, err := o.inbox.SealedRows(ctx)
	if err != nil {
		return u, fmt.Errorf("the inbox: %w", err)
	}
	for _, sealed := range inInbox {
		i, known := place[sealed.Key]
		if !known {
			i = len(u.keys)
			place[sealed.Key] = i
			u.keys = append(u.keys, keyUse{Key: vault.Key{ID: sealed.Key}})
		}
		u.keys[i].rows.inbox += sealed.Rows
	}
	return u, nil
}

// closed counts the rows of keys that are not here, or disabled. What names no
// key is not among them: whether it opens shows only when it is tried.
func (u usage) closed() (sum rows) {
	for _, key := range u.keys {
		if !key.Enabled && key.ID != 0 {
			sum = sum.plus(key.rows)
		}
	}
	return sum
}

// rest counts the rows on keys that do not seal.
func (u usage) rest() (sum rows) {
	for _, key := range u.keys {
		if !key.Primary {
			sum = sum.plus(key.rows)
		}
	}
	return sum
}
