package elicittest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// httpWire is Streamable HTTP.
type httpWire struct {
	endpoint string
	revision string
	header   http.Header
	client   *http.Client

	mu      sync.Mutex // guards what follows
	session string
}

func (w *httpWire) request(ctx context.Context, id string, message map[string]any, header http.Header, receive receiver) (json.RawMessage, error) {
	response, err := w.post(ctx, message, header)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch media {
	case "application/json":
		body, err := io.ReadAll(response.Body)
		if err != nil {
			return nil, fmt.Errorf("elicittest: %w", err)
		}
		result, _, err := receive(ctx, body, id, response.StatusCode)
		return result, err
	case "text/event-stream":
	default:
		body, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
		return nil, fmt.Errorf("elicittest: HTTP %d: %s", response.StatusCode, bytes.TrimSpace(body))
	}
	lines := bufio.NewReader(response.Body)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return nil, fmt.Errorf("elicittest: the stream ended without a response: %w", err)
		}
		data, ok := strings.CutPrefix(line, "data:")
		if data = strings.TrimSpace(data); !ok || data == "" {
			continue
		}
		result, done, err := receive(ctx, []byte(data), id, response.StatusCode)
		if done || err != nil {
			return result, err
		}
	}
}

func (w *httpWire) notify(ctx context.Context, message map[string]any, header http.Header) error {
	response, err := w.post(ctx, message, header)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode >= 400 {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
		return fmt.Errorf("elicittest: the answer was refused: HTTP %d: %s", response.StatusCode, bytes.TrimSpace(text))
	}
	return nil
}

func (w *httpWire) close() { w.leave() }

func (w *httpWire) leave() {
	w.mu.Lock()
	session := w.session
	w.mu.Unlock()
	if session == "" {
		return
	}
	request, err := http.NewRequestWithContext(context.Background(), http.MethodDelete, w.endpoint, nil)
	if err != nil {
		return
	}
	w.setHeader(request, nil)
	if response, err := w.client.Do(request); err == nil {
		response.Body.Close()
	}
}

func (w *httpWire) setHeader(request *http.Request, other http.Header) {
	for _, header := range []http.Header{w.header, other} {
		for key, values := range header {
			request.Header[key] = slices.Clone(values)
		}
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.revision >= modern || w.session != "" {
		request.Header.Set("Mcp-Protocol-Version", w.revision)
	}
	if w.session != "" {
		request.Header.Set("Mcp-Session-Id", w.session)
	}
}

func (w *httpWire) post(ctx context.Context, message map[string]any, header http.Header) (*http.Response, error) {
	body, err := json.Marshal(message)
	if err != nil {
		return nil, fmt.Errorf("elicittest: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("elicittest: %w", err)
	}
	w.setHeader(request, header)
	if w.revision >= modern {
		// MCP 2026-07-28 transports, "Standard Request Headers".
		method, _ := message["method"].(string)
		request.Header.Set("Mcp-Method", method)
		if params, ok := message["params"].(map[string]any); ok {
			for _, key := range []string{"name", "uri"} {
				if name, ok := params[key].(string); ok {
					request.Header.Set("Mcp-Name", name)
				}
			}
		}
	}
	response, err := w.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("elicittest: %w", err)
	}
	if id := response.Header.Get("Mcp-Session-Id"); id != "" {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.session == "" {
			w.session = id
		}
	}
	return response, nil
}
