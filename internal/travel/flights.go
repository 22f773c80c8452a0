package travel

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/parley-mcp/parley/elicit"
)

// Flight is one connection on offer.
type Flight struct {
	Number  string `json:"number"`
	Via     string `json:"via"`
	Departs string `json:"departs"` // local, 15:04
	Arrives string `json:"arrives"` // local, 15:04, the next day
	Price   int    `json:"price"`   // whole euros for one traveller, with one bag
}

func (f Flight) option() elicit.Option {
	return elicit.Option{
		Value: f.Number,
		Title: fmt.Sprintf("%s via %s, %s to %s (+1), %d EUR", f.Number, f.Via, f.Departs, f.Arrives, f.Price),
	}
}

var stops = []string{"Helsinki", "Istanbul", "Seoul", "Doha", "Munich", "Warsaw", "Singapore", "Zurich"}

// search finds the connections of a day. The same arguments always give the
// same flights.
func search(from, to string, day time.Time) []Flight {
	random := randomFor(from, to, day.Format(time.DateOnly))
	flights := make([]Flight, 4)
	order := random.Perm(len(stops))
	departure := 6*60 + 5*random.IntN(24)
	for i := range flights {
		duration := 13*60 + 5*random.IntN(72)
		flights[i] = Flight{
			Number:  fmt.Sprintf("PY %d", 100+20*i+random.IntN(20)),
			Via:     stops[order[i]],
			Departs: clock(departure),
			Arrives: clock(departure + duration + 8*60), // eight hours ahead
			Price:   620 + 5*random.IntN(90),
		}
		departure += 90 + 5*random.IntN(36)
	}
	return flights
}

// randomFor returns a generator that is the same for the same words.
func randomFor(words ...string) *rand.Rand {
	hash := fnv.New64a()
	for _, word := range words {
		fmt.Fprintf(hash, "%q", strings.ToLower(strings.TrimSpace(word)))
	}
	return rand.New(rand.NewPCG(hash.Sum64(), 1)) //nolint:gosec // of flights, not of secrets
}

func clock(minutes int) string {
	return fmt.Sprintf("%02d:%02d", minutes/60%24, minutes%60)
}

// parseDay reads a date argument.
func parseDay(text string) (time.Time, error) {
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("date: want a day such as 2027-03-27")
	}
	return day, nil
}

func long(day time.Time) string { return day.Format("Monday, 2 January 2006") }
