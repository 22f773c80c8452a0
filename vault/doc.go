// Package vault keeps credentials at rest, bound to a person, and keeps them
// usable: tokens are renewed before they end, once, whoever and however many
// ask on however many machines.
//
//	v, err := vault.New(store, keys, &vault.Options{Endpoint: endpoint, Audit: audit})
//	go v.Run(ctx)
//	...
//	token, err := v.Token(ctx, ada, "https://mcp.example/", "", "tools/call book")
//	request.Header.Set("Authorization", token.Header().Reveal())
//	... 401 ...
//	token, err = v.Renew(ctx, ada, token, "tools/call book")
//
// It holds rules and does no I/O of its own: rows go to a [Store], requests to
// authorization servers to an [Endpoint].
//
// # What it holds
//
// A grant is what one principal has at one provider under one label: an access
// token, a refresh token, or the secrets of a static key, and the [Terms] that
// were fixed when the person consented. A flow is something begun and not
// finished, such as an authorization that waits for its callback. A client is a
// registration at an authorization server, which belongs to a tenant and to no
// person. A revocation is a token that is still to be revoked.
//
// # Trust
//
// Every secret is sealed alone, with a key that the store does not have, and
// bound to its principal (issuer, tenant, subject), provider, row, field and
// generation. Who can write to the database can delete, and can bring back a
// row as it was; moving sealed text to another person, row, field or generation
// makes it unreadable. What decides where a token is sent (endpoints, client,
// scopes, account) is sealed too, so nobody can have a refresh token sent
// elsewhere by changing a row.
//
// Each lookup names the principal, and the store has it in the condition of
// each statement. Another person's row is [ErrNotFound], like none at all.
//
// [Secret] and [Token] do not print. Giving one out is told to
// [Options.Audit] first, and does not happen if that fails.
//
// # Status of a grant
//
//	alive            -> reconnect_needed   invalid_grant; or the answer to a renewal was lost and
//	                                       the provider does not take the refresh token again
//	                 -> dead               another refusal (4xx): the client, not the grant, is wrong
//	dead             -> alive              the one try per cool-down succeeded
//	                 -> reconnect_needed   it found invalid_grant
//	reconnect_needed -> alive              the person consented again; or a renewal that others
//	                                       had given up brought its answer late
//
// A server that is away (5xx, 429, no connection) changes no status: it is
// asked again after a cool-down that doubles up to five minutes.
//
// # Renewal
//
// A refresh token is often good for one use, and the answer has the next one.
// So a renewal must happen once, and its answer must not be lost:
//
//	lease  ->  secrets, audit  ->  intent  ->  request  ->  settle
//
// Lease, intent and settle are one transaction each. The lease is in the
// store's time and has a fencing number; whoever finds it taken waits for the
// outcome. The intent is committed right before the request, so that after a
// crash there are two cases: no intent, and the refresh token is unused; or an
// intent without an outcome, and it may have been used. Settle commits the new
// pair before anybody gets it, and is tried again while the store is away.
//
// Callers of one process share one renewal. It does not end when they do.
//
// What happens when
//
//   - the machine dies before the intent: its lease ends, another one renews.
//   - the machine dies, or the answer is lost, after the intent: if the provider
//     takes the refresh token again ([Renewal.Grace], [Renewal.Rotation]) it is
//     used again, at most ten times and within the grace; else the grant is
//     reconnect_needed, and nobody asks again. Never a loop.
//   - the machine stalls and comes back after its lease: if somebody else has
//     stored a newer pair, what it brings is dropped. If somebody else is at it,
//     it waits for their end. If they gave up, what it brings is the newest pair
//     that there is, and is stored.
//   - the server says invalid_grant and the row has other secrets than those
//     that were sent: somebody else was faster, and theirs are used.
//   - the grant was deleted meanwhile: it stays deleted, and the new tokens are
//     revoked.
//   - the person consented again meanwhile: their new grant stays.
//
// # Who owns the next step
//
//   - alive: whoever uses it.
//   - reconnect_needed: the person, by consenting again.
//   - dead: the operator, who repairs the client registration.
//   - another account ([OtherAccountError]): the person, for ten minutes, by
//     [Vault.Decide]; then a sweep, which revokes the new tokens.
//   - a revocation: any machine that runs [Vault.Run], for seven days.
//
// # Keys
//
// [Keys] are a ring: one key seals, all open. They are those of the inbox on the
// same machine. A rotation adds a key, gives it to all machines, promotes it,
// seals every row anew ([Vault.Reseal]) while all goes on, and disables the old
// one when nothing is sealed with it ([Vault.Report]). Keys may themselves be
// encrypted by a key management service ([OpenKeysWithKMS]).
//
// # How long things are kept
//
// A grant until it is deleted, or the person erased. A flow ten minutes. What is
// to be revoked at most [Options.RevokeFor]. Deleted rows are gone from the
// store as far as its own housekeeping goes; what backups hold is sealed.
package vault
