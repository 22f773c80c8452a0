package host

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func stream(status int, text string) *http.Response {
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(text)),
	}
}

// A standalone stream that is cut again and again stays one stream for the SDK.
func TestStandaloneStreamIsKept(t *testing.T) {
	t.Parallel()
	var last []string
	base := roundTripFunc(func(r *http.Request) (*http.Response, error) {
		last = append(last, r.Header.Get("Last-Event-ID"))
		switch len(last) {
		case 3:
			return nil, errors.New("refused")
		case 5:
			return stream(502, ""), nil
		case 6: // it has not noticed that the stream before was cut
			return stream(409, ""), nil
		case 7: // the token had ended, and there was no fresh one
			return stream(401, ""), nil
		case 8:
			return stream(429, ""), nil
		case 9:
			return stream(200, "id: 8\ndata: b\n\n"), nil
		case 10:
			return stream(405, ""), nil
		}
		return stream(200, ""), nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // only a failure waits for it
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://x.example", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp := stream(200, "id: 7\ndata: a\n\n")
	keepOpen(base, req, resp, time.Microsecond)
	want := "id: 7\ndata: a\n\nid: 8\ndata: b\n\n"
	got := make([]byte, len(want))
	if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != want {
		t.Fatalf("read %q (%v), want %q", got, err, want)
	}
	for i, id := range last {
		if id != "7" {
			t.Errorf("request %d resumed after %q, want 7", i, id)
		}
	}
	// Then the server offers none any more: the stream is silent, and ends with the session.
	ended := make(chan error)
	go func() {
		_, err := resp.Body.Read(got)
		ended <- err
	}()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the stream ended with %v", err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Error(err)
	}

	// What is no standalone stream is left alone.
	resumed := req.Clone(t.Context())
	resumed.Header.Set("Last-Event-ID", "7")
	for _, r := range []*http.Request{resumed, {Method: http.MethodPost, Header: http.Header{}}} {
		resp := stream(200, "x")
		before := resp.Body
		keepOpen(base, r, resp, time.Microsecond)
		if resp.Body != before {
			t.Errorf("the response to a %s was wrapped", r.Method)
		}
	}
}

// A server that keeps the header of a standalone stream back has the session
// opened without, and what it sends at last is taken as it is.
func TestStandaloneStreamThatComesLate(t *testing.T) {
	t.Parallel()
	const text = "id: 7\ndata: a\n\n"
	for name, test := range map[string]struct {
		late *http.Response
		err  error
		then *http.Response // to the next request
	}{
		"a stream":    {late: stream(200, text)},
		"an error":    {err: errors.New("refused"), then: stream(200, text)},
		"none at all": {late: stream(405, ""), then: stream(405, "")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			release, requests := make(chan struct{}), atomic.Int32{}
			base := roundTripFunc(func(*http.Request) (*http.Response, error) {
				<-release
				if requests.Add(1) == 1 {
					return test.late, test.err
				}
				return test.then, nil
			})
			ctx, cancel := context.WithCancel(t.Context())
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://x.example", nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := roundTrip(base, req, time.Nanosecond)
			if err != nil || !isStream(resp) {
				t.Fatalf("%+v, %v; want a stream", resp, err)
			}
			keepOpen(base, req, resp, time.Microsecond)
			close(release)
			got := make([]byte, len(text))
			if test.late == nil || test.late.StatusCode == http.StatusOK {
				if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != text {
					t.Errorf("read %q (%v), want %q", got, err, text)
				}
			} else {
				cancel()
				if n, err := resp.Body.Read(got); n != 0 || !errors.Is(err, context.Canceled) {
					t.Errorf("read %d bytes (%v), want none until the session ends", n, err)
				}
			}
			cancel()
			if err := resp.Body.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
