package main

import (
	"net/http"
	"net/http/pprof"
)

// handlePprof lets `go tool pprof` look into a server while it is measured.
func handlePprof(mux *http.ServeMux) {
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
}
