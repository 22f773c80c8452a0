package serve

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/parley-mcp/parley/inbox"
)

// Errors of sign-in. The texts are for people: they say what to do next.
var (
	// ErrSignedOut means that the request carried no bearer, or one that is not this host's,
	// or that nobody is signed in (Options.Identify). It is not for what could not be checked.
	ErrSignedOut = errors.New("not signed in to this host")
	// ErrTokenUsed means that a one-time token was presented a second time or too late, or was never issued.
	ErrTokenUsed = errors.New("this address was used already or is too old: run `parley address` for a fresh one")
)

// LocalPrincipal is the one person of a host that runs with local sign-in.
var LocalPrincipal = inbox.Principal{Issuer: "local", Subject: "operator"}

// OneTimeLife is how long a token of [Local.OneTime] signs in. Whoever finds the
// address in a log or a scrollback later finds nothing.
const OneTimeLife = time.Hour

const (
	freshLife      = 15 * time.Minute // of one that was asked for: somebody is about to open it
	tokenBytes     = 32
	maxOpenCodes   = 64 // one-time tokens that were printed and not used yet; what ends first goes first
	maxTokenLength = 256
)

// Local signs in the one person who can read the data directory or the terminal.
//
// The bearer stands in a file with mode 0600 and survives a restart. An address
// carries a one-time token instead, which the page exchanges for the bearer, so
// that a printed or shared address is worth nothing once it was opened.
//
// There is no cookie on purpose: cookies have no port, and every other server on
// 127.0.0.1 would receive it (RFC 6265 8.5, "Weak Confidentiality").
type Local struct {
	bearer secret
	now    func() time.Time

	mu    sync.Mutex
	codes map[[sha256.Size]byte]time.Time // digest of a one-time token -> when it ends
}

// secret is a bearer. It does not print, also not as a private field of another
// type, where fmt asks no method: a function has nothing to show but its address.
type secret func() string

func (secret) String() string   { return "[secret]" }
func (secret) GoString() string { return "[secret]" }

// OpenLocal reads the bearer at path, or makes the file with mode 0600. A file
// that others can read is refused: its bearer is no secret any more.
func OpenLocal(path string) (*Local, error) {
	bearer, err := readBearer(path)
	if errors.Is(err, fs.ErrNotExist) {
		bearer, err = makeBearer(path)
	}
	if err != nil {
		return nil, err
	}
	return &Local{bearer: bearer, now: time.Now, codes: map[[sha256.Size]byte]time.Time{}}, nil
}

func readBearer(path string) (secret, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s can be read by others (mode %#o): remove it, and a new one is made at the next start", path, info.Mode().Perm())
	}
	b, err := io.ReadAll(io.LimitReader(f, maxTokenLength+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	text := strings.TrimSpace(string(b))
	if raw, err := base64.RawURLEncoding.DecodeString(text); err != nil || len(raw) < tokenBytes || len(text) > maxTokenLength {
		return nil, fmt.Errorf("%s does not hold a sign-in token: remove it, and a new one is made at the next start", path)
	}
	return func() string { return text }, nil
}

// makeBearer links a finished file into place, so that of two processes that
// start at once one wins and both read the same bearer.
func makeBearer(path string) (secret, error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".token-*")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	_, err = io.WriteString(f, newToken()+"\n")
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, fmt.Errorf("writing %s: %w", path, err)
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return readBearer(path)
}

func newToken() string {
	b := make([]byte, tokenBytes)
	rand.Read(b) // never fails (crypto/rand, since Go 1.24)
	return base64.RawURLEncoding.EncodeToString(b)
}

// OneTime returns a token that signs in once, within [OneTimeLife], for an address
// that is printed.
func (l *Local) OneTime() string { return l.oneTime(OneTimeLife) }

func (l *Local) oneTime(life time.Duration) string {
	token := newToken()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.codes) >= maxOpenCodes {
		var first [sha256.Size]byte
		var end time.Time
		for d, t := range l.codes {
			if end.IsZero() || t.Before(end) {
				first, end = d, t
			}
		}
		delete(l.codes, first)
	}
	l.codes[sha256.Sum256([]byte(token))] = l.now().Add(life)
	return token
}

// exchange trades a one-time token for the bearer.
func (l *Local) exchange(token string) (secret, error) {
	digest := sha256.Sum256([]byte(token))
	l.mu.Lock()
	defer l.mu.Unlock()
	end, ok := l.codes[digest]
	delete(l.codes, digest)
	if !ok || !l.now().Before(end) {
		return nil, ErrTokenUsed
	}
	return l.bearer, nil
}

// Identify returns the session of [LocalPrincipal], who is an operator, for a request
// that carries the bearer.
func (l *Local) Identify(r *http.Request) (*Session, error) {
	got, want := sha256.Sum256([]byte(bearer(r))), sha256.Sum256([]byte(l.bearer()))
	if subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
		return nil, ErrSignedOut
	}
	return &Session{Principal: LocalPrincipal, Operator: true}, nil
}

// bearer is the token of the request (RFC 6750 2.1), or empty.
func bearer(r *http.Request) string {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return token
}
