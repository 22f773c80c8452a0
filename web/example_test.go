package web_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/parley-mcp/parley/web"
)

func Example() {
	mux := http.NewServeMux()
	mux.Handle("GET /assets/", web.Assets())
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Security-Policy", web.CSP)
		w.Write(web.Shell())
	})

	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, web.AssetPath("page.js"), nil))
	fmt.Println(w.Code, w.Header().Get("Content-Type"), strings.Contains(w.Body.String(), "parley-app"))
	// Output: 200 text/javascript; charset=utf-8 true
}
