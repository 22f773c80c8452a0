package host

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/parley-mcp/parley/internal/settings"
)

// maxServersFile bounds the servers file in bytes.
const maxServersFile = settings.Most

// A ServersFile is what was read from an `mcpServers` file.
type ServersFile struct {
	Servers []*Server // in the file's order
	Notes   []string  // one plain sentence for each thing that was ignored
}

// A ServersFileError says where the servers file is wrong. Its text holds no value
// of the file.
type ServersFileError struct {
	File         string
	Line, Column int    // 1-based; 0 if unknown
	Server       string // the server's key; empty if the fault is not inside one
	Err          error
}

func (e *ServersFileError) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
	}
	if e.Server != "" {
		fmt.Fprintf(&b, ": server %q", e.Server)
	}
	return b.String() + ": " + e.Err.Error()
}

func (e *ServersFileError) Unwrap() error { return e.Err }

// ReadServers reads the `mcpServers` file at path. Variables are expanded from
// the environment of the process.
func ReadServers(path string) (*ServersFile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxServersFile+1))
	if err != nil {
		return nil, &ServersFileError{File: path, Err: err}
	}
	return ParseServers(b, path, nil)
}

// ParseServers reads b, the `mcpServers` object that other MCP hosts use too.
// name is the file's name, for errors. getenv looks up the variables of ${NAME} and
// ${NAME:-default} in env, headers, url and args; nil means [os.LookupEnv].
func ParseServers(b []byte, name string, getenv func(string) (string, bool)) (*ServersFile, error) {
	if getenv == nil {
		getenv = os.LookupEnv
	}
	if len(b) > maxServersFile {
		return nil, &ServersFileError{File: name, Err: fmt.Errorf("the file is larger than %d bytes", maxServersFile)}
	}
	p := &serversParser{name: name, getenv: getenv, all: b}
	if err := p.parse(); err != nil {
		return nil, err
	}
	return &ServersFile{Servers: p.servers, Notes: p.notes}, nil
}

type serversParser struct {
	name    string
	getenv  func(string) (string, bool)
	all     []byte
	servers []*Server
	notes   []string
}

// fail builds the error for a fault at offset (in bytes; -1 for none).
func (p *serversParser) fail(offset int64, server string, err error) error {
	e := &ServersFileError{File: p.name, Server: server, Err: err}
	if offset >= 0 && offset <= int64(len(p.all)) {
		before := p.all[:offset]
		e.Line = bytes.Count(before, []byte("\n")) + 1
		e.Column = len([]rune(string(before[bytes.LastIndexByte(before, '\n')+1:]))) + 1
	}
	return e
}

func (p *serversParser) parse() error {
	p.all = bytes.TrimPrefix(p.all, []byte("\xef\xbb\xbf")) // editors on Windows write it
	var whole json.RawMessage
	dec := json.NewDecoder(bytes.NewReader(p.all))
	if err := dec.Decode(&whole); err != nil {
		var syntax *json.SyntaxError
		switch {
		case errors.As(err, &syntax):
			// Offset counts the bytes read, the wrong one included.
			return p.fail(max(syntax.Offset-1, 0), "", fmt.Errorf("not JSON: %w", err))
		case errors.Is(err, io.EOF):
			return p.fail(0, "", errors.New("the file is empty"))
		case errors.Is(err, io.ErrUnexpectedEOF):
			return p.fail(int64(len(p.all)), "", errors.New("not JSON: the file ends too early"))
		}
		return p.fail(-1, "", err)
	}
	if rest := bytes.TrimSpace(p.all[dec.InputOffset():]); len(rest) > 0 {
		return p.fail(dec.InputOffset(), "", errors.New("not JSON: something follows the object"))
	}
	base := dec.InputOffset() - int64(len(whole))

	found := false
	err := p.members(whole, base, "", func(key string, at int64, value json.RawMessage) error {
		if key != "mcpServers" {
			p.note("", key)
			return nil
		}
		found = true
		return p.members(value, at, "", p.server)
	})
	if err != nil {
		return err
	}
	if !found {
		return p.fail(-1, "", errors.New(`there is no "mcpServers" object`))
	}
	return nil
}

// ours are Parley's own settings of a server, in its object "parley".
var ours = []string{"trusted", "answersVisibleToModel", "name", "sendTimeout", "limits", "oauth"}

