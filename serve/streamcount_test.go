package serve

import (
	"errors"
	"fmt"
	"strconv"
	"testing"

	"github.com/parley-mcp/parley/inbox"
)

// TestStreamCountForgets: people and issuers who have no stream any more are not
// remembered, and their places are free again.
func TestStreamCountForgets(t *testing.T) {
	t.Parallel()
	c := &streamCount{most: 1, mostOfIssuer: 2, mostOfAll: 3}
	for range 3 {
		var back []func()
		for i, p := range []inbox.Principal{{Issuer: "a", Subject: "1"}, {Issuer: "a", Subject: "2"}, {Issuer: "b", Subject: "1"}} {
			giveBack, err := c.take(p, i == 1)
			if err != nil {
				t.Fatalf("%d: %v", i, err)
			}
			back = append(back, giveBack)
		}
		if _, err := c.take(inbox.Principal{Issuer: "c", Subject: "1"}, false); err == nil {
			t.Fatal("a fourth stream of three")
		}
		for _, giveBack := range back {
			giveBack()
		}
		if c.all != (places{}) || len(c.open) != 0 || len(c.ofIssuer) != 0 {
			t.Fatal(fmt.Sprint("left: ", c.all, c.open, c.ofIssuer))
		}
	}
}

// TestWaitsLeaveStreams: however many requests of a person, an issuer or everybody wait,
// a stream still opens, and the places that are left to streams are a quarter of them.
func TestWaitsLeaveStreams(t *testing.T) {
	t.Parallel()
	for _, bound := range []struct {
		reason string
		count  func(most int) *streamCount
	}{
		{ReasonTooManyStreams, func(most int) *streamCount { return &streamCount{most: most, mostOfIssuer: 1000, mostOfAll: 1000} }},
		{ReasonTooManyIssuerStreams, func(most int) *streamCount { return &streamCount{most: 1000, mostOfIssuer: most, mostOfAll: 1000} }},
		{ReasonTooManyAllStreams, func(most int) *streamCount { return &streamCount{most: 1000, mostOfIssuer: 1000, mostOfAll: most} }},
	} {
		for most, left := range map[int]int{1: 0, 2: 1, 3: 1, 4: 1, 8: 2, 32: 8} {
			c := bound.count(most)
			fill := func(waits bool) (n int, full *inbox.LimitError) {
				for ; ; n++ {
					p := inbox.Principal{Issuer: "a", Subject: "1"}
					switch bound.reason {
					case ReasonTooManyAllStreams:
						p.Issuer = strconv.Itoa(n)
					case ReasonTooManyIssuerStreams:
						p.Subject = strconv.Itoa(n)
					}
					if _, err := c.take(p, waits); err != nil {
						if !errors.As(err, &full) || full.Reason != bound.reason {
							t.Fatalf("%s: %v", bound.reason, err)
						}
						return n, full
					}
				}
			}
			if n, full := fill(true); n != most-left || full.Limit != most-left {
				t.Errorf("%s: %d of %d wait, and the limit is said to be %d", bound.reason, n, most, full.Limit)
			}
			if n, full := fill(false); n != left || full.Limit != most {
				t.Errorf("%s: beside those that wait %d of %d streams open, and the limit is said to be %d", bound.reason, n, most, full.Limit)
			}
		}
	}
}
