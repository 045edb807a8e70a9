#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# interop.sh RPC_PEER: inside the SCTP guest, every pair of back-ends talks
# to each other: 300 requests in order, a list of 10,000 items, and bye. Then
# one side of pairs that can be stopped (the kernel answers for its process)
# stalls, for less and for more than the other waits. The guest has net.sctp.udp_port=9899. Exit code 1: some pair does not.
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

# listen KIND UDP [TIMEOUT]: a server, in the background
listen() {
	port=$((${port:-5000} + 1))
	log=$TMPDIR/server.$port
	said=$TMPDIR/client.$port
	RPC_PEER_TIMEOUT=$3 "$peer" server "$1" 127.0.0.1 $port "$2" >"$log" &
	server=$!
	until grep -q "listening $1" "$log"; do
		kill -0 $server || break
		sleep 0.05
	done
}

# replies N: wait until the client has had so many more
replies() {
	enough=$(($(grep -c reply "$said") + $1))
	for _ in $(seq 1200); do
		[ "$(grep -c reply "$said")" -lt $enough ] || return 0
		kill -0 $client || return 1
		sleep 0.05
	done
	return 1
}

# stall SERVER_KIND CLIENT_KIND UDP STOPPED: the side that is stopped, which is
# usrsctp, waits for 4 s itself and blames nobody for its own 8 s
stall() {
	listen "$1" "$3" "$([ "$4" = server ] && echo 4)"
	RPC_PEER_TIMEOUT=$([ "$4" = client ] && echo 4) \
		"$peer" ask "$2" 127.0.0.1 $port "$3" >"$said" &
	client=$!
	replies 1
	[ "$4" = server ] && stopped=$server || stopped=$client
	kill -STOP $stopped
	sleep 8
	kill -CONT $stopped
	if replies 10 && ! grep -q "peer gone" "$log"; then
		echo "ok: $2 client, $1 server, the $4 stalls"
	else
		echo "FAIL: $2 client, $1 server, the $4 stalls"
		failed=1
	fi
	kill $client $server
	wait $client $server
}

# An idle client is heard by its heartbeats; stopped it is lost.
silent_client() {
	listen kernel 9899 4
	RPC_PEER_TIMEOUT=4 "$peer" hold user 127.0.0.1 $port 9899 >"$said" &
	client=$!
	sleep 9
	if grep -q "peer gone" "$log"; then
		echo "FAIL: an idle user client of a kernel server was lost"
		failed=1
	fi
	kill -STOP $client
	gone
	kill $server
	wait $server
	if grep -q "served 1, gone 1, last by lost" "$log"; then
		echo "ok: a silent user client of a kernel server is lost"
	else
		echo "FAIL: a silent user client of a kernel server is lost"
		cat "$log"
		failed=1
	fi
	kill -KILL $client
	wait $client
}

silent_server() {
	listen user 9950 ""
	RPC_PEER_TIMEOUT=4 "$peer" ask kernel 127.0.0.1 $port 9950 >"$said" \
		2>"$said.why" &
	client=$!
	replies 1
	kill -STOP $server
	wait $client
	if grep -q "down: no answer from the peer" "$said.why"; then
		echo "ok: a silent user server is lost to a kernel client"
	else
		echo "FAIL: a silent user server is lost to a kernel client"
		failed=1
	fi
	kill -KILL $server
	wait $server
}

pair kernel 0 kernel 0
pair kernel 0 kernel 9899
pair kernel 0 user 9899
pair user 9950 kernel 9950
pair user 9950 user 9950
stall kernel user 9899 client
stall user kernel 9950 server
silent_client
silent_server
exit $failed