func (p *serversParser) note(server, key string) {
	const most = 100 // a hostile file cannot fill a page with notes
	if len(p.notes) >= most {
		return
	}
	if r := []rune(key); len(r) > 64 {
		key = string(r[:64]) + "…"
	}
	switch {
	case server == "":
		p.notes = append(p.notes, fmt.Sprintf("%q is not known here and is ignored.", key))
	case slices.Contains(ours, key):
		// Whoever wrote it relies on it, such as on a limit.
		p.notes = append(p.notes, fmt.Sprintf("Server %q: %q is ignored here; it belongs into the server's object \"parley\".", server, key))
	default:
		p.notes = append(p.notes, fmt.Sprintf("Server %q: %q is not known here and is ignored.", server, key))
	}
}

// members calls f for each member of the object in raw, in order, with the
// offset of its value in the file. A key that comes twice is an error: two
// readers of one file would see two different servers.
func (p *serversParser) members(raw json.RawMessage, base int64, server string, f func(key string, at int64, value json.RawMessage) error) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return p.fail(base, server, errors.New("this must be an object"))
	}
	seen := map[string]bool{}
	for dec.More() {
		t, err := dec.Token()
		key, ok := t.(string)
		if err != nil || !ok {
			return p.fail(base+dec.InputOffset(), server, errors.New("not JSON"))
		}
		if seen[key] {
			return p.fail(base+dec.InputOffset(), server, fmt.Errorf("%q stands here twice", key))
		}
		seen[key] = true
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return p.fail(base+dec.InputOffset(), server, errors.New("not JSON"))
		}
		if err := f(key, base+dec.InputOffset()-int64(len(value)), value); err != nil {
			return err
		}
	}
	return nil
}

// arguments reads those of a program, and keeps what variables put into them: it
// may be secret.
func (p *serversParser) arguments(s *Server, at int64, raw json.RawMessage) error {
	if err := json.Unmarshal(raw, &s.Args); err != nil {
		return p.fail(at, s.ID, errors.New("args must be a list of strings"))
	}
	for i := range s.Args {
		var err error
		s.Args[i], err = settings.Expand(s.Args[i], func(name string) (string, bool) {
			value, ok := p.getenv(name)
			if ok {
				s.filled = append(s.filled, NewSecret(value))
			}
			return value, ok
		})
		if err != nil {
			return p.fail(at, s.ID, fmt.Errorf("args[%d]: %w", i, err))
		}
	}
	return nil
}

func (p *serversParser) server(id string, at int64, raw json.RawMessage) error {
	s := &Server{ID: id}
	kind := ""
	text := func(key string, at int64, value json.RawMessage, to *string) error {
		if err := json.Unmarshal(value, to); err != nil || string(value) == "null" {
			return p.fail(at, id, fmt.Errorf("%s must be a string", key))
		}
		return nil
	}
	expanded := func(key string, at int64, v string) (string, error) {
		out, err := settings.Expand(v, p.getenv)
		if err != nil {
			return "", p.fail(at, id, fmt.Errorf("%s: %w", key, err))
		}
		return out, nil
	}
	secrets := func(group string, at int64, raw json.RawMessage, to *map[string]Secret) error {
		*to = map[string]Secret{}
		return p.members(raw, at, id, func(key string, at int64, value json.RawMessage) error {
			var v string
			if err := text(group+"."+key, at, value, &v); err != nil {
				return err
			}
			v, err := expanded(group+"."+key, at, v)
			(*to)[key] = NewSecret(v)
			return err
		})
	}

	err := p.members(raw, at, id, func(key string, at int64, value json.RawMessage) error {
		switch key {
		case "type":
			return text(key, at, value, &kind)
		case "command":
			return text(key, at, value, &s.Command)
		case "cwd":
			return text(key, at, value, &s.Dir)
		case "args":
			return p.arguments(s, at, value)
		case "env":
			return secrets(key, at, value, &s.Env)
		case "url":
			var v string
			err := text(key, at, value, &v)
			if err == nil {
				s.shown = withoutSecrets(v)
				s.URL, err = expanded(key, at, v)
			}
			if u, bad := url.Parse(s.URL); s.shown == "" && err == nil && bad == nil {
				// The variables stand in front, so nobody knows which part of
				// the path came out of one.
				s.shown = origin(u)
			}
			return err
		case "headers":
			if err := secrets(key, at, value, &s.Headers); err != nil {
				return err
			}
			for name := range s.Headers {
				if reserved[strings.ToLower(name)] {
					return p.fail(at, id, fmt.Errorf("headers: %s is written by the protocol itself", name))
				}
			}
			return nil
		case "parley":
			return p.members(value, at, id, func(key string, at int64, value json.RawMessage) error {
				return p.parley(s, key, at, value)
			})
		}
		p.note(id, key)
		return nil
	})
	if err != nil {
		return err
	}
	if err := checkType(kind, s); err != nil {
		return p.fail(at, id, err)
	}
	if err := s.check(); err != nil {
		return p.fail(at, id, err)
	}
	p.servers = append(p.servers, s)
	return nil
}

