#!/usr/bin/env bash
# fuzz.sh TIME fuzzes every fuzz target of the module, one after the other, for
# that time each (as go test -fuzztime takes it), and stops at the first find.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:?usage: fuzz.sh TIME}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# onlyLate says whether the log tells of no find: up to Go 1.26 the end of the time can
# itself be reported as a failure (go.dev/issue/75804).
onlyLate() {
	grep -qx '    context deadline exceeded' "$log" && ! grep -q -e 'Failing input' -e '^panic:' -e '_test\.go:' "$log"
}

targets=0
while read -r package; do
	while read -r name; do
		echo "fuzzing $name in $package for $time"
		go test -run '^$' -fuzz "^$name\$" -fuzztime "$time" -fuzzminimizetime 1x "$package" 2>&1 | tee "$log" || onlyLate
		targets=$((targets + 1))
	done < <(go test -list '^Fuzz' "$package" | grep '^Fuzz' || true)
done < <(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./...)
echo "fuzzed $targets targets"
