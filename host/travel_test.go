package host_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-mcp/parley/host"
	"github.com/parley-mcp/parley/inbox"
	"github.com/parley-mcp/parley/internal/travel"
)

// The kit's travel desk through the host, in both eras: the same questions,
// the same booking, one execution.
func TestTravel(t *testing.T) {
	t.Parallel()
	for _, era := range []inbox.Era{inbox.Modern, inbox.Legacy} {
		t.Run(string(era), func(t *testing.T) {
			t.Parallel()
			desk, err := travel.New(nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { desk.Close() })
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if era == inbox.Legacy && strings.HasPrefix(r.Header.Get("Mcp-Protocol-Version"), "2026") {
					http.Error(w, "an older server", http.StatusBadRequest)
					return
				}
				desk.ServeHTTP(w, r)
			}))
			t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
			r := newRig(t, nil, nil, &host.Server{ID: "travel", URL: web.URL})

			call := r.start("travel", "book_flight", `{"from":"Hamburg","to":"Tokyo","date":"2027-03-01"}`)
			if call.Era != era {
				t.Fatalf("era %s, want %s", call.Era, era)
			}
			end, err := r.Auto(t.Context(), ada, call.ID, func(ctx context.Context, stop *host.Stop) error {
				for _, q := range r.open(stop.Call.ID) {
					r.answer(q, inbox.Accept, string(agree(q.Params)))
				}
				return nil
			})
			if err != nil || end.State != inbox.Done {
				t.Fatalf("ended %+v (%v)", end, err)
			}
			var result struct {
				StructuredContent travel.Booking `json:"structuredContent"`
			}
			if err := json.Unmarshal(end.Result, &result); err != nil || !result.StructuredContent.Booked || len(desk.Entries()) != 1 {
				t.Errorf("result %s, %d entries", end.Result, len(desk.Entries()))
			}

			call = r.start("travel", "book_flight", `{"from":"Hamburg","to":"Tokyo","date":"2027-03-01"}`)
			end, err = r.Auto(t.Context(), ada, call.ID, func(ctx context.Context, stop *host.Stop) error {
				return r.declineAll(ctx, call.ID)
			})
			if err != nil || !end.State.Ended() || len(desk.Entries()) != 1 {
				t.Errorf("declined: ended %s (%v), %d entries", end.State, err, len(desk.Entries()))
			}
		})
	}
}
