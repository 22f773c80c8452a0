// Package receivers_test runs the receivers of webhooks that docs/webhooks.md shows,
// as they stand there, with real messages and with forged ones.
package receivers_test
