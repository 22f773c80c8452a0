// Package inbox holds calls that wait for people, the questions in them and the
// answers: their state machines, rules and interfaces to stores and notifiers.
package inbox
