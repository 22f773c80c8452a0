package host

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/parley-mcp/parley/internal/plain"
)

// Lengths of text from strangers inside sentences of ours, in characters.
const (
	maxWord   = 300
	maxStderr = 400
	tailLines = 3
)

// tidy makes a stranger's words fit into one sentence.
func tidy(s string) string { return plain.Line(strings.TrimSpace(s), maxWord) }

// lastLines is the end of what a program wrote, without the secrets that it was
// given. The text may have been cut at both ends, in the middle of one.
func lastLines(text string, s *Server) string {
	secrets := s.secrets()
	for _, v := range secrets {
		if strings.Contains(v, "\n") {
			text = strings.ReplaceAll(text, v, withheld)
		}
	}
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, withoutSecretsIn(line, secrets))
		}
	}
	lines = lines[max(0, len(lines)-tailLines):]
	return plain.Line(strings.Join(lines, " / "), maxStderr)
}

// leastSecret is how long a value is at least, in bytes, to be looked for:
// shorter ones, such as 1 or yes, would tear words apart.
const leastSecret = 4

// secrets are the values that a program was given and may repeat, the longest
// first: one may be the beginning of another.
func (s *Server) secrets() (list []string) {
	add := func(v string) {
		list = append(list, v)
		if strings.Contains(v, "\n") { // a key in many lines may be written line by line
			list = slices.AppendSeq(list, strings.SplitSeq(v, "\n"))
		}
	}
	for _, v := range s.Env {
		add(v.Reveal())
	}
	for _, v := range s.filled {
		add(v.Reveal())
	}
	for i, v := range list {
		list[i] = strings.TrimSpace(v)
	}
	list = slices.DeleteFunc(list, func(v string) bool { return len(v) < leastSecret })
	slices.SortFunc(list, func(a, b string) int { return len(b) - len(a) })
	return list
}

// withoutSecretsIn withholds secrets, and what is left of one at an end where the
// line was cut.
func withoutSecretsIn(line string, secrets []string) string {
	for _, v := range secrets {
		line = strings.ReplaceAll(line, v, withheld)
		for n := len(v) - 1; n >= leastSecret; n-- {
			if rest, ok := strings.CutSuffix(line, v[:n]); ok {
				line = rest + withheld
				break
			}
		}
		for n := 1; n <= len(v)-leastSecret; n++ {
			if rest, ok := strings.CutPrefix(line, v[n:]); ok {
				line = withheld + rest
				break
			}
		}
	}
	return line
}

// reason says in words why a connection failed. Texts of net/http and the SDK
// hold addresses with their queries, so none is passed on.
func reason(err error) string {
	var (
		dns     *net.DNSError
		rpc     *jsonrpc.Error
		unknown x509.UnknownAuthorityError
		host    x509.HostnameError
		invalid x509.CertificateInvalidError
		record  tls.RecordHeaderError
		timeout net.Error
	)
	switch {
	case errors.As(err, &dns):
		return "its domain is not known"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens at its address"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "it closed the connection"
	case errors.As(err, &unknown), errors.As(err, &host), errors.As(err, &invalid):
		return "its certificate is not accepted"
	case errors.As(err, &record):
		return "it does not speak TLS"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "it did not answer in time"
	case refused(err) && errors.As(err, &rpc) && rpc.Message != "":
		return "it answered with an error: " + tidy(rpc.Message)
	}
	return "it did not answer as an MCP server"
}
