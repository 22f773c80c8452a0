package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/internal/plain"
	"github.com/parley-mcp/parley/lint"
)

// Bounds on what a server declares.
const (
	maxDeclared   = 2000
	serverTimeout = 30 * time.Second
)

// lintServer asks a running server for its tools and prompts and judges what it
// declares. It calls none of them, and offers the server nothing.
func lintServer(ctx context.Context, address string, opts *lint.Options) ([]lint.File, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, usageError("--server takes the address of an MCP endpoint, such as http://localhost:8080/mcp", "%q is not the address of a server", plain.Line(address, 200))
	}
	ctx, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	// Capabilities that are nil would declare roots.
	client := mcp.NewClient(&mcp.Implementation{Name: "parley-lint", Version: version}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	shown := u.Scheme + "://" + u.Host + u.Path // a query may hold a token
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: address, MaxRetries: -1, DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		return nil, connectError("is it running, and is this its MCP endpoint?", "no connection to %s: %w", shown, withoutURL(err))
	}
	defer func() { _ = session.Close() }() // it has told us everything

	var files []lint.File
	can := session.InitializeResult().Capabilities
	judge := func(what string, list any) error {
		b, err := json.Marshal(map[string]any{what: list})
		if err != nil {
			return err
		}
		rep, err := lint.Lint(b, opts)
		if err != nil {
			return usageError("", "%s of %s: %w", what, shown, err)
		}
		for i := range rep.Findings { // there is no text that a person could look at
			rep.Findings[i].Line, rep.Findings[i].Column = 0, 0
		}
		files = append(files, lint.File{Name: shown, Report: rep})
		return nil
	}
	if can != nil && can.Tools != nil {
		tools := []*mcp.Tool{}
		for t, err := range session.Tools(ctx, nil) {
			if err != nil {
				return files, connectError("", "listing the tools of %s: %w", shown, withoutURL(err))
			}
			if tools = append(tools, t); len(tools) >= maxDeclared {
				break
			}
		}
		if err := judge("tools", tools); err != nil {
			return files, err
		}
	}
	if can != nil && can.Prompts != nil {
		prompts := []*mcp.Prompt{}
		for p, err := range session.Prompts(ctx, nil) {
			if err != nil {
				return files, connectError("", "listing the prompts of %s: %w", shown, withoutURL(err))
			}
			if prompts = append(prompts, p); len(prompts) >= maxDeclared {
				break
			}
		}
		if err := judge("prompts", prompts); err != nil {
			return files, err
		}
	}
	return files, nil
}

// withoutURL takes the address out of an error of net/http, which quotes it
// with its query.
func withoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}
