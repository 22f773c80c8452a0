// Package parley is the root of the module; it holds no code.
//
// Authors of MCP servers start at package elicit. Who embeds the side that shows
// questions to people starts at package host. DESIGN.md says how the parts fit.
package parley
