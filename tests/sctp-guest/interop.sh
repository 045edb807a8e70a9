#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# interop.sh RPC_PEER: inside the SCTP guest, every pair of back-ends talks
# to each other: 300 requests in order, a list of 10,000 items, and bye. The
# guest has net.sctp.udp_port=9899. Exit code 1: some pair does not.
peer=$1
failed=0

# Wait up to a minute for the server to say that its peer has gone: a busy host
# lends the guest little time.
gone() {
	for _ in $(seq 1200); do
		grep -q "peer gone" "$log" && return
		kill -0 $server || return
		sleep 0.05
	done
	return 1
}

# pair SERVER_KIND SERVER_UDP CLIENT_KIND CLIENT_UDP: over IPv4 and IPv6
pair() {
	for host in 127.0.0.1 ::1; do
		port=$((${port:-5000} + 1))
		log=$TMPDIR/server.$port
		"$peer" server "$1" $host $port "$2" >"$log" &
		server=$!
		until grep -q "listening $1" "$log"; do
			kill -0 $server || break
			sleep 0.05
		done
		# the client may be done before the server has seen it leave
		if "$peer" client "$3" $host $port "$4" 300 && gone &&
			kill $server && wait $server &&
			grep -q "served 1, gone 1, last by bye" "$log"; then
			echo "ok: $3 client, $1 server, $host, UDP port $4"
		else
			echo "FAIL: $3 client, $1 server, $host; the server said:"
			cat "$log"
			kill $server 2>/dev/null
			wait $server
			echo "and ended with $?"
			failed=1
		fi
	done
}

pair kernel 0 kernel 0
pair kernel 0 kernel 9899
pair kernel 0 user 9899
pair user 9950 kernel 9950
pair user 9950 user 9950
exit $failed
