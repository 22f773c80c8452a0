// Package travel is a real MCP server for demonstrations and tests: a travel
// desk that books, cancels and quotes trips, and has to ask people to do it.
// Its flights come from its arguments alone, so runs can be compared.
//
// Every execution that counts, such as a booking, is one line in a log that is
// on disk before the tool returns, and nothing removes duplicates: two lines
// mean that it really happened twice.
package travel
