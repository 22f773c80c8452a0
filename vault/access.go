package vault

import (
	"encoding/binary"
	"fmt"
)

// packAccess is the field of an access token, with what its user has to know of
// it: every use of a token opens this one field and reads no JSON.
func packAccess(access Secret, kind string, scopes []string) []byte {
	b := appendBytes(nil, []byte(access.Reveal()))
	b = appendBytes(b, []byte(kind))
	if scopes == nil {
		return b // nobody said
	}
	b = binary.AppendUvarint(b, uint64(len(scopes)))
	for _, scope := range scopes {
		b = appendBytes(b, []byte(scope))
	}
	return b
}

// unpackAccess reads what packAccess wrote.
func unpackAccess(row *Row, field []byte) (access Secret, kind string, scopes []string, err error) {
	damaged := func() (Secret, string, []string, error) {
		return Secret{}, "", nil, fmt.Errorf("vault: %s %s has no access token that can be read: %w", row.Kind, row.ID, ErrSealed)
	}
	token, rest, ok := cutBytes(field)
	if !ok {
		return damaged()
	}
	text, rest, ok := cutBytes(rest)
	if !ok {
		return damaged()
	}
	if len(rest) > 0 {
		n, size := binary.Uvarint(rest)
		if size <= 0 || n > uint64(len(rest)) {
			return damaged()
		}
		rest, scopes = rest[size:], make([]string, 0, n)
		for range n {
			var scope []byte
			if scope, rest, ok = cutBytes(rest); !ok {
				return damaged()
			}
			scopes = append(scopes, string(scope))
		}
		if len(rest) > 0 {
			return damaged()
		}
	}
	return NewSecret(string(token)), string(text), scopes, nil
}
