package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

// CSP is the Content-Security-Policy that the pages are made for: scripts and
// styles from this origin alone, no inline code, no request to anybody else, no
// frame around them, and no way to make markup from a string.
const CSP = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// assetsPath is where Assets expects to be mounted.
const assetsPath = "/assets/"

//go:embed dist/*.js
var dist embed.FS

//go:embed static
var static embed.FS

//go:embed shell.html
var shellText string

//go:embed signin.html
var signInText string

//go:embed disabled.html
var disabledText string

// An asset is a file that pages load. Its name carries a digest of its bytes,
// so a browser may keep it for ever and never mixes two versions.
type asset struct {
	name  string // page.0123456789abcdef.js
	mime  string
	bytes []byte
}

// assets by their plain name, such as page.js.
var assets = load()

var (
	shell       = makeShell("shell", shellText, nil)
	signInShell = makeShell("signin", signInText, nil)
	disabled    = map[bool][]byte{true: makeShell("disabled", disabledText, signOut(true)), false: makeShell("disabled", disabledText, signOut(false))}
)

var mimes = map[string]string{
	".js":  "text/javascript; charset=utf-8",
	".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml",
}

// load panics on a broken embed: that is a fault of the build, and the tests see it.
func load() map[string]*asset {
	all := map[string]*asset{}
	for _, dir := range []struct {
		files fs.FS
		name  string
	}{{dist, "dist"}, {static, "static"}} {
		entries, err := fs.ReadDir(dir.files, dir.name)
		if err != nil {
			panic(err)
		}
		for _, entry := range entries {
			content, err := fs.ReadFile(dir.files, path.Join(dir.name, entry.Name()))
			if err != nil {
				panic(err)
			}
			ext := path.Ext(entry.Name())
			mime, ok := mimes[ext]
			if !ok {
				panic(fmt.Sprintf("web: no media type for %s", entry.Name()))
			}
			sum := sha256.Sum256(content)
			name := strings.TrimSuffix(entry.Name(), ext) + "." + hex.EncodeToString(sum[:8]) + ext
			all[entry.Name()] = &asset{name: name, mime: mime, bytes: content}
		}
	}
	return all
}

func signOut(there bool) template.FuncMap {
	return template.FuncMap{"signOut": func() bool { return there }}
}

func makeShell(name, text string, more template.FuncMap) []byte {
	var out bytes.Buffer
	tmpl := template.Must(template.New(name).Funcs(template.FuncMap{"asset": AssetPath}).Funcs(more).Parse(text))
	if err := tmpl.Execute(&out, nil); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// Shell is the HTML of the page: it loads the script, which draws the rest. It
// is the same for everybody and holds nothing that is private. The caller must
// not change it.
func Shell() []byte { return shell }

// SignInShell is the HTML of the page that a browser comes back to from the
// authorization server of an MCP server. Its script sends what the address holds to the
// API. Like [Shell] it is the same for everybody.
func SignInShell() []byte { return signInShell }

// DisabledPage is what a person gets whose access was taken away. It runs no script.
// With signOut it has a button for that, which posts to /sign-out. Like [Shell] it is
// the same for everybody.
func DisabledPage(signOut bool) []byte { return disabled[signOut] }

// AssetPath is the address of an asset on the host, such as
// /assets/elements.0123456789abcdef.js for elements.js. An unknown name is "".
func AssetPath(name string) string {
	a, ok := assets[name]
	if !ok {
		return ""
	}
	return assetsPath + a.name
}

// embedded is for pages of products in any language, which know no digest: the same
// file under its plain name, asked for anew each time.
const embedded = "elements.js"

// Assets serves everything below /assets/, and elements.js also under its plain name.
// Assets are public.
func Assets() http.Handler {
	byName := make(map[string]*asset, len(assets))
	for _, a := range assets {
		byName[a.name] = a
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, assetsPath)
		a, ok := byName[name]
		h := w.Header()
		switch {
		case ok:
			h.Set("Cache-Control", "public, max-age=31536000, immutable")
		case name == embedded && assets[embedded] != nil:
			a = assets[embedded]
			h.Set("Cache-Control", "no-cache")
			h.Set("ETag", `"`+a.name+`"`)
			if r.Header.Get("If-None-Match") == `"`+a.name+`"` {
				w.WriteHeader(http.StatusNotModified)
				return
			}
		default:
			http.NotFound(w, r)
			return
		}
		h.Set("Content-Type", a.mime)
		h.Set("Content-Length", fmt.Sprint(len(a.bytes)))
		if r.Method != http.MethodHead {
			_, _ = w.Write(a.bytes) // a browser that is gone needs no word
		}
	})
}
