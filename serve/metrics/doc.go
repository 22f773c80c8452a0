// Package metrics counts what happens in an inbox, for Prometheus.
//
// What is counted comes from the audit log as it is written ([inbox.Options].Observe),
// after the commit, so a counter says what this machine did, and the sum over machines
// says what was done. How much is open, parked or blocked is asked of the store, of
// everybody and at most every half minute; each machine says the same of that, so take
// the maximum over machines and not the sum.
//
//	m := metrics.New(&metrics.Options{Servers: ids})
//	in := inbox.New(store, keys, &inbox.Options{Observe: m.Observe})
//	m.Watch(in, nil)
//	server := serve.New(host, in, &serve.Options{Limited: m.Limited, …})
//	http.Handle("GET /metrics", m.Handler())
//
// # What there is
//
//	parley_questions_open                                  of everybody
//	parley_calls{server,state}                             that have not ended: waiting is parked, blocked, uncertain, …
//	parley_calls_composed_total{server,actor}
//	parley_calls_ended_total{server,era,state,reason}
//	parley_calls_blocked_total{server,reason}
//	parley_calls_uncertain_total{server,era,reason}
//	parley_deliveries_total{server}                        rounds and held answers that were marked to leave: resumes
//	parley_questions_asked_total{server,mode}
//	parley_questions_shown_total{mode}
//	parley_questions_closed_total{server,mode,state}       accepted, declined, cancelled, expired, withdrawn
//	parley_question_wait_seconds{mode}                     histogram: from the asking to the answer
//	parley_answers_refused_total{server}                   answers that did not fit their form
//	parley_limits_hit_total{server,reason}                 calls that ended by a limit, questions refused by one; without a server: answers 429
//	parley_approvals_asked_total{server}
//	parley_approvals_closed_total{server,state}            allowed, denied, expired, withdrawn
//	parley_credentials_read_total{server}
//	parley_credentials_renewed_total{server,outcome}       renewed, or why not: invalid_grant, refused, unavailable, not_sent, lost
//	parley_credentials_revoked_total{server,outcome}       revoked, or the same
//	parley_webhooks_sent_total{endpoint,outcome}           delivered, failed (tried again), dead (given up)
//	parley_webhooks_waiting{endpoint}                      now
//	parley_webhooks_dead{endpoint}                         now
//	parley_store_errors_total                              figures that the store could not give
//
// Those of the Go runtime and of the process are beside them.
//
// # Labels
//
// No label has a person, an id, a tool, or a word that a server, a model or a person
// chose. A server is one of Options.Servers, or "other"; a reason is one of the codes in
// reasons.go, or "other"; an endpoint is the operator's own name for it. So the number of series is bounded, whatever strangers do.
package metrics
