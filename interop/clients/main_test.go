package clients

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"testing"

	"github.com/parley-mcp/parley/elicit"
)

// asServer makes this program the desk on its standard input and output.
const asServer = "PARLEY_INTEROP_DESK"

func TestMain(m *testing.M) {
	if home := os.Getenv(asMinder); home != "" {
		if err := mind(home); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if os.Getenv(asServer) == "" {
		os.Exit(m.Run())
	}
	server, err := newDesk(&elicit.Options{Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err == nil {
		err = elicit.Serve(context.Background(), server, os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
