package host

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"time"
)

// Kind says how a server is reached.
type Kind string

const (
	Stdio Kind = "stdio" // a program; requests and answers travel over its standard input and output
	HTTP  Kind = "http"  // Streamable HTTP
)

// Defaults of a server's settings.
const (
	// DefaultSendTimeout is how long a server may show no sign of progress
	// while it works on a request. Time in which a person thinks never counts.
	DefaultSendTimeout = 5 * time.Minute
)

// A Server is one entry of the servers file: where it is and how far it is
// trusted. The zero value of every field but ID and one of Command and URL is
// the documented default.
type Server struct { //nolint:recvcheck // Format and LogValue are of values, so that a copy does not print either
	ID   string // its key in the file
	Name string // the name people see; empty: the ID

	Command string            // program to run; exactly one of Command and URL is set
	Args    []string          `json:"-"` // arguments of Command; what variables of the servers file put there is withheld where the program repeats it
	Env     map[string]Secret // set for the program beside the few variables that every program gets
	Dir     string            // working directory of Command; empty: that of this process

	URL     string            `json:"-"` // Streamable HTTP endpoint; it may hold secrets
	Headers map[string]Secret // sent with every request to URL

	Trusted               bool          // its annotations count
	SendTimeout           time.Duration // 0: DefaultSendTimeout
	Limits                Limits
	OAuth                 OAuth // how this host is known to the server's authorization server
	AnswersVisibleToModel bool  // whether a model is shown what the person answered to its questions

	shown  string   // Address, with the variables of the file unexpanded
	filled []Secret // what the variables of the file have put into Args
}

// Limits bound what one server may ask of one person, below the limits that the
// inbox has for all servers. A zero field adds none.
type Limits struct {
	OpenQuestions      int // at once
	QuestionsPerMinute int
	Rounds             int // of one call
}

// Kind reports how the server is reached.
func (s *Server) Kind() Kind {
	if s.URL != "" {
		return HTTP
	}
	return Stdio
}

// Local reports whether the server runs on this computer: a program, or an
// endpoint on loopback.
func (s *Server) Local() bool {
	if s.Kind() == Stdio {
		return true
	}
	u, err := url.Parse(s.URL)
	if err != nil {
		return false
	}
	return loopbackName(u.Hostname())
}

// loopbackName reports whether the host of an address is this computer.
func loopbackName(name string) bool {
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	if name == "localhost" || strings.HasSuffix(name, ".localhost") { // RFC 6761 6.3
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.Unmap().IsLoopback()
}

// Endpoint identifies where the server is, for the rule that a parked call is
// resumed only there. Addresses and arguments may hold secrets, and an endpoint
// is stored with each call; so it is the visible part and a digest of it all.
func (s *Server) Endpoint() string {
	h := sha256.New()
	part := func(v string) { fmt.Fprintf(h, "%d:%s", len(v), v) } // no two lists of parts read alike
	part(string(s.Kind()))
	var visible string
	if s.Kind() == HTTP {
		part(s.URL)
		visible = s.Domain()
	} else {
		part(s.Command)
		part(s.Dir)
		for _, a := range s.Args {
			part(a)
		}
		visible = filepath.Base(s.Command)
	}
	return string(s.Kind()) + " " + visible + " " + hex.EncodeToString(h.Sum(nil)[:16])
}

// Domain is the domain and, if it is given, the port of the URL; empty for a program.
func (s *Server) Domain() string {
	u, err := url.Parse(s.URL)
	if err != nil {
		return ""
	}
	return u.Host
}

// Address tells people where the server is, without secrets: scheme, domain
// and path of a URL, where variables stand unexpanded; of a program its name
// only, since arguments often hold keys.
func (s *Server) Address() string {
	if s.Kind() == Stdio {
		return filepath.Base(s.Command)
	}
	if s.shown != "" {
		return s.shown
	}
	return withoutSecrets(s.URL)
}

// withoutSecrets cuts user, password, query and fragment from an address.
func withoutSecrets(raw string) string {
	raw, _, _ = strings.Cut(raw, "#")
	raw, _, _ = strings.Cut(raw, "?")
	scheme, rest, found := strings.Cut(raw, "://")
	if !found {
		return ""
	}
	authority, path, slash := strings.Cut(rest, "/")
	if i := strings.LastIndex(authority, "@"); i >= 0 {
		authority = authority[i+1:]
	}
	if slash {
		path = "/" + path
	}
	return scheme + "://" + authority + path
}

func (s *Server) name() string {
	if s.Name != "" {
		return s.Name
	}
	return s.ID
}

func (s *Server) sendTimeout() time.Duration {
	if s.SendTimeout > 0 {
		return s.SendTimeout
	}
	return DefaultSendTimeout
}

// check says what is wrong with a server, in a sentence without its name.
func (s *Server) check() error {
	switch {
	case !saneID(s.ID):
		return fmt.Errorf("a server's name has 1 to 64 letters, digits, spaces or - _ . and begins and ends with a letter or digit")
	case s.Command != "" && s.URL != "":
		return fmt.Errorf("both command and url are set; a server is a program or an address")
	case s.Command == "" && s.URL == "":
		return fmt.Errorf("neither command nor url is set")
	case s.SendTimeout < 0:
		return fmt.Errorf("sendTimeout is negative")
	case s.Limits.OpenQuestions < 0 || s.Limits.QuestionsPerMinute < 0 || s.Limits.Rounds < 0:
		return fmt.Errorf("a limit is negative")
	case s.Command != "" && strings.ContainsRune(s.Command, 0):
		return fmt.Errorf("command holds a zero byte")
	}
	for name := range s.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return fmt.Errorf("env: %q is no variable's name", name)
		}
	}
	for name, v := range s.Headers {
		if !headerName(name) {
			return fmt.Errorf("headers: %q is no header's name", name)
		}
		if strings.ContainsAny(v.Reveal(), "\r\n\x00") {
			return fmt.Errorf("headers: the value of %s holds a line break", name)
		}
	}
	if err := s.OAuth.check(); err != nil {
		return err
	}
	if s.URL != "" {
		u, err := url.Parse(s.URL)
		if err != nil { // the error of url.Parse would print the address, secrets included
			return fmt.Errorf("url is no valid address")
		}
		if u.Scheme != "http" && u.Scheme != "https" {
			return fmt.Errorf("url must begin with https:// or http://")
		}
		if u.Hostname() == "" {
			return fmt.Errorf("url names no domain")
		}
	}
	return nil
}

func saneID(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		word := '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
		edge := i == 0 || i == len(s)-1
		if !word && (edge || !strings.ContainsRune(" -_.", rune(c))) {
			return false
		}
	}
	return true
}

// headerName reports whether s is a token in the sense of RFC 9110 5.6.2.
func headerName(s string) bool {
	for i := range len(s) {
		c := s[i]
		word := '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
		if !word && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}

// reserved are headers that the transport writes itself; one from the file
// would make requests that servers read in two ways.
var reserved = map[string]bool{
	"accept": true, "connection": true, "content-length": true, "content-type": true, "host": true,
	"last-event-id": true, "mcp-session-id": true, "mcp-protocol-version": true, "mcp-method": true, "mcp-name": true,
	"transfer-encoding": true,
}
