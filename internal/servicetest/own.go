//go:build proof

package servicetest

import (
	"context"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// An OwnPostgres is a server of the test's own, which the test may stop.
type OwnPostgres struct {
	t      testing.TB
	place  *Place // nil: where the test is
	bin    string
	dir    string
	port   string
	addr   string
	run    *syscall.Credential // PostgreSQL does not run as root
	cmd    *exec.Cmd
	exited chan struct{}
}

// NewOwnPostgres starts a server with a fresh data directory: in a place of a
// [Network], or with nil on the loopback address. It ends with the test.
func NewOwnPostgres(t testing.TB, place *Place) *OwnPostgres {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		t.Fatal("this test needs PostgreSQL's own programs in /usr/lib/postgresql: run `make deps-services`")
	}
	slices.Sort(found)
	dir, err := os.MkdirTemp("", "parley-postgres-") // t.TempDir is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &OwnPostgres{t: t, place: place, bin: filepath.Dir(found[len(found)-1]), dir: dir, addr: "127.0.0.1", port: "5432"}
	if place != nil {
		s.addr = place.Addr
	} else if _, s.port, err = net.SplitHostPort(FreeAddr(t)); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		s.run = postgresUser(t)
		if err := os.Chown(dir, int(s.run.Uid), int(s.run.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	initdb := exec.Command(filepath.Join(s.bin, "initdb"), "-D", filepath.Join(dir, "data"), "-U", "postgres", "--auth=trust", "--encoding=UTF8")
	initdb.Dir, initdb.SysProcAttr = dir, &syscall.SysProcAttr{Credential: s.run}
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	if place != nil {
		hba, err := os.OpenFile(filepath.Join(dir, "data", "pg_hba.conf"), os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = hba.WriteString("host all all " + place.network + " trust\n")
			hba.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	s.Start()
	t.Cleanup(s.Stop)
	return s
}

func postgresUser(t testing.TB) *syscall.Credential {
	t.Helper()
	who, err := user.Lookup("postgres")
	if err != nil {
		t.Fatal(err)
	}
	uid, err := strconv.ParseUint(who.Uid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	gid, err := strconv.ParseUint(who.Gid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// DSN leads to a schema of the server, from where it is reached at addr: ""
// stands for the address at which it listens.
func (s *OwnPostgres) DSN(addr, schema string) string {
	if addr == "" {
		addr = net.JoinHostPort(s.addr, s.port)
	}
	return "postgres://postgres@" + addr + "/postgres?sslmode=disable&search_path=" + schema
}

// URL leads to its database, for programs that know no schema in an address.
func (s *OwnPostgres) URL() string {
	return "postgres://postgres@" + s.Address() + "/postgres?sslmode=disable"
}

// Program is the path of one of its programs, such as pg_dump.
func (s *OwnPostgres) Program(name string) string { return filepath.Join(s.bin, name) }

// Address is where it listens.
func (s *OwnPostgres) Address() string { return net.JoinHostPort(s.addr, s.port) }

// Start starts it and waits until it answers.
func (s *OwnPostgres) Start() {
	s.t.Helper()
	s.cmd = exec.Command(filepath.Join(s.bin, "postgres"), "-D", filepath.Join(s.dir, "data"), "-h", s.addr, "-p", s.port, "-k", "")
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	s.cmd.Dir, s.cmd.Stderr = s.dir, log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.run, Setpgid: true}
	if s.place == nil {
		err = s.cmd.Start()
	} else {
		leave := s.place.Enter(s.t)
		err = s.cmd.Start()
		leave()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	cmd, exited := s.cmd, make(chan struct{})
	s.exited = exited
	go func() {
		_ = cmd.Wait() // Stop looks at the code
		close(exited)
	}()
	config, err := pgx.ParseConfig(s.DSN("", "public"))
	if err != nil {
		s.t.Fatal(err)
	}
	if s.place != nil {
		config.DialFunc = s.place.Dial
	}
	deadline := time.Now().Add(30 * time.Second)
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		conn, err := pgx.ConnectConfig(ctx, config)
		if err == nil {
			_ = conn.Close(ctx)
			cancel()
			return
		}
		cancel()
		select {
		case <-exited:
			s.t.Fatalf("PostgreSQL ended at its start: %v\n%s", s.cmd.ProcessState, s.log())
		case <-time.After(50 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("PostgreSQL does not answer: %v\n%s", err, s.log())
		}
	}
}

func (s *OwnPostgres) log() []byte {
	b, _ := os.ReadFile(filepath.Join(s.dir, "log")) // for a message only
	return b
}

// Stop is PostgreSQL's fast shutdown: transactions that run are rolled back
// and connections are cut. It waits for the end.
func (s *OwnPostgres) Stop() { s.t.Helper(); s.end(syscall.SIGINT) }

// Crash is its immediate shutdown: nothing is written any more, and the next
// start recovers from the log. It waits for the end.
func (s *OwnPostgres) Crash() { s.t.Helper(); s.end(syscall.SIGQUIT) }

func (s *OwnPostgres) end(how os.Signal) {
	s.t.Helper()
	select {
	case <-s.exited:
		return
	default:
	}
	if err := s.cmd.Process.Signal(how); err != nil {
		s.t.Error(err)
	}
	select {
	case <-s.exited:
		if code := s.cmd.ProcessState.ExitCode(); code != 0 {
			s.t.Errorf("PostgreSQL ended with %d\n%s", code, s.log())
		}
	case <-time.After(30 * time.Second):
		_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
		<-s.exited
		s.t.Errorf("PostgreSQL did not stop\n%s", s.log())
	}
}
