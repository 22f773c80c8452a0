package elicit

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-mcp/parley/internal/seal"
)

// maxLine bounds one message on a pipe.
const maxLine = mcp.DefaultMaxLineLength

// Serve serves MCP over a pair of pipes, one message a line, until the client
// closes its end or the context ends. A program that MCP hosts start passes
// os.Stdin and os.Stdout, and writes nothing else to os.Stdout.
//
// A host starts such a program again for each of its own starts. So that calls
// paused before can go on, a server with an [Options.Audience] and no keys of
// its own keeps its key in the user's configuration directory, in
// parley/<audience>/keys.json. Where that is impossible the log says so.
func Serve(ctx context.Context, s *Server, in io.ReadCloser, out io.Writer) error {
	s.useUserKeys()
	ctx = context.WithValue(ctx, localKey{}, true)
	return s.mcp.Run(ctx, &mcp.IOTransport{
		Reader:        &rewriteReader{server: s, source: in, lines: bufio.NewReader(in)},
		Writer:        nopCloser{out},
		MaxLineLength: 2 * maxLine, // the reader holds the real bound; rewriting adds escapes
	})
}

// useUserKeys opens the ring in the user's configuration directory.
func (s *Server) useUserKeys() {
	s.mu.RLock()
	own := s.shared || s.audience == ""
	s.mu.RUnlock()
	if own {
		return
	}
	ring, err := userKeys(s.audience)
	if err != nil {
		s.log.Warn("paused calls end with this process", "error", err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ring, s.shared = ring, true
}

func userKeys(audience string) (*seal.Ring, error) {
	if audience != filepath.Base(audience) || strings.HasPrefix(audience, ".") || strings.ContainsAny(audience, `/\:`) {
		return nil, fmt.Errorf("elicit: audience %q cannot name a directory", audience)
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return nil, err
	}
	return seal.Open(filepath.Join(dir, "parley", audience, "keys.json"))
}

// rewriteReader passes lines on after Server.rewrite.
type rewriteReader struct {
	server *Server
	source io.Closer
	lines  *bufio.Reader
	rest   []byte // of the current line
}

func (r *rewriteReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		line, err := readLine(r.lines)
		if len(line) == 0 && err != nil {
			return 0, err
		}
		text := bytes.TrimSpace(line)
		if len(text) == 0 {
			continue // not a message; the SDK would read on too
		}
		if m, ok := parseMessage(text); ok {
			text = r.server.rewrite(text, m)
		}
		r.rest = append(slices.Clip(text), '\n')
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (r *rewriteReader) Close() error { return r.source.Close() }

// readLine reads up to and with the next newline, or to the end.
func readLine(lines *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := lines.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			return nil, fmt.Errorf("elicit: a message of more than %d bytes", maxLine)
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
