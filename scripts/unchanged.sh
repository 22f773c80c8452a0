#!/usr/bin/env bash
# unchanged.sh COMMAND... runs a command and fails when it has changed a file
# that git tracks or would track. Changes that were there before do not count.
set -euo pipefail
cd "$(dirname "$0")/.."

before=$(mktemp)
after=$(mktemp)
trap 'rm -f "$before" "$after"' EXIT

snapshot() {
	git ls-files --cached --others --exclude-standard -z | sort -zu |
		while IFS= read -r -d '' file; do
			if [ -f "$file" ]; then printf '%s\0' "$file"; fi
		done | xargs -0 -r sha256sum
}

snapshot >"$before"
"$@"
snapshot >"$after"
if ! changed=$(diff "$before" "$after"); then
	echo "these generated files were not what their sources make; look at them and commit them:" >&2
	sed -n 's/^[<>] [0-9a-f]*  /  /p' <<<"$changed" | sort -u >&2
	exit 1
fi
