// Package webhook tells programs elsewhere that somebody has to be told: a question was
// asked, will expire soon, was answered, an approval waits for a decision, or a call is
// blocked. From that, mail, chat or push are a few lines of the receiver's.
//
// A message has ids and no content: who fetches the rows does so as somebody who may
// see them. It follows Standard Webhooks: the headers webhook-id, webhook-timestamp and
// webhook-signature (HMAC-SHA-256 of id, time and body), so libraries in many languages
// verify it; in Go, [Verify] does.
//
//	{"type":"asked","timestamp":"2026-12-01T09:00:00Z","data":{
//	  "principal":{"issuer":"https://id.example.com","tenant":"","subject":"u-17"},
//	  "call":"c_…","question":"q_…","server":"travel","mode":"form",
//	  "url":"https://parley.example.com/?q=q_…"}}
//
// Of an approval it also says who decides, if that is another person or a group; one that
// was decided meanwhile is not told.
//
// # Delivery
//
// What happened is read from the audit log, which is written in the transaction of
// what it tells of, so nothing is lost when a machine dies. One machine at a time sends
// for an endpoint, under a lease in the store. A message may come twice, with the same
// webhook-id; it may come after a later one.
//
//	2xx          delivered
//	410          the endpoint wants nothing more: it is left alone until it is turned on again ([Sender.Redeliver])
//	all else     again after 5 s, 30 s, 2 min, 15 min, 1 h, 3 h, 6 h, 12 h, 24 h, or the
//	             time of Retry-After if that is later; then it is a dead letter
//
// Dead letters are listed ([Sender.Status]) and can be sent again ([Sender.Redeliver])
// until the audit log forgets what they tell of. A new endpoint begins with what happens
// after its first start.
package webhook
