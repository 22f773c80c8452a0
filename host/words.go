package host

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
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

// lastLines is the end of what a program wrote to its standard error, without
// the secrets that it was given.
func lastLines(stderr string, s *Server) string {
	for _, v := range s.Env {
		if len(v.Reveal()) >= 4 { // shorter ones, such as 1 or yes, would tear words apart
			stderr = strings.ReplaceAll(stderr, v.Reveal(), withheld)
		}
	}
	var lines []string
	for line := range strings.SplitSeq(stderr, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	lines = lines[max(0, len(lines)-tailLines):]
	return plain.Line(strings.Join(lines, " / "), maxStderr)
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
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "it closed the connection"
	case errors.As(err, &unknown), errors.As(err, &host), errors.As(err, &invalid):
		return "its certificate is not accepted"
	case errors.As(err, &record):
		return "it does not speak TLS"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "it did not answer in time"
	case errors.As(err, &rpc) && rpc.Message != "":
		return "it answered with an error: " + tidy(rpc.Message)
	}
	return "it did not answer as an MCP server"
}