// parley reads Parley's own settings of one server.
func (p *serversParser) parley(s *Server, key string, at int64, value json.RawMessage) error {
	wrong := func(what string) error {
		return p.fail(at, s.ID, fmt.Errorf("parley.%s must be %s", key, what))
	}
	switch key {
	case "trusted":
		if json.Unmarshal(value, &s.Trusted) != nil {
			return wrong("true or false")
		}
	case "answersVisibleToModel":
		if json.Unmarshal(value, &s.AnswersVisibleToModel) != nil {
			return wrong("true or false")
		}
	case "name":
		if json.Unmarshal(value, &s.Name) != nil || len(s.Name) > 200 {
			return wrong("a string of at most 200 bytes")
		}
	case "sendTimeout":
		var text string
		if json.Unmarshal(value, &text) != nil {
			return wrong(`a duration such as "5m"`)
		}
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return wrong(`a duration such as "5m"`)
		}
		s.SendTimeout = d
	case "limits":
		return p.members(value, at, s.ID, func(key string, at int64, value json.RawMessage) error {
			var to *int
			switch key {
			case "openQuestions":
				to = &s.Limits.OpenQuestions
			case "questionsPerMinute":
				to = &s.Limits.QuestionsPerMinute
			case "rounds":
				to = &s.Limits.Rounds
			default:
				p.note(s.ID, "parley.limits."+key)
				return nil
			}
			if json.Unmarshal(value, to) != nil || *to < 1 {
				return p.fail(at, s.ID, fmt.Errorf("parley.limits.%s must be a whole number above 0", key))
			}
			return nil
		})
	case "oauth":
		return p.members(value, at, s.ID, func(key string, at int64, value json.RawMessage) error {
			return p.oauth(s, key, at, value)
		})
	default:
		p.note(s.ID, "parley."+key)
	}
	return nil
}

// oauth reads how this host is known to one server's authorization server.
func (p *serversParser) oauth(s *Server, key string, at int64, value json.RawMessage) error {
	var text string
	var list []string
	var err error
	switch key {
	case "clientId", "clientSecret", "issuer":
		if json.Unmarshal(value, &text) != nil || string(value) == "null" {
			return p.fail(at, s.ID, fmt.Errorf("parley.oauth.%s must be a string", key))
		}
		if text, err = settings.Expand(text, p.getenv); err != nil {
			return p.fail(at, s.ID, fmt.Errorf("parley.oauth.%s: %w", key, err))
		}
	case "scopes", "allow":
		if json.Unmarshal(value, &list) != nil {
			return p.fail(at, s.ID, fmt.Errorf("parley.oauth.%s must be a list of strings", key))
		}
	}
	switch key {
	case "clientId":
		s.OAuth.ClientID = text
	case "clientSecret":
		s.OAuth.ClientSecret = NewSecret(text)
	case "issuer":
		s.OAuth.Issuer = text
	case "scopes":
		s.OAuth.Scopes = list
	case "allow":
		s.OAuth.Allow = list
	default:
		p.note(s.ID, "parley.oauth."+key)
	}
	return nil
}

func checkType(kind string, s *Server) error {
	switch kind {
	case "":
	case "stdio":
		if s.URL != "" {
			return errors.New("type is stdio, but a url is set")
		}
	case "http", "streamable-http", "streamableHttp":
		if s.Command != "" {
			return fmt.Errorf("type is %s, but a command is set", kind)
		}
	case "sse":
		return errors.New("type sse is the old HTTP+SSE transport, which no protocol revision with elicitation has; ask the server's maker for its Streamable HTTP address")
	default:
		return errors.New("type must be stdio, http or streamable-http")
	}
	return nil
}
