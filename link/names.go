package link

import (
	"net/url"
	"strconv"
	"strings"
)

const (
	maxLabels = 5  // a host with more labels gets a warning
	maxHost   = 60 // characters, likewise
)

// transport judges scheme and port.
func (in *inspection) transport(port string, where place) {
	if in.Scheme == "http" && where != placeLoopback {
		v := Warn
		if in.opts.RequireTLS {
			v = Refuse
		}
		// MCP 2026-07-28 elicitation, "Safe URL Handling" S4.
		in.add(v, "not_encrypted", "The connection is not encrypted: others on the way can read and change it.")
	}
	if port != "" && port != map[string]string{"http": "80", "https": "443"}[in.Scheme] {
		in.add(Note, "port", "The address uses the unusual port %{port}.", "port", port)
	}
}

// names judges the name of the site: who registered it, and what it tries to look like.
func (in *inspection) names(h host, where place) {
	if h.addr.IsValid() {
		return
	}
	name := h.name()
	if name != h.ascii {
		in.add(Note, "trailing_dot", "The name of the site ends in a dot; it is the same site without it.")
	}
	labels := strings.Split(name, ".")
	switch {
	case where != placePublic: // nobody registers such names
	case !h.registered() && len(labels) == 1:
		in.add(Refuse, "top_level", "%{host} is a whole top-level domain, not a site.", "host", name)
	case !h.registered():
		in.add(Warn, "no_domain", "%{host} is shared by many unrelated owners, so the name does not say whose page this is.", "host", name)
	case h.hosting:
		user := strings.TrimSuffix(h.domain, "."+h.suffix)
		in.add(Note, "hosted", "This page is hosted on %{service} by its user %{user}.", "service", h.suffix, "user", user)
	}
	if under(name, "onion") {
		in.add(Note, "onion", "This address only opens in a browser for the Tor network.")
	}
	if len(labels) > maxLabels || len(name) > maxHost {
		in.add(Warn, "long_host", "The name of the site is unusually long. It belongs to %{domain}.", "domain", h.domain)
	}
	in.scripts(h)
	if where == placePublic {
		in.imitation(h)
	}
}

// site compares the page's domain with the asking server's.
func (in *inspection) site(h host) {
	server := in.server()
	if server.ascii == "" {
		return
	}
	if server.domain == h.domain {
		in.add(OK, "same_site", "The server that asks and this page are on the same site, %{site}.", "site", h.domain)
		return
	}
	in.add(Note, "other_site", "The server that asks is at %{server}, this page is at %{site}.", "server", server.domain, "site", h.domain)
}

// server returns the host of the asking server, empty if it is unknown.
func (in *inspection) server() host {
	s := in.opts.ServerDomain
	if strings.Contains(s, "://") {
		u, err := url.Parse(s)
		if err != nil {
			return host{}
		}
		s = u.Host
	}
	s, _, ok := cutPort(s)
	h, bad := parseHost(s)
	if !ok || bad != nil {
		return host{}
	}
	return h
}

// quoteList joins names for a sentence and leaves out what is too much.
func quoteList(names []string, most int) string {
	if len(names) > most {
		return strings.Join(names[:most], ", ") + " and " + strconv.Itoa(len(names)-most) + " more"
	}
	return strings.Join(names, ", ")
}
