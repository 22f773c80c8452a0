package egress_test

import (
	"net"
	"net/netip"
	"testing"

	"pgregory.net/rapid"

	"github.com/parley-mcp/parley/internal/egress"
	"github.com/parley-mcp/parley/link"
)

func TestPublic(t *testing.T) {
	t.Parallel()
	public := []string{
		"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
		"169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "191.255.255.255", "192.0.1.0", "192.0.3.0", "192.167.255.255", "192.169.0.0",
		"198.17.255.255", "198.20.0.0", "198.51.99.255", "198.51.101.0", "203.0.112.255", "203.0.114.0", "223.255.255.255", "168.63.129.15",
		"2606:4700:4700::1111", "2a00:1450:4001::1", "2001:200::", "2001:4860:4860::8888", "2003::1", "3ffe:ffff::", "2000::1",
	}
	refused := map[string][]string{
		"this network":   {"0.0.0.0", "0.1.2.3", "0.255.255.255"},
		"private":        {"10.0.0.0", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "192.168.255.255"},
		"shared":         {"100.64.0.0", "100.100.100.200", "100.127.255.255"},
		"loopback":       {"127.0.0.1", "127.255.255.254", "::1"},
		"link-local":     {"169.254.0.1", "169.254.169.254", "fe80::1", "febf::1", "fe80::1%eth0"},
		"protocol":       {"192.0.0.1", "192.0.0.170", "192.88.99.1"},
		"documentation":  {"192.0.2.1", "198.51.100.7", "203.0.113.9", "2001:db8::1", "3fff::1", "3fff:fff::"},
		"benchmarks":     {"198.18.0.0", "198.19.255.255", "2001:2::1"},
		"multicast":      {"224.0.0.1", "239.255.255.255", "ff02::1", "ff0e::1"},
		"reserved":       {"240.0.0.1", "255.255.255.255", "::", "100::1", "4000::1", "5f00::1", "8000::", "fe00::1"},
		"site-local":     {"fec0::1", "feff::1"},
		"unique local":   {"fc00::1", "fd00:ec2::254", "fdff::1", "fd20:ce::254"},
		"mapped":         {"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:8.8.8.8", "::ffff:0:1.2.3.4"},
		"compatible":     {"::127.0.0.1", "::8.8.8.8"},
		"NAT64":          {"64:ff9b::a00:1", "64:ff9b::808:808", "64:ff9b:1::1", "64:ff9b:1:ffff::a00:1"},
		"6to4":           {"2002:7f00:1::1", "2002:a00:1::", "2002:808:808::1"},
		"Teredo":         {"2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:0:a00:1::"},
		"ORCHID":         {"2001:10::1", "2001:20::1", "2001:1ff:ffff::"},
		"cloud metadata": {"168.63.129.16"},
	}
	for _, text := range public {
		if !egress.Public(netip.MustParseAddr(text)) {
			t.Errorf("%s is refused", text)
		}
	}
	for kind, list := range refused {
		for _, text := range list {
			if egress.Public(netip.MustParseAddr(text)) {
				t.Errorf("%s (%s) is public", text, kind)
			}
		}
	}
	if egress.Public(netip.Addr{}) {
		t.Error("the zero address is public")
	}
}

// Whatever netip or package link knows to be none of the internet is refused
// here too. (package link warns of documentation and leaves it.)
func TestPublicIsNarrower(t *testing.T) {
	t.Parallel()
	interesting := []string{
		"10.1.2.3", "100.64.1.1", "127.0.0.1", "169.254.169.254", "172.16.5.5", "192.168.1.1", "198.18.1.1", "0.0.0.0", "240.0.0.1",
		"::1", "fe80::1", "fec0::1", "fc00::1", "64:ff9b::1", "64:ff9b:1::1", "2001::1", "2002::1", "::ffff:1.2.3.4", "ff02::1", "100::1",
	}
	rapid.Check(t, func(t *rapid.T) {
		// A random address, or the random tail of an interesting one.
		size := rapid.SampledFrom([]int{4, 16}).Draw(t, "size")
		bytes := rapid.SliceOfN(rapid.Byte(), size, size).Draw(t, "bytes")
		if rapid.Bool().Draw(t, "near") {
			base := netip.MustParseAddr(rapid.SampledFrom(interesting).Draw(t, "base")).AsSlice()
			keep := rapid.IntRange(1, len(base)).Draw(t, "keep")
			for len(bytes) < len(base) {
				bytes = append(bytes, bytes...)
			}
			bytes = append(base[:keep:keep], bytes[keep:len(base)]...)
		}
		addr, _ := netip.AddrFromSlice(bytes)
		ok := egress.Public(addr)
		if ok && (!addr.IsGlobalUnicast() || addr.IsPrivate() || addr.Is4In6()) {
			t.Fatalf("%s is public, netip disagrees", addr)
		}
		url := "https://" + net.JoinHostPort(addr.String(), "8443") + "/"
		if verdict := link.Inspect(url, nil).Verdict; ok && verdict == link.Refuse {
			t.Fatalf("%s is public, link refuses it", addr)
		}
	})
}
