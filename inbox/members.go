package inbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"strings"
)

// members are those of a stored object that this version does not know. A newer
// version may work on the same database: what it wrote stays when this one
// stores the row again.
type members map[string]json.RawMessage

// decode reads a stored object into the struct that known points to, and
// returns the members that it does not have. A view stores nothing and need not
// look for them.
func (w *work) decode(object []byte, known any) (members, error) {
	if w.writes {
		// Nearly always there are none, and one pass is enough.
		strict := json.NewDecoder(bytes.NewReader(object))
		strict.DisallowUnknownFields()
		if strict.Decode(known) == nil && strict.InputOffset() == int64(len(object)) {
			return nil, nil
		}
		reflect.ValueOf(known).Elem().SetZero()
	}
	if err := json.Unmarshal(object, known); err != nil {
		return nil, errors.New("damaged") // the text of the error has a part of it
	}
	if !w.writes {
		return nil, nil
	}
	return strangers(object, known)
}

func strangers(object []byte, known any) (members, error) {
	var all members
	if err := json.Unmarshal(object, &all); err != nil {
		return nil, errors.New("its row is damaged")
	}
	for field := range reflect.Indirect(reflect.ValueOf(known)).Type().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		delete(all, name)
	}
	return all, nil
}

// with encodes known together with the members.
func (m members) with(known any) ([]byte, error) {
	encoded, err := json.Marshal(known)
	if err != nil || len(m) == 0 {
		return encoded, err
	}
	var all members
	if err := json.Unmarshal(encoded, &all); err != nil {
		return nil, err
	}
	maps.Copy(all, m)
	return json.Marshal(all)
}
