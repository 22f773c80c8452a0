package quiet_test

import (
	"errors"
	"log/slog"
	"os"

	"github.com/parley-mcp/parley/internal/quiet"
)

func Example() {
	text := slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{} // only for the purposes of the example
		}
		return a
	}})
	log := slog.New(quiet.New(text))

	log.Warn("unreachable", "server", "travel", "err", errors.New("Post https://me:pw@travel.example/mcp?key=k: refused"))
	log.Info("answered", "question", "pick", "answer", "LH716")
	// Output:
	// level=WARN msg=unreachable server=travel err="Post https://travel.example/mcp?(withheld) refused"
	// level=INFO msg=answered question=pick answer=(withheld)
}
