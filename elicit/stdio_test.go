package elicit_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/elicit"
	"github.com/parley-mcp/parley/elicit/elicittest"
)

// pipes serves the server over pipes until the test ends.
func pipes(t *testing.T, server *elicit.Server) (in io.WriteCloser, out io.ReadCloser) {
	t.Helper()
	serverIn, clientOut := io.Pipe()
	clientIn, serverOut := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- elicit.Serve(context.Background(), server, serverIn, serverOut)
		serverOut.Close()
	}()
	t.Cleanup(func() {
		clientOut.Close()
		clientIn.Close()
		<-done
	})
	return clientOut, clientIn
}

func TestServeOfficialClient(t *testing.T) {
	t.Parallel()
	for _, revision := range elicittest.Revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			server, _ := newServer(t, nil)
			addBook(server)
			in, out := pipes(t, server)
			answer := sdkAnswer(revision)
			client := mcp.NewClient(&mcp.Implementation{Name: "c"}, &mcp.ClientOptions{
				Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{}},
				ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					return answer(req.Params), nil
				},
			})
			session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: out, Writer: in}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
			if err != nil {
				t.Fatal(err)
			}
			result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "book", Arguments: order{"Tokyo"}})
			if err != nil {
				t.Fatal(err)
			}
			checkReceipt(t, result)
			if err := session.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestServeExact keeps integers exact over a pipe, in both eras at once.
func TestServeExact(t *testing.T) {
	t.Parallel()
	type exact struct {
		N int64 `json:"n"`
	}
	server, _ := newServer(t, nil)
	elicit.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *elicit.Call, _ none) (exact, error) {
		return elicit.Ask[exact](ctx, call, "n", "Number?")
	})
	in, out := pipes(t, server)
	lines := bufio.NewReader(out)
	exchange := func(line string) (id, state string, text string) {
		t.Helper()
		if _, err := io.WriteString(in, line+"\n"); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(line, `"id"`) {
			return "", "", ""
		}
		text, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		var message struct {
			ID     json.RawMessage `json:"id"`
			Result struct {
				State string `json:"requestState"`
			} `json:"result"`
		}
		if err := json.Unmarshal([]byte(text), &message); err != nil {
			t.Fatal(err)
		}
		return string(message.ID), message.Result.State, text
	}
	const want = `"structuredContent":{"n":9007199254740993}`

	_, state, _ := exchange(askModern)
	_, _, text := exchange(strings.Replace(askModern, `"arguments"`,
		`"requestState":"`+state+`","inputResponses":{"n":{"action":"accept","content":{"n":9007199254740993}}},"arguments"`, 1))
	if !strings.Contains(text, want) {
		t.Errorf("modern: %s", text)
	}

	legacy, _ := newServer(t, nil)
	elicit.AddTool(legacy, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *elicit.Call, _ none) (exact, error) {
		return elicit.Ask[exact](ctx, call, "n", "Number?")
	})
	in, out = pipes(t, legacy)
	lines = bufio.NewReader(out)
	exchange(strings.Replace(initialize, `"capabilities":{}`, `"capabilities":{"elicitation":{}}`, 1))
	exchange(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	id, _, _ := exchange(strings.Replace(askHeadless, `"id":1`, `"id":2`, 1))
	_, _, text = exchange(`{"jsonrpc":"2.0","id":` + id + `,"result":{"action":"accept","content":{"n":9007199254740993}}}`)
	if !strings.Contains(text, want) {
		t.Errorf("legacy: %s", text)
	}
}

// TestServeKeys keeps the key of a program that hosts start again and again.
func TestServeKeys(t *testing.T) { // not parallel: it changes the environment
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("HOME", dir)
	config, err := os.UserConfigDir()
	if err != nil {
		t.Fatal(err)
	}
	first := func(audience, line string) (result string) {
		t.Helper()
		server, _ := newServer(t, &elicit.Options{Audience: audience})
		elicit.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *elicit.Call, _ none) (none, error) {
			_, err := elicit.Confirm(ctx, call, "sure", "Sure?")
			return none{}, err
		})
		in, out := pipes(t, server)
		if _, err := io.WriteString(in, line+"\n"); err != nil {
			t.Fatal(err)
		}
		text, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	var message struct {
		Result struct {
			State string `json:"requestState"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(first("notes", askModern)), &message); err != nil {
		t.Fatal(err)
	}
	retry := strings.Replace(askModern, `"arguments"`,
		`"requestState":"`+message.Result.State+`","inputResponses":{"sure":{"action":"accept","content":{"confirmed":true}}},"arguments"`, 1)
	if text := first("notes", retry); !strings.Contains(text, `"resultType":"complete"`) {
		t.Errorf("the next process does not go on: %s", text)
	}
	if text := first("other", retry); !strings.Contains(text, "invalid_request_state") {
		t.Errorf("another program goes on: %s", text)
	}
	if _, err := os.Stat(filepath.Join(config, "parley", "notes", "keys.json")); err != nil {
		t.Error(err)
	}
	var log lockedBuffer
	server, _ := newServer(t, &elicit.Options{Audience: "../notes", Logger: slog.New(slog.NewTextHandler(&log, nil))})
	t.Cleanup(func() { // after the end of the pipes
		if !strings.Contains(log.String(), "cannot name a directory") {
			t.Errorf("log %s", log.String())
		}
	})
	pipes(t, server)
}

// TestHandshakeOfTheFuture asks a client whose legacy handshake names a
// revision that does not have it. The SDK settles on 2025-11-25 with it, and
// then takes it for a modern client.
func TestHandshakeOfTheFuture(t *testing.T) {
	t.Parallel()
	for _, revision := range []string{modern, "2027-01-01"} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			server, _ := newServer(t, nil)
			elicit.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, call *elicit.Call, _ none) (none, error) {
				_, err := elicit.Confirm(ctx, call, "sure", "Sure?")
				return none{}, err
			})
			in, out := pipes(t, server)
			lines := bufio.NewReader(out)
			for _, exchange := range []struct{ send, want string }{
				{strings.NewReplacer("2025-11-25", revision, `"capabilities":{}`, `"capabilities":{"elicitation":{}}`).Replace(initialize), `"protocolVersion":"2025-11-25"`},
				{askHeadless, `"method":"elicitation/create"`},
			} {
				if _, err := io.WriteString(in, exchange.send+"\n"); err != nil {
					t.Fatal(err)
				}
				if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, exchange.want) {
					t.Errorf("got %q, %v, want %s", line, err, exchange.want)
				}
			}
		})
	}
}
