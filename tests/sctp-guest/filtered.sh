#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# filtered.sh CODEC_RUNNER CODEC_CTL: inside the SCTP guest, a daemon that takes
# control by the kernel's SCTP, and that ends at any system call which its filter
# does not know. Exit code 1: it did, or does not serve.
runner=$1
ctl=$2
log=$TMPDIR/runner.log
key=$TMPDIR/key

fail() {
	echo "FAIL: $1; the daemon said:"
	cat "$log"
	exit 1
}

"$runner" --config none --rtp 127.0.0.1:0 --control 127.0.0.1:5555 \
	--control-key "$key" \
	--sctp kernel --workers 1 --no-admission --sandbox strict >"$log" 2>&1 &
daemon=$!
until grep -q '^ready .* sctp=kernel ' "$log"; do
	kill -0 $daemon 2>/dev/null || fail "it does not start"
	sleep 0.05
done
ask() { "$ctl" --to 127.0.0.1:5555 --key "$key" --sctp kernel --json "$@" >/dev/null; }
ask hello || fail "hello"
ask call start in.codec=pcmu out.codec=amr out.address=127.0.0.1:4000 ||
	fail "call start"
ask call stop 1 || fail "call stop"
if grep -q 'no-sandbox' "$log"; then
	echo "this kernel does not filter"
else
	for thread in /proc/"$daemon"/task/*; do
		grep -q '^Seccomp:.2$' "$thread/status" || fail "$thread"
	done
	echo "filtered: $(echo /proc/$daemon/task/* | wc -w) threads"
fi
kill $daemon
wait $daemon || fail "it ended with $?"
echo "ok: the kernel's SCTP"
