package inbox

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/parley-mcp/parley/internal/seal"
)

// SealedRows is how many rows a key has sealed.
type SealedRows struct {
	Key  uint32 // 0: rows that name none
	Rows int64
}

// maxSeals bounds the keys of which rows are counted. Whoever writes to the
// database can make rows that name any.
const maxSeals = 1000

// SealedRows counts the calls, questions and approvals of everybody by the key
// that sealed them. It reads every row, and is for operators. A key that no
// row is counted for can be disabled as soon as no machine seals with it.
//
// What ends by itself is not counted: sign-ins to pages, which are over with
// their key. Digests in the audit stay comparable with a disabled key.
func (in *Inbox) SealedRows(ctx context.Context) ([]SealedRows, error) {
	seals, err := in.store.Seals(ctx, maxSeals)
	if err != nil {
		return nil, err
	}
	if len(seals) == maxSeals {
		return nil, fmt.Errorf("inbox: rows name %d keys or more", maxSeals)
	}
	var list []SealedRows
	place := map[uint32]int{}
	for _, s := range seals {
		key := seal.KeyID(s.Prefix)
		i, known := place[key]
		if !known {
			i = len(list)
			place[key] = i
			list = append(list, SealedRows{Key: key})
		}
		list[i].Rows += s.Rows
	}
	return list, nil
}

// Resealed is what [Inbox.Reseal] has done.
type Resealed struct {
	Done       int64 // rows that are sealed with the primary key now
	Unreadable int64 // rows that no key here opens: they stay as they are
}

// Reseal seals every call, question and approval of everybody with the primary
// key that is sealed with another one, a row at a time, while machines go on:
// nothing that a person or a machine can see changes, versions and leases
// included. What it has done stays done: cut or killed, it goes on with the
// rest when it is called again. A row that does not open is counted and left.
// progress may be nil; it hears after every hundred rows.
//
// Machines may seal with an old key until they have the primary key as theirs;
// a rotation is over when [Inbox.SealedRows] says so after that.
func (in *Inbox) Reseal(ctx context.Context, progress func(Resealed)) (Resealed, error) {
	var done Resealed
	if err := in.keys.Err(); err != nil {
		return done, err
	}
	primary := in.keys.Primary()
	if seal.KeyID(in.keys.Seal(callPurpose, nil, nil)) != primary {
		return done, errors.New("inbox: the primary key writes no number into what it seals, so rows cannot be told apart by it")
	}
	prefix := binary.BigEndian.AppendUint32([]byte{1}, primary)
	const batch = 100
	for after := (Ref{}); ; {
		refs, err := in.store.Stale(ctx, prefix, after, batch)
		if err != nil {
			return done, err
		}
		for _, ref := range refs {
			after = ref
			switch err := in.reseal(ctx, ref, primary); {
			case err == nil:
				done.Done++
			case errors.Is(err, ErrSealed):
				done.Unreadable++
				in.log.Warn("inbox: a row stays with its key", "row", ref.ID(), "err", err)
			case errors.Is(err, ErrNotFound): // erased, or sealed anew, meanwhile
			default:
				return done, err
			}
		}
		if progress != nil && len(refs) > 0 {
			progress(done)
		}
		if len(refs) < batch {
			return done, nil
		}
	}
}

// reseal works on the row: what is in it is of no matter, and stays what it was
// to the byte. [ErrNotFound] if there is nothing to do, which also keeps the
// transaction from leaving a principal who was erased.
func (in *Inbox) reseal(ctx context.Context, ref Ref, primary uint32) error {
	return in.store.Update(ctx, ref.Principal, func(tx Tx) error {
		anew := func(purpose string, content []byte) ([]byte, error) {
			if len(content) == 0 || seal.KeyID(content) == primary {
				return nil, ErrNotFound
			}
			bound := []string{ref.Principal, ref.ID()}
			plain, err := in.keys.Open(purpose, bound, content)
			if err != nil {
				return nil, fmt.Errorf("inbox: row %s: %w", ref.ID(), err)
			}
			return in.keys.Seal(purpose, bound, plain), nil
		}
		switch {
		case ref.Question != "":
			row, err := tx.Question(ref.Question)
			if err != nil {
				return err
			}
			if row.Content, err = anew(questionPurpose, row.Content); err != nil {
				return err
			}
			return tx.PutQuestion(row)
		case ref.Approval != "":
			row, err := tx.Approval(ref.Approval)
			if err != nil {
				return err
			}
			if row.Content, err = anew(approvalPurpose, row.Content); err != nil {
				return err
			}
			return tx.PutApproval(row)
		}
		row, err := tx.Call(ref.Call)
		if err != nil {
			return err
		}
		if row.Content, err = anew(callPurpose, row.Content); err != nil {
			return err
		}
		return tx.PutCall(row)
	})
}
