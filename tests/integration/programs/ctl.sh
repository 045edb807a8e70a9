#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# ctl.sh CODEC_RUNNER CODEC_CTL: every command of codec-ctl against a daemon,
# and the exit codes: 0 done, 1 refused, 2 usage, 3 no connection.
set -u
runner=$1 ctl=$2
work=$(mktemp -d) || exit 1
# below the ports that the kernel gives away
udp=$((10000 + $$ % 20000))
failed=0

"$runner" --rtp=127.0.0.1:0 --control=127.0.0.1:5555 --udp-port=$udp \
	--sctp=user --trace-dir="$work" >"$work/out" 2>"$work/log" &
daemon=$!
trap 'kill $daemon 2>/dev/null; wait $daemon; rm -rf "$work"' EXIT
until grep -q '^ready' "$work/out"; do
	kill -0 $daemon || { cat "$work/log"; exit 1; }
	sleep 0.05
done

# expect CODE PATTERN WORDS...: the exit code, and a line of either output
expect() {
	local code=$1 pattern=$2 said is
	shift 2
	said=$("$ctl" --sctp=user --udp-port=$udp "$@" 2>&1)
	is=$?
	if [ $is != "$code" ] || ! grep -q -- "$pattern" <<<"$said"; then
		echo "FAIL: $*: code $is (want $code), no '$pattern' in:"
		echo "$said"
		failed=1
	fi
}

expect 0 '^program: *codec-runner' hello
expect 0 '^amr ' codecs
expect 0 '^edf ' schedulers
expect 0 '^STREAM' list
expect 0 '^call: *1$' call start in.codec=pcmu out.codec=amr out.mode=12.2 \
	out.address=127.0.0.1:5004
expect 0 '^ *1  *1  pcmu .*amr *12.2' list
expect 0 '^out.mode: *12.2' stream query 1
expect 0 '^stream  *1 of call 1, soft, pcmu>amr/12.2@20ms' call 1
expect 0 '^  density  *[0-9][0-9]*\.[0-9]* %' call 1
expect 0 '"unit": "ppm"' --json call 1
expect 0 '^WORKER  BUSY_%' watch 50ms 2
expect 0 '^soft   pcmu/64  amr/12.2  *1 ' watch 50ms 1
expect 0 '^{"uptime_s":' --json watch 50ms 1
expect 0 '"calls": 1,' --json stats
expect 0 '^calls: *1$' stats
expect 0 '^scheduler: *rr,quantum=2ms' scheduler rr,quantum=2ms
expect 0 '^scheduler: *rr,quantum=5ms' tune quantum=5ms
expect 0 '^scheduler: rr,quantum=5ms$' scheduler
expect 0 '^  *quantum=TIME .*(1us..10s, 1ms)' scheduler
expect 0 '^  turn_used  *0 ns' call 1
expect 0 '^scheduler: *fifo' scheduler fifo
expect 0 'no numbers of its own' call 1
expect 0 '^  *admits by: sum of cost' scheduler
expect 0 '^in use: fifo' schedulers
expect 0 "^path: *$work/a.trace" trace start a.trace
expect 0 '^bytes:' trace stop
expect 0 '"more": false' --json raw call.list '{"limit": 5}'
expect 0 '"call": 1' --json raw '{"method": "call.list"}'
expect 0 '^call: *1$' call stop 1
expect 1 'there is no call 1' call stop 1
expect 1 'Method not found' raw no.such.method
expect 1 "unknown 'amrr'; did you mean 'amr'" call start in.codec=pcmu \
	out.codec=amrr out.address=127.0.0.1:5004
expect 1 'a number of ms goes under the name ptime_ms' call start \
	in.codec=pcmu out.codec=pcma out.address=127.0.0.1:5004 ptime=20
expect 0 '^call: *2$' call.start in.codec=pcmu out.codec=pcma \
	out.address=127.0.0.1:5004 ptime_ms=20 deadline=15ms
expect 0 '"deadline_ms": 15.0' --json stream query 2
expect 0 'deadline 12.5 ms' call change 2 deadline_ms=12.5
expect 1 "deadlin: unknown member; did you mean 'deadline'" \
	change 2 deadlin=1ms
expect 0 '^call: *2$' call stop 2
expect 0 '^  call.start  *start a call' help
expect 0 '^  deadline  *time, as "20ms"; 1us..10s; default: ptime' \
	call start --help
expect 0 '^### call.start' reference
expect 2 "did you mean 'call stop'" help call.stpo
expect 2 "did you mean 'call stop'" call stpo 1
expect 2 'usage: codec-ctl call ID' call
expect 2 'interval=1ms: needs a time .* from 10ms' watch 1ms
expect 2 'times=0: needs a whole number from 1' watch 1s 0
expect 2 '--once goes with the command top only$' --once watch 50ms
expect 2 '--limit goes with the command top only$' list --limit 5
expect 2 '--sort goes with the command top only$' --sort loss stats
expect 2 '--sort goes with the command top only$' stream top --sort cost
expect 0 '^by loss, over' top 500ms --once --limit 5 --sort loss
expect 0 '^  sort .*loss' --sort loss help stream.top
expect 1 'there is no call 77' call 77
expect 2 'usage: codec-ctl call query ID' call query
expect 2 'HOST' --to=127.0.0.1:99999 list
expect 3 'nothing listens at the SCTP port' --to=127.0.0.1:9999 list

# without a terminal a hang-up is as it was inherited: nohup works
(trap '' HUP; exec "$ctl" --sctp=user --udp-port=$udp watch 100ms) >"$work/nohup" &
watch=$!
until grep -q '^WORKER' "$work/nohup"; do
	kill -0 $watch || break
	sleep 0.05
done
pages=$(grep -c '^WORKER' "$work/nohup")
kill -HUP $watch
until [ "$(grep -c '^WORKER' "$work/nohup")" -gt $((pages + 2)) ]; do
	kill -0 $watch || break
	sleep 0.05
done
if ! kill -INT $watch || ! wait $watch; then
	echo "FAIL: watch ended at a hang-up that it was to ignore"
	failed=1
fi

# interrupted, watch ends well and says bye; at a terminal it redraws in place
"$ctl" --sctp=user --udp-port=$udp watch 100ms >"$work/watched" &
watch=$!
until [ "$(grep -c '^WORKER' "$work/watched")" -ge 2 ]; do
	kill -0 $watch || break
	sleep 0.05
done
kill -INT $watch
if ! wait $watch; then
	echo "FAIL: watch, interrupted: $(cat "$work/watched")"
	failed=1
fi
if grep -q "peer-gone.*reason=[^b]" "$work/log"; then
	echo "FAIL: somebody left without bye:"
	grep peer-gone "$work/log"
	failed=1
fi
if command -v script >/dev/null; then
	script -qec "'$ctl' --sctp=user --udp-port=$udp watch 50ms 3" \
		"$work/tty" >/dev/null
	if [ "$(grep -c $'\033\[2J' "$work/tty")" != 1 ] ||
		[ "$(grep -c $'\033\[H' "$work/tty")" != 3 ]; then
		echo "FAIL: watch does not redraw in place"
		failed=1
	fi
fi
expect 0 '^draining: *yes' drain
wait $daemon
expect 3 'nothing listens' --timeout=1s list
exit $failed
