// Package vault keeps credentials at rest, bound to a person.
package vault
