// Package inboxtest holds the suites that every [inbox.Store] and every
// [inbox.Notifier] has to pass. There are no exemptions: a store whose database
// behaves differently makes up for it.
package inboxtest
