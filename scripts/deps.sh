#!/usr/bin/env bash
# Makes sure that what the tests need from the system is there.
#
#   deps.sh tools      programs: npm, chromium
#   deps.sh proof      for the tests of `make proof`: ip (iproute2) for network
#                      namespaces, which root may make, and the programs of a
#                      PostgreSQL server for tests that stop and start their own,
#                      nginx and Caddy
#   deps.sh services   PostgreSQL on 127.0.0.1:5432 (user postgres, trusted) and
#                      NATS with JetStream on 127.0.0.1:4222, started if silent
#
# As root on a system with apt it installs what is absent; elsewhere it says
# what is missing and fails. When all is there it changes nothing.
set -euo pipefail

missing=()
updated=no

say() { printf 'deps: %s\n' "$*"; }

can_install() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; }

# install PACKAGE... installs Debian packages, and reads the lists anew only
# when the ones on the machine do not do.
install() {
	say "installing $*"
	local get=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install)
	local log
	log=$(mktemp)
	if ! "${get[@]}" "$@" >"$log" 2>&1; then
		if [ $updated = no ]; then
			updated=yes
			apt-get -qq update >>"$log" 2>&1 || true
		fi
		if ! "${get[@]}" "$@" >>"$log" 2>&1; then
			cat "$log" >&2
			rm -f "$log"
			say "apt-get could not install $*" >&2
			exit 1
		fi
	fi
	rm -f "$log"
}

# need PROGRAM PACKAGE... installs the packages unless the program is there.
need() {
	local program=$1
	shift
	command -v "$program" >/dev/null && return
	if can_install; then
		install "$@"
	else
		missing+=("$program (Debian: $*)")
	fi
}

report() {
	[ ${#missing[@]} = 0 ] && return
	say "missing on this machine:" >&2
	printf '  %s\n' "${missing[@]}" >&2
	say "install it by hand; only root on a system with apt gets it installed" >&2
	exit 1
}

answers() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# wait_for PORT NAME LOG waits until something listens there.
wait_for() {
	for _ in $(seq 150); do
		answers "$1" && return
		sleep 0.2
	done
	[ -r "$3" ] && tail -n 20 "$3" >&2
	say "$2 does not answer on 127.0.0.1:$1" >&2
	exit 1
}

# postgres_bin prints the folder of the newest PostgreSQL server's programs.
postgres_bin() {
	{ find /usr/lib/postgresql -path '*/bin/initdb' -printf '%h\n' 2>/dev/null || true; } | sort -V | tail -n 1
}

postgres() {
	answers 5432 && return
	if ! can_install; then
		missing+=("PostgreSQL on 127.0.0.1:5432, user postgres trusted (Debian: postgresql)")
		return
	fi
	local bin data=/var/tmp/parley-test-postgres
	bin=$(postgres_bin)
	if [ -z "$bin" ]; then
		install postgresql
		bin=$(postgres_bin)
	fi
	if answers 5432; then
		trust_local
		return
	fi
	# A cluster of our own: one that the machine has may trust nobody.
	if [ ! -f $data/PG_VERSION ]; then
		say "making a PostgreSQL cluster in $data"
		mkdir -p $data
		chown postgres: $data
		(cd / && su postgres -s /bin/sh -c "'$bin/initdb' -D $data -A trust -U postgres --no-sync" >/dev/null)
	fi
	say "starting PostgreSQL"
	(cd / && su postgres -s /bin/sh -c "'$bin/pg_ctl' -D $data -l $data/log -w -o '-c listen_addresses=127.0.0.1 -c port=5432 -c unix_socket_directories=$data -c fsync=off' start" >/dev/null)
	wait_for 5432 PostgreSQL $data/log
}

# trust_local lets the tests in where installing the package has just started
# a cluster that asks for passwords.
trust_local() {
	local conf
	conf=$(cd / && su postgres -s /bin/sh -c "psql -XAtc 'show hba_file'")
	sed -i -E 's@^(host +all +all +(127\.0\.0\.1/32|::1/128) +)[a-z0-9-]+@\1trust@' "$conf"
	(cd / && su postgres -s /bin/sh -c "psql -XAqtc 'select pg_reload_conf()'" >/dev/null)
}

nats() {
	answers 4222 && return
	need nats-server nats-server
	[ ${#missing[@]} = 0 ] || return 0
	answers 4222 && return
	local data=/var/tmp/parley-test-nats
	[ "$(id -u)" = 0 ] || data=${TMPDIR:-/tmp}/parley-test-nats
	mkdir -p "$data"
	say "starting NATS with JetStream"
	setsid nats-server -a 127.0.0.1 -p 4222 -js -sd "$data" -l "$data/log" >/dev/null 2>&1 </dev/null &
	wait_for 4222 NATS "$data/log"
}

tools() {
	need chromium chromium
	need npm nodejs npm
	report
}

proof() {
	need ip iproute2
	need nginx nginx-light
	need caddy caddy
	if [ -z "$(postgres_bin)" ]; then
		if can_install; then
			install postgresql
		else
			missing+=("PostgreSQL's programs in /usr/lib/postgresql (Debian: postgresql)")
		fi
	fi
	[ "$(id -u)" = 0 ] || missing+=("root: only root may make network namespaces")
	report
}

services() {
	postgres
	nats
	report
}

case ${1-} in
tools | proof | services) "$1" ;;
*)
	sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
	exit 2
	;;
esac
