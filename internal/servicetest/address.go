package servicetest

import (
	"net"
	"os"
	"strconv"
	"sync/atomic"
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
		at := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		claim, err := net.ListenPacket("udp", at) //nolint:noctx // it is at once
		if err != nil {
			continue // somebody else's, even while no server listens
		}
		ln, err := net.Listen("tcp", at) //nolint:noctx // it is at once
		if err != nil {
			_ = claim.Close()
			continue
		}
		t.Cleanup(func() { _ = claim.Close() })
		ln.Close()
		return ln.Addr().String()
	}
	t.Fatal("no port is free")
	return ""
}
