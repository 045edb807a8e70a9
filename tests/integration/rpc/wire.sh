#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# wire.sh RPC_PEER: what we put on the wire is SCTP with good CRCs to
# tshark, handshake to shutdown, with nothing malformed. Exit code 77: this
# user may not capture.
set -u
peer=$1
work=$(mktemp -d) || exit 1
chmod 755 "$work"
# below the ports that the kernel gives away
udp=$((10000 + $$ % 20000))
capture='' server=''
trap 'kill $capture $server 2>/dev/null; rm -rf "$work"' EXIT

command -v tshark >/dev/null || { echo "skipped: no tshark" >&2; exit 77; }
# -P -l: a line for each packet, which tells when it has been written.
tshark -i lo -f "udp port $udp" -P -l -w "$work/pcap" >"$work/lines" \
	2>"$work/log" &
capture=$!

# until_grep FILE PATTERN: false when the capture has ended
until_grep() {
	until grep -q "$2" "$1"; do
		kill -0 $capture 2>/dev/null || return 1
		sleep 0.1
	done
}

if ! until_grep "$work/log" '^Capturing on'; then
	echo "skipped: $(tail -n 1 "$work/log")" >&2
	exit 77
fi
"$peer" server user 127.0.0.1 5555 $udp >"$work/server" &
server=$!
until_grep "$work/server" listening || exit 1
# dumpcap says that it captures a little before it does: probe until seen.
until [ -s "$work/lines" ]; do
	echo probe >"/dev/udp/127.0.0.1/$udp"
	sleep 0.1
done
"$peer" client user 127.0.0.1 5555 $udp 200 || exit 1
kill $server
wait $server
server=''
# Packets of ours; the probes are too short to be SCTP.
ours() {
	tshark -r "$work/pcap" -d "udp.port==$udp,sctp" \
		-o sctp.checksum:CRC-32c -Y "sctp.chunk_type $1" 2>/dev/null
}

# The file is complete when it holds the end of the association.
for _ in $(seq 100); do
	ours '== 14' | grep -q . && break
	sleep 0.1
done
kill -INT $capture
wait $capture
capture=''

# 1 INIT, 2 INIT ACK, 10 COOKIE ECHO, 11 COOKIE ACK, 0 DATA, 3 SACK,
# 7 SHUTDOWN, 8 SHUTDOWN ACK, 14 SHUTDOWN COMPLETE
failed=0
for chunk in 1 2 10 11 0 3 7 8 14; do
	if [ "$(ours "== $chunk" | wc -l)" = 0 ]; then
		echo "FAIL: no chunk of type $chunk"
		failed=1
	fi
done
all=$(ours '' | wc -l)
good=$(ours '&& sctp.checksum.status == 1 && !_ws.malformed' | wc -l)
echo "$all packets, $good of them good"
[ "$all" -gt 100 ] && [ "$good" = "$all" ] && exit $failed
exit 1
