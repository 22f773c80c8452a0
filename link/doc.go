// Package link says what a URL really is, before a person is offered to open it.
//
// A server that asks in URL mode (MCP 2026-07-28 elicitation, "URL mode") names an
// address that a person shall visit. Addresses lie: by user names that look like hosts,
// by letters that look like other letters, and by spellings that a browser and a Go
// program read in different ways. [Inspect] reads an address as browsers do (the WHATWG
// URL standard) and as package net/url does, and answers with a [Report]: the verdict,
// the domain that somebody registered, the findings to show, and the href to open.
// Nothing here does I/O: no name is looked up and nothing is fetched before a person
// consents (MCP 2026-07-28 elicitation, "Safe URL Handling" C1, C6, C8; MCP 2026-07-28
// elicitation, "URL Mode Elicitation Requests" S2).
//
// # The rule
//
// An address is refused unless
//
//  1. it has no control character, space or backslash that is not percent-encoded;
//  2. "http://" or "https://" and a host literally follow each other, without user
//     name and without percent codes in the host;
//  3. net/url accepts it and finds the same host;
//  4. the host survives the round trip: ToASCII(host) has no error, and the host in lower
//     case and normal form C is that or its ToUnicode. A last label that is a number is a
//     canonical dotted quad.
//
// Where engines still differ, [Report.Href] is a spelling that all of them keep: so "^"
// and "|" in a path are percent-encoded, as in Chromium.
//
// # Findings
//
// Refused, because programs would read the address in different ways: too_long,
// invalid_text, control, space, backslash, not_absolute, authority_missing, userinfo,
// userinfo_host, port_invalid, percent, parsers_differ, host_encoded, host_hidden, host_invalid,
// host_international, host_rewritten, ip_disguised, ip_invalid, ip_zone.
//
// Refused, because of where it leads: scheme, ip_embedded, link_local, top_level; local
// unless the server is local; private_network unless allowed.
//
// Warnings: not_encrypted (refused on demand), ip_address, no_domain,
// long_host, long, mixed_scripts, whole_script, unusual_character,
// fake_slash, lookalike, known_subdomain, pre_authenticated, control_encoded, direction.
//
// Notes: local_allowed, private_allowed, international, deviation, other_script, known_part, hosted, port, trailing_dot,
// onion, host_ends_early, contains_address, hidden, normalised, other_site. Without a
// verdict of their own: encoded, same_site.
//
// A code stands for one sentence. parsers_differ is a last guard: no address is known to
// reach it.
//
// # Limits
//
// The list of public suffixes is the one compiled into golang.org/x/net/publicsuffix.
// Look-alikes are compared with a built-in list of some 370 well-known domains, the
// asking server's, and those of [Options.Known]; being on a list is no sign of trust.
// Redirects, and names that resolve to private addresses, cannot be seen without
// opening the address.
package link
