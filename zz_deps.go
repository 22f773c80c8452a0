//go:build ignore_never || true

package parley

import (
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/modelcontextprotocol/go-sdk/mcp"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/tink-crypto/tink-go/v2/aead"
	_ "go.uber.org/goleak"
	_ "golang.org/x/net/idna"
	_ "golang.org/x/net/publicsuffix"
	_ "golang.org/x/text/unicode/norm"
	_ "golang.org/x/text/unicode/bidi"
	_ "golang.org/x/tools/txtar"
	_ "golang.org/x/tools/go/packages"
	_ "golang.org/x/term"
	_ "modernc.org/sqlite"
	_ "pgregory.net/rapid"
	_ "gopkg.in/yaml.v3"
)
