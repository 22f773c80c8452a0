package vault

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-mcp/parley/internal/seal"
)

// sealPurpose separates what the vault seals from what others seal with the same keys.
const sealPurpose = "vault"

// Limits of a row.
const (
	maxSecret  = 256 << 10 // bytes of one field
	maxContent = 1 << 20
)

// fields are the secrets of a row by name, open.
type fields map[string][]byte

// place is what a field is bound to: moved to another person, provider, row,
// name or generation it does not open.
func place(p Principal, row *Row, generation int64, field string) []string {
	return []string{p.Issuer, p.Tenant, p.Subject, string(row.Kind), row.Provider, row.ID, field, strconv.FormatInt(generation, 10)}
}

// seal writes the fields into the row, each sealed alone, all with one key.
func (v *Vault) seal(p Principal, row *Row, generation int64, f fields) error {
	for {
		content := []byte{1} // the format
		content = binary.AppendUvarint(content, uint64(len(f)))
		var key uint32
		one := true
		for _, name := range slices.Sorted(maps.Keys(f)) {
			sealed := v.keys.Seal(sealPurpose, place(p, row, generation, name), f[name])
			id := seal.KeyID(sealed)
			one = one && (key == 0 || key == id)
			key = id
			content = appendBytes(content, []byte(name))
			content = appendBytes(content, sealed)
		}
		if !one {
			continue // the keys were loaded anew in between
		}
		if len(content) > maxContent {
			return fmt.Errorf("%w: the secrets are larger than %d bytes together", ErrInvalid, maxContent)
		}
		row.Content, row.Key = content, key
		return nil
	}
}

// open returns these fields of the row, or all that it has. A name that it does
// not have is missing in the result.
func (v *Vault) open(p Principal, row *Row, generation int64, names ...string) (fields, error) {
	if err := v.keys.Err(); err != nil {
		return nil, err
	}
	f := fields{}
	err := eachSealed(row.Content, func(text, sealed []byte) error {
		name := string(text)
		if len(names) > 0 && !slices.Contains(names, name) {
			return nil
		}
		plaintext, err := v.keys.Open(sealPurpose, place(p, row, generation, name), sealed)
		if err == nil {
			f[name] = plaintext
		}
		return err
	})
	if err != nil {
		return nil, notOpened(row, err)
	}
	return f, nil
}

// openOne opens one field, which every use of a token pays for; nil: the row has
// none of this name.
func (v *Vault) openOne(p Principal, row *Row, generation int64, field string) (plaintext []byte, err error) {
	if err := v.keys.Err(); err != nil {
		return nil, err
	}
	err = eachSealed(row.Content, func(name, sealed []byte) (err error) {
		if string(name) == field {
			plaintext, err = v.keys.Open(sealPurpose, place(p, row, generation, field), sealed)
		}
		return err
	})
	return plaintext, notOpened(row, err)
}

// notOpened is what callers learn of an error of opening.
func notOpened(row *Row, err error) error {
	if err == nil || errors.Is(err, ErrKeysGone) {
		return err
	}
	return fmt.Errorf("vault: %s %s, sealed with key %d: %w", row.Kind, row.ID, row.Key, ErrSealed)
}

var errContent = errors.New("vault: damaged content")

// eachSealed reads a row's Content, which who writes to the database chooses.
func eachSealed(content []byte, f func(name, sealed []byte) error) error {
	if len(content) == 0 {
		return nil
	}
	if content[0] != 1 {
		return errContent
	}
	n, size := binary.Uvarint(content[1:])
	if size <= 0 || n > maxFields+8 {
		return errContent
	}
	rest := content[1+size:]
	for range n {
		var name, sealed []byte
		var ok bool
		if name, rest, ok = cutBytes(rest); !ok {
			return errContent
		}
		if sealed, rest, ok = cutBytes(rest); !ok {
			return errContent
		}
		if err := f(name, sealed); err != nil {
			return err
		}
	}
	if len(rest) != 0 {
		return errContent
	}
	return nil
}

// has reports whether the row has a field of this name.
func has(row *Row, field string) bool {
	found := false
	_ = eachSealed(row.Content, func(name, _ []byte) error { // damage shows when it is opened
		found = found || string(name) == field
		return nil
	})
	return found
}

func appendBytes(b, part []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(part))), part...)
}

func cutBytes(b []byte) (part, rest []byte, ok bool) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return nil, nil, false
	}
	return b[size : size+int(n)], b[size+int(n):], true
}

// base is the part of Detail that all kinds have.
type base struct {
	Generation int64 `json:"generation"` // of Content: rises when a secret changes
}

// setDetail writes detail into the row. Members that it does not know, which a
// newer version wrote, stay; those that it knows and leaves out go.
func setDetail(row *Row, detail any) error {
	text, err := json.Marshal(detail)
	if err != nil {
		return err
	}
	if len(row.Detail) > 0 {
		all := map[string]json.RawMessage{}
		if err := json.Unmarshal(row.Detail, &all); err != nil {
			return fmt.Errorf("vault: %s %s: damaged detail", row.Kind, row.ID)
		}
		for _, field := range reflect.VisibleFields(reflect.TypeOf(detail)) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			delete(all, name)
		}
		if err := json.Unmarshal(text, &all); err != nil { // adds to the map
			return err
		}
		if text, err = json.Marshal(all); err != nil {
			return err
		}
	}
	row.Detail = text
	return nil
}

// detail reads the row's Detail.
func detail(row *Row, into any) error {
	if err := json.Unmarshal(row.Detail, into); err != nil {
		return fmt.Errorf("vault: %s %s: damaged detail", row.Kind, row.ID)
	}
	return nil
}

// put counts the version and stores the row.
func put(tx Tx, row *Row) error {
	now := tx.Now()
	if row.Created.IsZero() {
		row.Created = now
	}
	row.Updated = now
	row.Version++
	return tx.Put(row)
}

// one returns the row that the query selects, or [ErrNotFound].
func one(tx Tx, q Query) (*Row, error) {
	q.Limit = 1
	rows, err := tx.Rows(q)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, ErrNotFound
	}
	return rows[0], nil
}
