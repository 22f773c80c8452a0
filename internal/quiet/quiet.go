package quiet

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"reflect"

	"github.com/parley-mcp/parley/internal/plain"
)

// withheld stands for what is not logged.
const withheld = "(withheld)"

const (
	maxText = 2000 // characters of a message or a value
	maxKey  = 100  // characters of a key
	maxList = 50   // values of a list
)

// A Handler passes records on without what is private in them. It is as safe
// for concurrent use as the handler behind it.
type Handler struct {
	next slog.Handler
	hide bool // inside a group whose name is private
}

// New returns a handler in front of next.
func New(next slog.Handler) *Handler { return &Handler{next: next} }

// Enabled implements [slog.Handler].
func (h *Handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// Handle implements [slog.Handler].
func (h *Handler) Handle(ctx context.Context, r slog.Record) error {
	clean := slog.NewRecord(r.Time, r.Level, text(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(attr(a, h.hide))
		return true
	})
	return h.next.Handle(ctx, clean)
}

// WithAttrs implements [slog.Handler].
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &Handler{next: h.next.WithAttrs(all(attrs, h.hide)), hide: h.hide}
}

// WithGroup implements [slog.Handler].
func (h *Handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h // as slog's own handlers do
	}
	return &Handler{next: h.next.WithGroup(plain.Line(name, maxKey)), hide: h.hide || isPrivate(name)}
}

func all(attrs []slog.Attr, hide bool) []slog.Attr {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = attr(a, hide)
	}
	return clean
}

func attr(a slog.Attr, hide bool) slog.Attr {
	if a.Equal(slog.Attr{}) {
		return a // handlers leave it out
	}
	key := plain.Line(a.Key, maxKey)
	hide = hide || isPrivate(a.Key)
	inline := a.Key == "" && a.Value.Kind() == slog.KindGroup
	if hide && !inline && !redacts(a.Value) {
		return slog.String(key, withheld) // a LogValuer is not even asked
	}
	return slog.Attr{Key: key, Value: value(a.Value.Resolve(), hide)}
}

// redacts reports whether a value says itself that it is withheld: a secret's own
// words tell more than ours, and its type promises that they are harmless.
func redacts(v slog.Value) bool {
	if v.Kind() != slog.KindLogValuer {
		return false
	}
	_, formats := v.Any().(fmt.Formatter)
	return formats
}

func value(v slog.Value, hide bool) slog.Value {
	switch v.Kind() {
	case slog.KindString:
		return slog.StringValue(text(v.String()))
	case slog.KindGroup:
		return slog.GroupValue(all(v.Group(), hide)...)
	case slog.KindAny:
		return anything(v.Any())
	default: // numbers, booleans, times: nothing can hide in them
		return v
	}
}

// anything logs a value of a type that slog does not know.
func anything(v any) slog.Value {
	switch v := v.(type) {
	case nil:
		return slog.AnyValue(nil)
	case *url.URL, url.URL:
		// Sprint and not String: a nil *url.URL must not panic.
		return slog.StringValue(text(fmt.Sprint(v)))
	case []byte:
		return slog.StringValue(fmt.Sprintf("(%d bytes)", len(v)))
	case fmt.Formatter, error, fmt.Stringer:
		return slog.StringValue(text(fmt.Sprint(v)))
	case *slog.Source:
		return slog.AnyValue(v)
	}
	rv := reflect.ValueOf(v)
	switch rv.Kind() {
	case reflect.String:
		return slog.StringValue(text(rv.String()))
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
		return slog.AnyValue(v)
	case reflect.Slice, reflect.Array:
		return list(rv)
	default:
		return slog.StringValue(fmt.Sprintf("(%T)", v))
	}
}

// list logs the values of a list, each on its own terms.
func list(rv reflect.Value) slog.Value {
	texts := make([]string, 0, min(rv.Len(), maxList)+1)
	for i := range min(rv.Len(), maxList) {
		e := rv.Index(i)
		if k := e.Kind(); k == reflect.Slice || k == reflect.Array {
			texts = append(texts, fmt.Sprintf("(%s)", e.Type())) // a list in a list could go on for ever
			continue
		}
		if !e.CanInterface() {
			texts = append(texts, withheld)
			continue
		}
		texts = append(texts, value(slog.AnyValue(e.Interface()).Resolve(), false).String())
	}
	if rv.Len() > maxList {
		texts = append(texts, fmt.Sprintf("(%d more)", rv.Len()-maxList))
	}
	return slog.AnyValue(texts)
}
