package lint

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

// A Profile is what is publicly known about how a client treats shapes.
type Profile struct {
	Client string   `json:"client"`
	Seen   string   `json:"seen"` // version or month of the observation
	Shapes []string `json:"shapes"`
	Effect string   `json:"effect"` // what the client does with them
	Remedy string   `json:"remedy"` // "" where there is none
	Source string   `json:"source"`
}

//go:embed profiles.json
var profilesJSON []byte

var readProfiles = sync.OnceValue(func() []Profile {
	var list []Profile
	if err := json.Unmarshal(profilesJSON, &list); err != nil {
		panic("lint: profiles.json: " + err.Error()) // a mistake in this package; a test reads it
	}
	return list
})

// Profiles lists what is known about clients. Clients change: each entry says
// when it was seen, and where. What is known to be repaired is left out. The slice is the caller's own.
func Profiles() []Profile { return slices.Clone(readProfiles()) }

// shapesOf finds the shapes in a schema that some client has trouble with, and
// where each stands first.
func shapesOf(ptr string, schema *node) map[string]spot {
	out := map[string]spot{}
	note := func(shape, p string, off int) {
		if _, ok := out[shape]; !ok {
			out[shape] = spot{p, off}
		}
	}
	for _, m := range schema.pairs() {
		switch m.key {
		case "title", "description", "additionalProperties":
			note("root-"+m.key, at(ptr, m.key), m.off)
		}
	}
	props := schema.get("properties")
	if len(props.pairs()) == 0 {
		note("no-fields", ptr, schema.off)
	}
	for _, m := range props.pairs() {
		p, n := at(ptr, "properties", m.key), m.val
		if t := n.get("type").text(); t == "integer" || t == "number" || t == "array" {
			note(t, p, n.off)
		}
		for _, k := range n.pairs() {
			switch k.key {
			case "oneOf", "enumNames", "default", "$ref", "pattern", "minLength", "title", "format":
				note(k.key, at(p, k.key), k.off)
			}
		}
		if items := n.get("items"); items.get("enum") != nil && items.get("type") == nil {
			note("items-without-type", at(p, "items"), items.off)
		}
		if n.is(objectNode) && n.get("title") == nil {
			note("no-title", p, n.off)
		}
	}
	return out
}

type spot struct {
	ptr string
	off int
}

func (l *linter) profiles(found map[string]spot) {
	if l.opts.NoProfiles {
		return
	}
	for _, p := range readProfiles() {
		for _, shape := range p.Shapes {
			where, ok := found[shape]
			if !ok {
				continue
			}
			text := fmt.Sprintf("%s (%s) %s", p.Client, p.Seen, p.Effect)
			if p.Remedy != "" {
				text += "; " + p.Remedy
			}
			l.add("client-profile", where.ptr, where.off, text+" ("+p.Source+")")
			break
		}
	}
}
