// Package form decides what a question drawn as a form is, and what a legal
// answer to it is. Server kit, host, pages, terminal and linter all use it, so
// that they cannot disagree.
//
// A server sends a requestedSchema: a flat JSON Schema. Parse reads it and
// keeps its bytes and the order of its fields. From there:
//
//	requestedSchema ── Parse ──> Schema ── View ────> what every surface draws
//	                               │
//	           typed by a person ──┼─ Coerce ──> content: legal JSON, or Errors
//	     earlier or given answer ──┼─ Entries ─> what a person would have typed
//	           received by wire ───┼─ Fill, Check ─> complete, and legal or not
//	                               └─ Problems ─> what a revision does not allow
//
// # What is read
//
// Parse is generous, since a person should be able to answer what a server
// meant: enum with enumNames of any length, oneOf and anyOf of const and title
// with or without a type, choices of numbers, lists of choices in all four
// spellings, local $ref (bounded, cycles refused), null beside a type, any
// dialect, annotations, and a form without fields. Nothing is fetched. What
// cannot be drawn becomes a field of kind Unsupported with a reason: an optional
// one is left out, a required one makes Send impossible, and View says so. In
// the arguments of a tool such a field is typed as JSON.
//
// Problems is strict: it holds a schema against the schema.ts of one revision.
//
// # What is legal
//
// Check applies the schema as JSON Schema 2020-12 does: lengths in code points,
// numbers compared exactly and never through a float64, patterns not anchored.
// Beyond it, email, uri, date and date-time are asserted (RFC 5321, 3986 and
// 3339, on the real calendar), a key that was not asked for is an error, so is
// a key given twice, and a number beyond the range of a float64 is refused. Other
// formats are annotations. A pattern that RE2 cannot run, or that would cost too
// much, is not enforced: Field.PatternEnforced and a Note in the View say so.
//
// Defaults are suggestions. Fill puts them in before a person looks (FillAll);
// a server fills only required fields (FillRequired), since an absent optional
// field was cleared. A default that breaks its own field's rules is dropped and
// noted, so that the untouched form can be sent.
//
// # What a person types
//
// Coerce reads text as people write it; see Coerce for blanks and Input for its
// JSON. Text is trimmed, except a default that was left untouched. Numbers keep
// their digits: 9007199254740993 stays, 1.0 is an integer, 1e3 is a number and
// no integer, "1 234" is 1234, "1,5" is 1.5, and "1,234" is refused since people
// read it in two ways. Digits of other scripts are taken when all are of one.
// A date is YYYY-MM-DD, a date-time RFC 3339: making them comfortable to enter
// is the surface's work.
//
// # Errors
//
// Each Error has a stable Code (the constants Code...), a JSON Pointer, params
// for translation, and an English sentence that names the field and says what to
// do. None holds the answer. A *SchemaError has a rule: too-large, malformed,
// root-type, properties-type, required-type, too-many-fields.
//
// All bounds are constants. No input makes the package panic, and no small
// schema makes it work long. Schemas are immutable and safe for concurrent use.
package form
