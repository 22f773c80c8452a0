// Package settings reads what operators write: files of JSON, with ${VARIABLES} in their
// values.
package settings

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// Most is how many bytes of a file are read: none of them is larger by right.
const Most = 1 << 20

// ReadJSON reads one JSON value into the struct that into points to. Members that it does
// not have are errors, since they are slips: what an operator wrote has to count.
func ReadJSON(path string, into any) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, Most+1))
	if err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	if len(b) > Most {
		return fmt.Errorf("%s is larger than %d bytes", path, Most)
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return fmt.Errorf("%s goes on after its JSON value", path)
	}
	return nil
}
