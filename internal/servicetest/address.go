package servicetest

import (
	"errors"
	"net"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
)

var nextPort atomic.Int32

// FreeAddr is a loopback address for a server that is started again at the same
// place, or by somebody else. Its port lies below the range from which the kernel
// picks: one of that range may be another connection's a moment later. Until the test
// ends no other test is given it, in no process.
func FreeAddr(t testing.TB) string {
	t.Helper()
	const first, last = 20000, 32000
	for range last - first {
		port := first + (os.Getpid()*37+int(nextPort.Add(1)))%(last-first)
		// Held at another address of the loopback network: the server may want UDP, too.
		claim, err := net.ListenPacket("udp", net.JoinHostPort("127.0.0.2", strconv.Itoa(port))) //nolint:noctx // it is at once
		if errors.Is(err, syscall.EADDRINUSE) {
			continue // somebody else's, even while no server listens
		}
		if err == nil { // not every system has the address
			t.Cleanup(func() { _ = claim.Close() })
		}
		ln, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))) //nolint:noctx // it is at once
		if err != nil {
			continue
		}
		ln.Close()
		return ln.Addr().String()
	}
	t.Fatal("no port is free")
	return ""
}
