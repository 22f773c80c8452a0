package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"

	"github.com/parley-mcp/parley/internal/exact"
)

// readJSON reads one JSON value into what v points to, a struct, and refuses what
// follows it. A member that is there twice, or in another case, is refused too: a
// back end that merges what its users sent into a request of its own would say
// something else than it means.
func readJSON(r *http.Request, v any) error {
	dec := json.NewDecoder(r.Body)
	var raw json.RawMessage
	err := dec.Decode(&raw)
	if err == nil {
		err = json.Unmarshal(raw, v)
	}
	if err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return err
		}
		return &badRequest{why: "the body is not the JSON that this route takes" + whereOdd(err)}
	}
	if _, err := dec.Token(); err != io.EOF {
		return &badRequest{why: "the body goes on after its JSON value"}
	}
	if members, err := exact.Members(raw, maxMembers); err != nil || exact.Ambiguous(members, names(reflect.TypeOf(v).Elem())...) {
		return &badRequest{why: "the body can be read in two ways: a member is there twice, or in another case than this route has it"}
	}
	return nil
}

// maxMembers bounds the members of a body: no route takes a tenth of it.
const maxMembers = 200

// names are those of the members that a struct is read from.
func names(t reflect.Type) (list []string) {
	for field := range t.Fields() {
		if field.Anonymous {
			list = append(list, names(field.Type)...)
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		list = append(list, name)
	}
	return list
}

// whereOdd says where a body is not what it should be. The errors' own texts may hold
// parts of the body.
func whereOdd(err error) string {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprintf(": it is no JSON at byte %d", syntax.Offset)
	}
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Sprintf(": another kind of value is wanted at byte %d", kind.Offset)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ": it ends too early"
	}
	return ""
}
