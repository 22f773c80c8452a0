# Everything that a developer runs. The comment behind a target is its line of help.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

BIN := .build/bin
NPM_CI := npm ci --ignore-scripts --prefer-offline --no-audit --no-fund --loglevel=error
TSC := tools/node/node_modules/@typescript/typescript-linux-x64/lib/tsc
TEST := go test -race -shuffle=on -timeout 10m
FUZZTIME ?= 60s
MODULES := . interop bench tools

# The database of known vulnerabilities, as a Go module: a later one is found
# with `go list -m golang.org/x/vulndb@latest`.
VULNDB_VERSION := v0.0.0-20261105234957-e22db6528018
# The release of Go whose standard library is judged with it.
GO_RELEASE := go1.26.11
VULNDB := .build/vulndb-$(VULNDB_VERSION)

.PHONY: help
help: ## List these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

## Building

.PHONY: build
build: ## Build bin/parley
	go build -trimpath -o bin/ ./cmd/parley

.PHONY: web
web: tools/node/node_modules/.stamp ## Type check web/src and bundle it into web/dist
	$(TSC) --noEmit -p web
	cd tools && go run ./bundle

.PHONY: generate
generate: web ## Rewrite all that is generated: code, web/dist, api/, lists and tables in docs
	go generate ./...
	cd tools && go run ./apilist && go run ./depcheck -write && go run ./clauses

.PHONY: demo
demo: build interop/node/node_modules/.stamp ## Start Parley beside the protocol's example server
	bin/parley serve --data .build/demo --servers interop/demo/servers.json

## Testing

.PHONY: test
test: test-root test-interop test-bench test-tools ## Run all tests with the race detector
	@echo "make test: all tests passed"

.PHONY: test-root
test-root: deps-services ## Test the module itself
	$(TEST) ./...

.PHONY: test-interop
test-interop: deps deps-services ## Test against strangers: a browser, Node.js, other people's servers
	cd interop && $(TEST) ./...

.PHONY: test-bench
test-bench: ## Hold forms against another validator of JSON Schema
	cd bench && $(TEST) ./...

.PHONY: test-tools
test-tools: ## Test the tools of this repository
	cd tools && go test -shuffle=on ./...

.PHONY: screenshots
screenshots: deps ## Take the documentation's pictures again from the demo
	cd interop && go test -count 1 -run '^TestScreenshots$$' ./e2e -shots "$(CURDIR)/docs/images"

.PHONY: proof
proof: deps deps-services deps-proof bench/node/node_modules/.stamp ## Run all tests, each fuzz target for FUZZTIME, each benchmark once
	$(MAKE) test
	cd interop && PARLEY_TORTURE_REPORT="$(CURDIR)/docs/torture.md" go test -tags proof -count 1 -timeout 3h -run '^TestTorture(Postgres|SQLite)$$' -parallel 1 ./e2e
	cd interop && go test -tags proof -count 1 -timeout 1h -run '^Test(MachineCutOff|BehindProxies)' ./e2e
	go test -tags proof -race -count 1 -run '^(TestCut|TestBackup)' ./store/pgstore ./cmd/parley
	go test -tags proof -count 1 -run '^TestManyOpenQuestions$$' ./store/sqlitestore
	PARLEY_EXPLORE_DEEP=1 go test -count 1 -timeout 30m -v -run '^TestExplore$$' ./inbox
	scripts/fuzz.sh $(FUZZTIME)
	go test -run '^$$' -bench . -benchtime 1x ./...
	cd bench && go run ./forms -smoke && go run ./kit -smoke

.PHONY: bench
bench: bench/node/node_modules/.stamp ## Measure against peers and rewrite the tables of docs/benchmarks.md
	cd bench && go run ./forms -write && go run ./kit -write

## Checking

.PHONY: check
check: check-format check-vet check-static check-linters check-scripts check-vulnerabilities check-house check-generated ## Check format, code, dependencies and what is generated (-k: all findings)
	@echo "make check: nothing to complain about"

.PHONY: check-format
check-format:
	@files=$$(git ls-files --cached --others --exclude-standard '*.go' | while read -r f; do if [ -f "$$f" ]; then echo "$$f"; fi; done | xargs gofmt -l); \
	if [ -n "$$files" ]; then echo "gofmt would change:" $$files; exit 1; fi

.PHONY: check-vet
check-vet:
	@for module in $(MODULES); do (cd $$module && go vet ./...); done

.PHONY: check-static
check-static: $(BIN)/staticcheck
	@for module in $(MODULES); do (cd $$module && "$(CURDIR)/$(BIN)/staticcheck" ./...); done

.PHONY: check-linters
check-linters: $(BIN)/golangci-lint
	@for module in $(MODULES); do (cd $$module && "$(CURDIR)/$(BIN)/golangci-lint" run ./...); done

.PHONY: check-scripts
check-scripts:
	@if command -v shellcheck >/dev/null; then shellcheck scripts/*.sh .ci/run; else echo "shellcheck is not installed: scripts are not checked"; fi

.PHONY: check-vulnerabilities
check-vulnerabilities: $(BIN)/govulncheck $(VULNDB)/index/db.json
	GOTOOLCHAIN=$(GO_RELEASE) $(BIN)/govulncheck -db "file://$(CURDIR)/$(VULNDB)" ./...

.PHONY: check-house
check-house:
	cd tools && go run ./longfiles && go run ./depcheck && go run ./apilist -check && go run ./clauses -check

.PHONY: check-generated
check-generated:
	scripts/unchanged.sh $(MAKE) --no-print-directory generate

## Getting what these need

.PHONY: deps
deps: deps-tools interop/node/node_modules/.stamp ## Install what the tests need (Debian packages as root, npm packages)

.PHONY: deps-tools
deps-tools:
	@scripts/deps.sh tools

.PHONY: deps-proof
deps-proof: ## Install what only the proof needs
	@scripts/deps.sh proof

.PHONY: deps-services
deps-services: ## Start PostgreSQL and NATS where they do not answer
	@scripts/deps.sh services

# What npm has installed is marked by a stamp, so that it is not installed again.
%/node_modules/.stamp: %/package-lock.json %/package.json | deps-tools
	cd $* && $(NPM_CI)
	touch $@

$(BIN)/golangci-lint: PACKAGE := github.com/golangci/golangci-lint/v2/cmd/golangci-lint
$(BIN)/govulncheck: PACKAGE := golang.org/x/vuln/cmd/govulncheck
$(BIN)/staticcheck: PACKAGE := honnef.co/go/tools/cmd/staticcheck
$(BIN)/%: tools/go.mod tools/go.sum
	cd tools && go build -o "$(CURDIR)/$@" $(PACKAGE)

# The module has the reports; the scanner wants them with an index.
$(VULNDB)/index/db.json:
	reports=$$(cd tools && go mod download -json golang.org/x/vulndb@$(VULNDB_VERSION) | sed -n 's/^\t"Dir": "\(.*\)",$$/\1/p'); \
	go run golang.org/x/vulndb/cmd/indexdb@$(VULNDB_VERSION) -vulns "$$reports/data/osv" -out $(VULNDB)
