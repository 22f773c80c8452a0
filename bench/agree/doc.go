// Package agree holds package form against an independent validator of JSON
// Schema 2020-12, github.com/santhosh-tekuri/jsonschema: on drawn schemas and
// answers, and on real ones, both say the same about an answer, except where
// package form differs on purpose. Each of those points is a row of a table in
// the test, with an example that must go on to differ, and is written down in
// docs/benchmarks.md.
package agree
