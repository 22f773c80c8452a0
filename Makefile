# Everything a developer runs. `make help` lists the targets; each line of help
# is the comment behind a target.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

NPM_CI := npm ci --ignore-scripts --prefer-offline --no-audit --no-fund --loglevel=error
TSC := tools/node/node_modules/@typescript/typescript-linux-x64/lib/tsc

.PHONY: help
help: ## List these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# What npm installs is remembered by a stamp, so that nothing runs twice.
tools/node/node_modules/.stamp: tools/node/package-lock.json tools/node/package.json
	cd tools/node && $(NPM_CI) && touch node_modules/.stamp

.PHONY: web
web: tools/node/node_modules/.stamp ## Type check web/src and bundle it into web/dist
	$(TSC) --noEmit -p web
	cd tools && go run ./bundle

.PHONY: web-check
web-check: tools/node/node_modules/.stamp ## Type check web/src; fail when web/dist is not its bundle
	$(TSC) --noEmit -p web
	cd tools && go run ./bundle -check
