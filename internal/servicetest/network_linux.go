//go:build proof

package servicetest

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// A Network is a hub with hosts around it, each a network namespace. No cable
// leads to the machine's own network. The kernel removes all of it with the
// last process that is in it or holds it: no exit of the test leaves it behind.
type Network struct {
	t     testing.TB
	Hub   *Place
	hosts int
}

// A Place is a namespace with an address in its network.
type Place struct {
	Addr string

	network string
	ns      *os.File
	hub     *Place
	cable   string // of a host: the hub's end
}

// The addresses mean nothing outside of the namespaces.
const hubAddr, network = "10.77.0.1", "10.77.0.0/24"

// setns is the number of the system call, which package syscall does not name.
var setns = map[string]uintptr{"amd64": 308, "arm64": 268}[runtime.GOARCH]

// NewNetwork makes the hub. It needs root and iproute2.
func NewNetwork(t testing.TB) *Network {
	t.Helper()
	if _, err := exec.LookPath("ip"); err != nil || os.Getuid() != 0 || setns == 0 {
		t.Fatal("this test needs root and the program ip (Debian: iproute2), on amd64 or arm64")
	}
	n := &Network{t: t, Hub: newPlace(t, hubAddr)}
	n.Hub.ip(t, "link add hub type bridge")
	n.Hub.ip(t, "addr add "+hubAddr+"/24 dev hub")
	n.Hub.ip(t, "link set hub up")
	return n
}

// Host puts one more host on the hub.
func (n *Network) Host() *Place {
	n.t.Helper()
	n.hosts++
	p := newPlace(n.t, fmt.Sprintf("10.77.0.%d", n.hosts+1))
	p.hub, p.cable = n.Hub, fmt.Sprint("host", n.hosts)
	n.Hub.ip(n.t, fmt.Sprintf("link add %s type veth peer name eth0 netns /proc/%d/fd/%d", p.cable, os.Getpid(), p.ns.Fd()))
	n.Hub.ip(n.t, "link set "+p.cable+" master hub up")
	p.ip(n.t, "addr add "+p.Addr+"/24 dev eth0")
	p.ip(n.t, "link set eth0 up")
	return p
}

func newPlace(t testing.TB, addr string) *Place {
	t.Helper()
	p := &Place{Addr: addr, network: network}
	errs := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		err := syscall.Unshare(syscall.CLONE_NEWNET)
		if err == nil {
			p.ns, err = os.Open("/proc/thread-self/ns/net")
		}
		errs <- err
	}()
	if err := <-errs; err != nil {
		t.Fatalf("making a network namespace: %v", err)
	}
	t.Cleanup(func() { p.ns.Close() })
	p.ip(t, "link set lo up")
	return p
}

func (p *Place) enter() error {
	if _, _, errno := syscall.RawSyscall(setns, p.ns.Fd(), syscall.CLONE_NEWNET, 0); errno != 0 {
		return errno
	}
	return nil
}

// Enter moves the calling goroutine, with the processes that it starts and the
// sockets that it opens, until leave is called.
func (p *Place) Enter(t testing.TB) (leave func()) {
	t.Helper()
	runtime.LockOSThread()
	home, err := os.Open("/proc/thread-self/ns/net")
	if err == nil {
		err = p.enter()
	}
	if err != nil {
		t.Fatalf("entering a network namespace: %v", err)
	}
	return func() {
		back := &Place{ns: home}
		if err := back.enter(); err != nil {
			t.Fatalf("leaving a network namespace: %v", err) // the thread stays locked and ends
		}
		home.Close()
		runtime.UnlockOSThread()
	}
}

func (p *Place) ip(t testing.TB, args string) {
	t.Helper()
	defer p.Enter(t)()
	if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v\n%s", args, err, out)
	}
}

// Cut takes the host's cable out: packets are lost, no connection is told. Heal
// puts it back.
func (p *Place) Cut(t testing.TB)  { t.Helper(); p.hub.ip(t, "link set "+p.cable+" down") }
func (p *Place) Heal(t testing.TB) { t.Helper(); p.hub.ip(t, "link set "+p.cable+" up") }

// inside runs f on a thread of the place.
func (p *Place) inside(f func() error) error {
	errs := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked
		if err := p.enter(); err != nil {
			errs <- err
			return
		}
		errs <- f()
	}()
	return <-errs
}

// Dial connects from the place to an address of numbers.
func (p *Place) Dial(ctx context.Context, _, addr string) (conn net.Conn, err error) {
	err = p.inside(func() (err error) {
		conn, err = (&net.Dialer{}).DialContext(ctx, "tcp4", addr)
		return err
	})
	return conn, err
}

// Listen listens at the place, on a port that is free there.
func (p *Place) Listen(t testing.TB) net.Listener {
	t.Helper()
	var ln net.Listener
	err := p.inside(func() (err error) {
		ln, err = net.Listen("tcp4", p.Addr+":0")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

// Forward makes an address that only the place reaches reachable for the test,
// at a loopback address of the test.
func (p *Place) Forward(t testing.TB, at, to string) net.Addr {
	t.Helper()
	ln, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		ln.Close()
		group.Wait()
	})
	group.Go(func() {
		for {
			from, err := ln.Accept()
			if err != nil {
				return
			}
			group.Go(func() { p.carry(ctx, from, to) })
		}
	})
	return ln.Addr()
}

// carry copies both ways until one end is closed.
func (p *Place) carry(ctx context.Context, from net.Conn, to string) {
	defer from.Close()
	conn, err := p.Dial(ctx, "tcp", to)
	if err != nil {
		return
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { from.Close(); conn.Close() })()
	var group sync.WaitGroup
	for _, way := range [][2]net.Conn{{from, conn}, {conn, from}} {
		group.Go(func() {
			_, _ = io.Copy(way[0], way[1]) // a broken connection is what it is for
			from.Close()
			conn.Close()
		})
	}
	group.Wait()
}
