#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# run-in-sctp-kernel.sh TOOLS PROGRAM [ARGS...]
#   Runs PROGRAM of this machine in a throw-away User-Mode Linux guest whose
#   kernel has SCTP; passes stdout, stderr and the exit code through. The
#   guest's root file system is this machine's, read-only except for $PWD.
#   TOOLS: folder with sctp_init and libuml_xstate.so (built by CMake).
# Environment:
#   SCTP_SYSCTL="net/sctp/udp_port=9899 ..."  set in the guest before PROGRAM
#   SCTP_TIMEOUT=300    seconds until the guest is killed (exit code 124)
#   SCTP_MEM=256M       guest memory
# Exit codes of its own: 77 no guest to be had here, 124 timed out, 125 died.
set -u
tools=$1
program=$(readlink -f -- "$(command -v -- "$2")")
shift 2

skip() {
	echo "skipped: $1" >&2
	exit 77
}

uml=/usr/bin/linux.uml
[ -x "$uml" ] || skip "no $uml (apt-get install user-mode-linux)"
[ -x "$tools/sctp_init" ] || skip "no $tools/sctp_init in this build"
modules=$(echo /usr/lib/uml/modules/*/)
[ -f "$modules/modules.dep" ] || skip "no modules of User-Mode Linux"

work=$(mktemp -d "${TMPDIR:-/tmp}/sctp-guest.XXXXXX") || exit 125
trap 'rm -rf "$work"' EXIT

# One record of the file that sctp_init reads.
record() {
	printf '%s\0' "$1" >>"$work/spec"
}

# The module $1 after everything it depends on (modules.dep: "file: files").
load() {
	local line file
	line=$(grep -m 1 "/$1\.ko" "$modules/modules.dep") || return 0
	for file in $(echo "${line#*:}" | tr ' ' '\n' | tac); do
		record "module=$modules/$file"
	done
	record "module=$modules/${line%%:*}"
}

# listen() on SCTP needs hmac, which nothing depends on.
for module in ipv6 hmac sctp; do
	load "$module"
done
record "writable=$work"
record "writable=$PWD"
record "status=$work/status"
for setting in ${SCTP_SYSCTL:-}; do
	record "sysctl=$setting"
done
record "cwd=$PWD"
for word in "$program" "$@"; do
	record "arg=$word"
done
while IFS= read -r -d '' variable; do
	record "env=$variable"
done < <(env -0)

# The guest's consoles 1 and 2 are our stdout and stderr (fds 3 and 4).
exec 3>&1 4>&2
HOME=$work TMPDIR=/dev/shm LD_PRELOAD=$tools/libuml_xstate.so \
	timeout -k 2 "${SCTP_TIMEOUT:-300}" \
	"$uml" "mem=${SCTP_MEM:-256M}" "umid=sctp.$$" "uml_dir=$work/umid" \
	rootfstype=hostfs root=/dev/root rootflags=/ ro \
	"init=$tools/sctp_init" "sctpspec=$work/spec" panic=-1 quiet \
	initcall_blacklist=raid6_select_algo \
	con=null con0=null,fd:1 con1=null,fd:3 con2=null,fd:4 \
	</dev/null >"$work/log" 2>&1
code=$?
[ -s "$work/status" ] && exit "$(cat "$work/status")"
[ $code = 124 ] && {
	echo "$0: the guest timed out" >&2
	exit 124
}
grep -q 'ptrace\|Permission denied\|not permitted' "$work/log" &&
	! grep -q 'Linux version' "$work/log" &&
	skip "User-Mode Linux may not run here: $(tail -n 1 "$work/log")"
echo "$0: the guest died (code $code); its log:" >&2
cat "$work/log" >&2
exit 125
