package clients

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if home := os.Getenv(asMinder); home != "" {
		if err := mind(home); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	name := os.Getenv(asServer)
	if name == "" {
		os.Exit(m.Run())
	}
	if err := runServer(name); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
