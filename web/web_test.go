package web

import (
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

func fetch(t *testing.T, target string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	Assets().ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
	return w
}

func TestAssets(t *testing.T) {
	t.Parallel()
	hashed := regexp.MustCompile(`^/assets/[a-z]+\.[0-9a-f]{16}\.(js|css|svg)$`)
	for _, name := range []string{"page.js", "elements.js", "page.css", "icon.svg"} {
		target := AssetPath(name)
		if !hashed.MatchString(target) {
			t.Errorf("AssetPath(%q) = %q; want a digest in the name", name, target)
			continue
		}
		w := fetch(t, target)
		if w.Code != http.StatusOK || w.Body.Len() == 0 {
			t.Errorf("GET %s: status %d, %d bytes", target, w.Code, w.Body.Len())
		}
		if got := w.Header().Get("Content-Type"); got != mimes[path.Ext(name)] {
			t.Errorf("GET %s: Content-Type %q", target, got)
		}
		if got := w.Header().Get("Cache-Control"); !strings.Contains(got, "immutable") {
			t.Errorf("GET %s: Cache-Control %q; want immutable", target, got)
		}
	}
	if got := AssetPath("nothing.js"); got != "" {
		t.Errorf("AssetPath of an unknown name = %q; want none", got)
	}
}

// Pages of products load the elements by a name that does not change.
func TestElementsByPlainName(t *testing.T) {
	t.Parallel()
	plain, hashed := fetch(t, "/assets/elements.js"), fetch(t, AssetPath("elements.js"))
	if plain.Code != http.StatusOK || plain.Body.String() != hashed.Body.String() || plain.Header().Get("Cache-Control") != "no-cache" {
		t.Errorf("%d, %d bytes, %v", plain.Code, plain.Body.Len(), plain.Header())
	}
	r := httptest.NewRequest(http.MethodGet, "/assets/elements.js", nil)
	r.Header.Set("If-None-Match", plain.Header().Get("ETag"))
	w := httptest.NewRecorder()
	Assets().ServeHTTP(w, r)
	if w.Code != http.StatusNotModified || w.Body.Len() != 0 {
		t.Errorf("known already: %d, %d bytes", w.Code, w.Body.Len())
	}
}

func TestAssetsUnknown(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"/assets/", "/assets/page.js", "/assets/page.0000000000000000.js", "/assets/../web.go", "/assets/static/page.css"} {
		if w := fetch(t, target); w.Code != http.StatusNotFound {
			t.Errorf("GET %s: status %d; want 404", target, w.Code)
		}
	}
}

// The policy forbids inline code, so a shell that had some would be dead.
func TestShell(t *testing.T) {
	t.Parallel()
	doc, err := html.Parse(strings.NewReader(string(Shell())))
	if err != nil {
		t.Fatal(err)
	}
	var loads []string
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		if n.Data == "style" {
			t.Error("the shell has a <style>")
		}
		for _, a := range n.Attr {
			switch {
			case a.Key == "style" || strings.HasPrefix(a.Key, "on"):
				t.Errorf("<%s> has the inline attribute %s", n.Data, a.Key)
			case a.Key == "src" || a.Key == "href":
				loads = append(loads, a.Val)
			}
		}
		if n.Data == "script" && n.FirstChild != nil {
			t.Error("the shell has an inline script")
		}
	}
	if len(loads) == 0 {
		t.Error("the shell loads nothing")
	}
	for _, target := range loads {
		if w := fetch(t, target); w.Code != http.StatusOK {
			t.Errorf("the shell loads %s: status %d", target, w.Code)
		}
	}
}

// Strings never become markup or code, and nothing is fetched from elsewhere.
func TestScripts(t *testing.T) {
	t.Parallel()
	forbidden := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser|createContextualFragment|\bimport\(|\.setAttribute\("(style|on)|sourceMappingURL`)
	address := regexp.MustCompile(`https?://[a-z0-9.-]+`)
	for _, name := range []string{"page.js", "elements.js"} {
		text := string(assets[name].bytes)
		if found := forbidden.FindString(text); found != "" {
			t.Errorf("%s uses %s", name, found)
		}
		for _, found := range address.FindAllString(text, -1) {
			if found != "https://example.com" { // in a hint
				t.Errorf("%s names the address %s", name, found)
			}
		}
	}
	if !strings.Contains(string(assets["elements.js"].bytes), "parley-question") {
		t.Error("elements.js does not define the elements")
	}
}

func TestCSP(t *testing.T) {
	t.Parallel()
	for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'"} {
		if !strings.Contains(CSP, want) {
			t.Errorf("CSP lacks %s", want)
		}
	}
	for _, bad := range []string{"unsafe", "*", "http:", "https:", "data:"} {
		if strings.Contains(CSP, bad) {
			t.Errorf("CSP holds %s", bad)
		}
	}
}
