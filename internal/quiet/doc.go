// Package quiet keeps secrets and strangers' tricks out of logs.
//
// A [Handler] stands in front of another [slog.Handler]:
//
//	code ── slog.Logger ──> quiet.Handler ──> slog.TextHandler ──> stderr
//
// What it does to a record:
//
//   - An attribute whose key names something private (a token, an answer, the
//     arguments of a call, a request state; the table is in keys.go) is withheld,
//     with all that is below it if it is a group.
//   - A URL loses its user name, query and fragment, wherever in a text it stands.
//     What follows "Bearer", or "token=" and its like, is withheld too.
//   - Text is made safe by [plain.Line] and bounded, the message and errors included.
//   - A value that knows how to print itself (LogValuer, Formatter, error, Stringer)
//     does so; any other structure is named by its type instead of being spread out.
//
// It is the second line. The first is that nothing private is logged, and that
// secrets have types that do not print.
//
// Nothing here can fail: a value whose method panics is logged as fmt would show it.
package quiet
