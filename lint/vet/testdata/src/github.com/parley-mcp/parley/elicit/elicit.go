// Package elicit has the signatures of the real one, for the tests of the check.
package elicit

import (
	"context"
	"time"
)

type (
	Call            struct{}
	Option          struct{ Value, Title string }
	AskOption       func() error
	Consent         int
	Principal       struct{}
	Asker           interface{ asker() }
	Question[T any] struct{ Value T }
)

const Yes Consent = 2

func (*Question[T]) asker() {}

func Ask[T any](ctx context.Context, call *Call, key, message string, options ...AskOption) (T, error) {
	var zero T
	return zero, nil
}
func NewQuestion[T any](key, message string, options ...AskOption) *Question[T] { return nil }
func AskAll(ctx context.Context, call *Call, questions ...Asker) error          { return nil }
func Confirm(ctx context.Context, call *Call, key, message string, options ...AskOption) (Consent, error) {
	return 0, nil
}
func Choose[S ~[]E, E any](ctx context.Context, call *Call, key, message string, items S, option func(E) Option, options ...AskOption) (E, error) {
	var zero E
	return zero, nil
}
func Memo[T any](ctx context.Context, call *Call, key string, maxAge time.Duration, lookup func(context.Context) (T, error)) (T, error) {
	var zero T
	return zero, nil
}
func Visit(ctx context.Context, call *Call, key, message, address string, done func(context.Context, Principal) (bool, error), options ...AskOption) error {
	return nil
}
func Choices[S ~[]E, E any](fieldName string, items S, option func(E) Option) AskOption { return nil }
