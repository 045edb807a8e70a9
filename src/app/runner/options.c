/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec-runner's options: the table, which says where each value goes; what is
 * more than a number; what options mean together and on this machine.
 * They are read once at the start, and again. Main thread.
 */
#include "app/runner/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/codec_option.h"
#include "base/address.h"
#include "codecs/registry.h"
#include "cr/sched.h"
#include "engine/core.h"
#include "media/rx.h"
#include "node/node.h"
#include "node/replica_store.h"
#include "observe/log.h"
#include "transport/transport.h"
#include "udp/socket.h"

_Static_assert(FIELD_TEXTS_MAX <= INTERFACES_MAX, "--interface fits");

/* --- values that are more than a number --- */

static int read_rtp(const char *text, void *to, struct cr_err *e)
{
	struct node_config *n = to;

	return interface_parse_shared(&n->rtp, &n->rtp_advertised, text, e);
}

static int read_rtp_ports(const char *text, void *to, struct cr_err *e)
{
	return port_range_parse(to, text, e);
}

static int read_send_to(const char *text, void *to, struct cr_err *e)
{
	return send_to_init(to, text, e);
}

static int read_tos(const char *text, void *to, struct cr_err *e)
{
	return tos_parse(text, to, e);
}

/* "off": no host. */
static int read_control(const char *text, void *to, struct cr_err *e)
{
	struct sockaddr_storage a;

	if (!strcmp(text, "off"))
		return 0;
	if (address_parse(text, &a))
		return cr_fail(e, -EINVAL,
			       "must be a numeric address with a port, such "
			       "as 127.0.0.1:5555, or off");
	return transport_addr_parse(to, text)
		       ? cr_fail(e, -EINVAL, "needs a port")
		       : 0;
}

static int read_control_socket(const char *text, void *to, struct cr_err *e)
{
	if (!transport_addr_unix(to, text))
		return 0;
	return cr_fail(e, -EINVAL, "must be a path of 1 to %zu bytes",
		       TRANSPORT_PATH_MAX);
}

static int read_http(const char *text, void *to, struct cr_err *e)
{
	struct sockaddr_storage a;

	if (!address_parse(text, &a)) {
		*(const char **)to = text;
		return 0;
	}
	return cr_fail(e, -EINVAL,
		       "must be a numeric address with a port, such as "
		       "127.0.0.1:40000 or [::1]:40000");
}

static int read_node_name(const char *text, void *to, struct cr_err *e)
{
	size_t n = strlen(text);

	for (const char *c = text; *c; c++)
		if (*c <= ' ' || *c > '~')
			n = 0;
	if (n && n < RECORD_NODE_MAX) {
		*(const char **)to = text;
		return 0;
	}
	return cr_fail(e, -EINVAL,
		       "must be 1 to %u printable characters of ASCII, "
		       "without blanks",
		       RECORD_NODE_MAX - 1);
}

static int read_replicate(const char *text, void *to, struct cr_err *e)
{
	struct replica_url url;
	int err = replica_url_parse(&url, text, e);

	if (!err)
		*(const char **)to = text;
	return err;
}

/* --- the table --- */

static const char *const sandbox_names[] = { "on", "strict", "off", NULL };
static const char *const expired_names[] = { "drop", "conceal", NULL };

static const struct field_word coalesce_words[] = {
	{ "auto", RX_COALESCE_AUTO }, { 0 }
};
static const struct field_word queue_words[] = {
	{ "auto", PLACEMENT_QUEUES_AUTO },
	{ "global", PLACEMENT_QUEUES_GLOBAL },
	{ "partitioned", 1 },
	{ 0 },
};
static const struct field_word age_words[] = {
	{ "auto", CORE_AGE_AUTO }, { "none", 0 }, { "never", 0 }, { 0 }
};
static const struct field_word wait_words[] = { { "auto", 0 }, { 0 } };

/* clang-format off */
#define AT(m) FIELD_IN(struct runner_options, m)
#define NODE(m) AT(service.node.m)
#define READ(m, f) .offset = offsetof(struct runner_options, m), .read = f
/* clang-format on */

static const struct field rows[] = {
	OPT_HEADING("Network"),
	OPT(FIELD_TEXT, "rtp", "ADDR:PORT[!ADVERTISED]",
	    "UDP address that receives speech; port 0 takes any free one. "
	    "ADVERTISED is the address that peers see, if it differs, as "
	    "behind NAT.",
	    READ(service.node, read_rtp), .without = "127.0.0.1:40000"),
	OPT(FIELD_TEXTS, "interface", "[NAME/]ADDR[!ADVERTISED]",
	    "Address for calls with ports of their own, which call.start "
	    "chooses by NAME or by the family of its peer's address. Repeat it "
	    "for IPv4 and IPv6 or for several networks. Default: the address "
	    "of --rtp."),
	OPT(FIELD_TEXT, "rtp-ports", "FROM-TO",
	    "Range of these ports at each interface: a call has an even port "
	    "for RTP and the odd one above it for RTCP. Default: ports from "
	    "the kernel.",
	    READ(service.node.rtp_ports, read_rtp_ports)),
	OPT(FIELD_TEXT, "send-to", "ADDR[/BITS],...",
	    "Hosts and networks that parties may be at: packets go to no "
	    "others. Default: all but multicast, reserved and link-local "
	    "addresses; loopback only from loopback. The daemon never sends to "
	    "its own control ports.",
	    READ(send_to, read_send_to)),
	OPT(FIELD_TIME, "rtcp-interval", NULL,
	    "How often, on average, an endpoint that has RTCP reports to its "
	    "party "
	    "(RFC 3550, 6.2).",
	    NODE(rtcp_interval), .dflt = 5 * CR_SEC, .min = 100 * CR_MS,
	    .max = 600 * CR_SEC, .flags = FIELD_LIVE),
	OPT(FIELD_TEXT, "tos", "NUMBER|NAME",
	    "Differentiated services field (TOS octet, IPv6 traffic class) of "
	    "the packets sent: a number such as 184 or 0xb8, or the name of a "
	    "DSCP such as EF or AF41. Default: 0.",
	    READ(service.node.tos, read_tos)),
	OPT(FIELD_TEXT, "control", "ADDR:PORT|off",
	    "SCTP address of the control protocol. Its clients need the key. "
	    "off: none, for nodes with --control-socket or --ng.",
	    READ(service.listen, read_control), .without = "127.0.0.1:5555"),
	OPT(FIELD_TEXT, "control-key", "FILE",
	    "File with the key of SCTP clients in its first line; a client "
	    "with the key may do everything. A missing file is created. It "
	    "must belong to root or to the user that starts the daemon, and be "
	    "readable by these and a group only. Default: "
	    "~/.codec-runner/control.key, where codec-ctl and codec-feeder of "
	    "the same user find it.",
	    AT(control_key)),
	OPT(FIELD_CHOICE, "sctp", NULL,
	    "SCTP stack: the kernel's, the built-in one over UDP (RFC 6951), "
	    "or the first that works.",
	    AT(service.transport), .names = transport_kind_names),
	OPT(FIELD_INT, "udp-port", "PORT",
	    "UDP port that carries SCTP when the built-in stack is used.",
	    AT(service.listen.udp_port), .dflt = TRANSPORT_UDP_PORT, .min = 1,
	    .max = 65535),
	OPT(FIELD_TIME, "peer-timeout", NULL,
	    "An SCTP client that is silent for longer counts as lost; one that "
	    "stalls for less keeps its association. Clients have the same "
	    "option.",
	    AT(service.peer_timeout), .dflt = TRANSPORT_PEER_TIMEOUT,
	    .min = TRANSPORT_PEER_TIMEOUT_MIN,
	    .max = TRANSPORT_PEER_TIMEOUT_MAX),
	OPT(FIELD_TEXT, "control-socket", "PATH",
	    "Accept the control protocol at this Unix socket, too, with one "
	    "JSON object a line. Its mode is 0660: all clients that may write "
	    "to it may do everything.",
	    READ(service.listen_too, read_control_socket)),
	OPT(FIELD_TEXT, "ng", "[ADDR:]PORT",
	    "Take requests of the NG protocol, by which telephone systems "
	    "(Kamailio, OpenSIPS and others) drive media proxies, at this "
	    "address: UDP and TCP. A port alone is one of 127.0.0.1. It has no "
	    "password: elsewhere than on loopback it needs --ng-allow, and a "
	    "closed network.",
	    AT(ng.address)),
	OPT(FIELD_TEXT, "ng-allow", "ADDR[/BITS],...",
	    "Hosts and networks that may send NG requests; nothing is read "
	    "from others. Default, on loopback: 127.0.0.0/8,::1.",
	    .flags = FIELD_LIVE),
	OPT(FIELD_TIME, "ng-silence", NULL,
	    "Answered calls of NG end after this time without a packet.",
	    AT(ng.silence), .dflt = NG_SILENCE, .min = 100 * CR_MS,
	    .max = 7 * 86400 * CR_SEC, .flags = FIELD_LIVE),
	OPT(FIELD_TIME, "ng-patience", NULL,
	    "Unanswered calls of NG end after this time, even if packets come.",
	    AT(ng.patience), .dflt = NG_PATIENCE, .min = 100 * CR_MS,
	    .max = 86400 * CR_SEC, .flags = FIELD_LIVE),
	OPT(FIELD_INT, "ng-lines", "N",
	    "Largest number of media lines of all NG calls. Each takes two "
	    "ports and four descriptors. An offer beyond that gets the load "
	    "limit.",
	    AT(ng.most.lines), .dflt = NG_LINES, .min = 1, .max = 1000000,
	    .flags = FIELD_LIVE),
	OPT(FIELD_INT, "ng-host-lines", "N",
	    "Largest number of media lines of one host's calls.",
	    AT(ng.most.lines_of_host), .dflt = NG_HOST_LINES, .min = 1,
	    .max = 1000000, .flags = FIELD_LIVE),
	OPT(FIELD_INT, "ng-call-lines", "N",
	    "Largest number of media lines of one call; further ones of a "
	    "description are refused.",
	    AT(ng.most.lines_of_call), .dflt = NG_CALL_LINES, .min = 1,
	    .max = SDP_LINES_MAX, .flags = FIELD_LIVE),
	OPT(FIELD_INT, "ng-host-offers", "N",
	    "Largest number of unanswered offers of one host. Where these, "
	    "ports or lines run short, offers end that have been unanswered "
	    "for a sixteenth of --ng-patience, the oldest first.",
	    AT(ng.most.offers_of_host), .dflt = NG_HOST_OFFERS, .min = 1,
	    .max = 1000000, .flags = FIELD_LIVE),
	OPT(FIELD_TEXT, "http", "ADDR:PORT",
	    "Serve a live view at this address: a page, /state and "
	    "/history (JSON), /metrics (Prometheus), /healthz, /readyz. It "
	    "has no password: use 127.0.0.1 or a network that you trust.",
	    READ(http, read_http)),
	OPT(FIELD_INT, "http-connections", "N",
	    "Largest number of its connections at a time, at most a quarter of "
	    "the process's descriptors. Another one waits; a connection that "
	    "is 5 s old is closed for it.",
	    AT(http_connections), .dflt = 64, .min = 1, .max = 10000),
	OPT(FIELD_BOOL, "http-control", NULL,
	    "The page may switch the scheduler.", AT(http_control),
	    .flags = FIELD_LIVE),
	OPT(FIELD_CHOICE, "io", NULL,
	    "How to receive and send packets: by io_uring (Linux 6.1 or "
	    "later), by epoll, recvmmsg and sendmmsg, or by the first that "
	    "works.",
	    NODE(io), .names = udp_io_names),
	OPT(FIELD_TIME, "rx-coalesce", "auto|TIME",
	    "How long a receiver sleeps after it has taken all packets: fewer "
	    "wake-ups, but up to that much more delay. 0s: it does not sleep. "
	    "auto: it does not while its CPU has time to spare; the busier "
	    "that CPU, the further apart its polls, up to 1.5 ms.",
	    NODE(coalesce), .words = coalesce_words, .dflt = RX_COALESCE_AUTO,
	    .min = 0, .max = 10 * CR_MS, .without = "auto"),

	OPT_HEADING("Scheduling"),
	{ .kind = FIELD_TEXT,
	  .name = "scheduler",
	  .letter = 's',
	  .label = "NAME[,KEY=VALUE...]",
	  .help = "Scheduling policy. It can also be the path of a shared "
		  "object (./mine.so), or kernel:NAME, a scheduler of the "
		  "kernel as a baseline. See --schedulers.",
	  NODE(scheduler),
	  .without = "edf",
	  .flags = FIELD_LIVE },
	OPT(FIELD_TEXT, "plugin-dir", "DIR",
	    "Folder from which clients may load policies by name (mine.so), "
	    "with scheduler.set of the control protocol.",
	    AT(service.plugin_dir), .flags = FIELD_LIVE),
	{ .kind = FIELD_INT,
	  .name = "workers",
	  .letter = 'w',
	  .label = "N",
	  .help = "Number of worker threads. Default: one for each CPU of "
		  "--pin, else one for each CPU but the receivers'.",
	  AT(place.workers),
	  .min = 1,
	  .max = CR_MAX_CPUS,
	  .without = "" },
	OPT(FIELD_TEXT, "pin", "LIST",
	    "CPUs that the workers are pinned to, such as 1,4-7; or none. The "
	    "daemon's other threads do not run there. By default those threads "
	    "have only the receivers' CPUs.",
	    .without = ""),
	{ .kind = FIELD_INT,
	  .name = "receivers",
	  .label = "N",
	  .help = "Number of receiver threads. They share calls with ports of "
		  "their own in turn, calls at the shared port by their SSRC. "
		  "Default: one for each CPU of --rx-cpu, else one for every 8 "
		  "workers.",
	  AT(place.receivers),
	  .min = 1,
	  .max = NODE_RECEIVERS_MAX,
	  .without = "" },
	OPT(FIELD_TEXT, "rx-cpu", "LIST",
	    "CPUs that the receivers are pinned to, in turn: more receivers "
	    "than CPUs share them. Or none. Default: CPUs that no worker has, "
	    "spread over the caches.",
	    .without = ""),
	OPT(FIELD_INT, "run-queues", "DOMAINS",
	    "global: all workers share one run queue; partitioned: each has "
	    "its own; a number: that many workers share one; auto: up to 8 "
	    "workers share one; more, if they are pinned, have one for each "
	    "last-level cache, for 4 to 32 workers.",
	    AT(place.run_queues), .words = queue_words,
	    .dflt = PLACEMENT_QUEUES_AUTO, .min = 1, .max = CR_MAX_CPUS,
	    .without = "auto"),
	OPT(FIELD_BOOL, "poll", NULL,
	    "Idle workers spin instead of sleeping: less delay, but a busy "
	    "CPU. Use it where nothing else runs on the workers' CPUs: a CPU "
	    "that sleeps between frames may wake up at a lower clock frequency "
	    "and keep it for milliseconds.",
	    NODE(poll)),
	OPT(FIELD_BOOL, "send-each", NULL,
	    "Send every packet by itself at once. Otherwise a worker with more "
	    "work gathers packets for up to 0.25 ms, which saves most of the "
	    "cost of system calls. Workers that share a run queue never "
	    "gather.",
	    NODE(send_each)),
	OPT(FIELD_BOOL, "realtime", NULL,
	    "Give the receivers real-time priority (needs CAP_SYS_NICE), so "
	    "that workers cannot starve them.",
	    NODE(realtime)),
	OPT(FIELD_BOOL, "realtime-workers", NULL,
	    "Give the workers real-time priority, too, below the receivers' "
	    "(implies --realtime), so that programs without one do not delay "
	    "frames; otherwise a node that needs a hundredth of a core can "
	    "wait for tenths of a second on a busy machine. Leave a core to "
	    "everything else: a worker that never rests (overload, "
	    "conversions) has its core to itself, except for some 50 ms of "
	    "each second in which the kernel runs other threads, and frames "
	    "wait. Schedulers of the kernel have priorities of their own.",
	    NODE(realtime_workers)),

	OPT(FIELD_TIME, "watchdog", NULL,
	    "If a call's frames wait for this time while a worker has nothing "
	    "to do, the call is released again; if that does not help, fifo "
	    "replaces the scheduler. If a worker is in one frame for this "
	    "time, it is replaced, and the call is ended (reason \"hung\"). At "
	    "least 100ms; 0: neither.",
	    NODE(watchdog), .dflt = 2 * CR_SEC, .flags = FIELD_ZERO,
	    .min = 100 * CR_MS, .max = 3600 * CR_SEC),

	OPT_HEADING("Calls"),
	OPT(FIELD_BOOL, "no-admission", NULL,
	    "Accept every call, even beyond the capacity (for overload "
	    "experiments).",
	    NODE(admission), .flags = FIELD_OFF | FIELD_LIVE),
	OPT(FIELD_SHARE, "capacity", "SHARE",
	    "Share of each worker that admission may fill.", NODE(capacity_ppm),
	    .dflt = 970000, .min = 1, .max = CR_PPM, .flags = FIELD_LIVE),
	OPT(FIELD_INT, "max-calls", "N", "Largest number of calls at a time.",
	    NODE(max_calls), .dflt = 100000, .min = 1, .max = 10000000,
	    .flags = FIELD_LIVE),
	OPT(FIELD_INT, "memory-reserve", "MIB",
	    "If limits of memory (RLIMIT_AS, RLIMIT_DATA) leave less than "
	    "this, new calls, endpoints and conversions are refused, so that "
	    "present ones can continue.",
	    NODE(memory_reserve), .dflt = 64, .min = 0, .max = 1 << 20,
	    .flags = FIELD_LIVE),
	OPT(FIELD_INT, "ring", "FRAMES",
	    "Number of frames that may wait for each stream. Beyond it, a new "
	    "frame replaces the oldest.",
	    NODE(ring_frames), .dflt = 8, .min = 2, .max = 4096,
	    .flags = FIELD_LIVE),
	OPT(FIELD_TIME, "max-age", "auto|none|TIME",
	    "Frames that are older than this when their turn comes are not "
	    "transcoded. auto: older than four times their call's deadline or "
	    "packet time, 90 ms at most, and late; of best-effort calls, older "
	    "than 90 ms. none or 0: there is no limit.",
	    NODE(max_age), .words = age_words, .dflt = CORE_AGE_AUTO, .min = 0,
	    .max = 60 * CR_SEC, .without = "auto", .flags = FIELD_LIVE),
	OPT(FIELD_CHOICE, "expired", NULL,
	    "What becomes of these frames: they are dropped, or replaced by "
	    "NO_DATA or concealment.",
	    NODE(expired), .names = expired_names, .flags = FIELD_LIVE),
	OPT(FIELD_CHOICE, "shed", NULL,
	    "Which frames are dropped in overload. age: those that are too old "
	    "(--max-age), no others. pattern, quiet: some of each call before "
	    "that, ever more the longer frames wait, so that none waits long: "
	    "evenly spaced ones; or pauses first, then the quietest speech, as "
	    "far as a payload shows it (PCMU, PCMA, L16, AMR 12.2 and 7.95; "
	    "SID and the like of others). Never digits, nor frames that "
	    "conceal a lost packet. Nothing is dropped while no frame of its "
	    "class waits for --shed-wait.",
	    NODE(shed.kind), .dflt = SHED_QUIET, .names = shed_names,
	    .flags = FIELD_LIVE),
	OPT(FIELD_TIME, "shed-wait", "auto|TIME",
	    "How long frames wait before --shed may drop any. auto: the longer "
	    "of its call's packet time and deadline, of best-effort calls the "
	    "packet time.",
	    NODE(shed.wait), .words = wait_words, .min = SHED_WAIT_MIN,
	    .max = SHED_WAIT_MAX, .without = "auto", .flags = FIELD_LIVE),
	OPT(FIELD_TEXTS, "codec", "FILE", CODEC_OPTION_HELP),
	OPT(FIELD_CHOICE, "codec-kernels", NULL,
	    "Functions inside the codec libraries: the libraries' own (stock); "
	    "ours for CPUs with AVX2, which are faster, with bit-identical "
	    "output (avx2); or the fastest that the CPU can run (auto).",
	    AT(kernels), .names = cr_kernels_names),
	OPT(FIELD_TIME, "grace", NULL,
	    "How long calls go on after the control connection of their "
	    "client is lost. A client that is silent counts as lost after "
	    "--peer-timeout.",
	    AT(service.grace), .dflt = 5 * CR_SEC, .min = 0,
	    .max = 3600 * CR_SEC, .flags = FIELD_LIVE),
	OPT(FIELD_TIME, "drain-timeout", NULL,
	    "How long calls may go on after SIGTERM, SIGINT or drain of the "
	    "control protocol. A second signal ends them at once.",
	    AT(service.drain_limit), .dflt = 10 * CR_SEC, .min = 0,
	    .max = 86400 * CR_SEC, .flags = FIELD_LIVE),

	OPT(FIELD_BOOL, "supervise", NULL,
	    "Run the daemon as the child of a process that only holds its "
	    "sockets, and that starts it again when it dies by a signal or no "
	    "longer answers: at once, then after 0.1 s, doubled to 10 s, until "
	    "it lives for 10 s. Exit codes and signals are passed on. It is "
	    "not needed under systemd with FileDescriptorStoreMax=.",
	    AT(supervise), .flags = FIELD_COMMAND_LINE),
	OPT(FIELD_TEXT, "upgrade-to", "PATTERN",
	    "With --supervise: programs that codec-ctl upgrade may name, as "
	    "/opt/runner-*/bin/codec-runner, where * is no / and no . at a "
	    "name's begin. Default: only the one at the path of this one.",
	    AT(upgrade_to), .flags = FIELD_COMMAND_LINE),

	OPT(FIELD_TEXT, "replicate", "URL",
	    "Copy the calls to this store, from which another node takes them "
	    "if this machine dies: redis://[USER:PASSWORD@]HOST[:PORT][/DB]"
	    "[?name=NODE], Redis or Valkey, rediss:// with TLS (&ca=FILE). "
	    "%XX stands for a character. NODE is this node's name there; "
	    "default: --node-name. Nothing waits for the store.",
	    READ(replicate, read_replicate), .flags = FIELD_SECRET),
	OPT(FIELD_TIME, "replicate-interval", NULL,
	    "How often changes are copied.", AT(replicate_interval),
	    .dflt = 100 * CR_MS, .min = 10 * CR_MS, .max = 10 * CR_SEC),
	OPT(FIELD_TEXT, "standby-of", "NODE",
	    "Take the calls of this node from the store of --replicate when "
	    "codec-ctl takeover says so. Addresses of --rtp and --interface "
	    "need not be this machine's before that.",
	    READ(standby_of, read_node_name)),

	OPT_HEADING("Conversions"),
	OPT(FIELD_TEXT, "spool", "DIR",
	    "Folder whose files clients may convert, with convert.start of the "
	    "control protocol (codec-ctl convert). Conversions are "
	    "best-effort work under the same scheduler. Only one daemon at a "
	    "time can use a folder.",
	    NODE(convert.dir)),
	OPT(FIELD_INT, "max-conversions", "N",
	    "Largest number of conversions that wait or run.",
	    NODE(convert.max), .dflt = 1000, .min = 1, .max = 100000,
	    .flags = FIELD_LIVE),
	OPT(FIELD_INT, "conversions", "N",
	    "Largest number of conversions that run at a time. They have an "
	    "eighth of the descriptors at most, two each.",
	    NODE(convert.running), .dflt = 32, .min = 1, .max = 1024,
	    .flags = FIELD_LIVE),
	OPT(FIELD_INT, "convert-max-mib", "MIB",
	    "Largest file that is converted.", NODE(convert.max_bytes),
	    .dflt = 1024, .min = 1, .max = 1 << 20),
	OPT(FIELD_INT, "convert-floor", "FRAMES",
	    "Frames a second that each running conversion gets even if calls "
	    "need the CPU, under schedulers with deadlines. The conversion is "
	    "admitted as a soft task of that rate, and waits until there is "
	    "room. 0: conversions get the calls' spare time.",
	    NODE(convert.floor), .min = 0, .max = 1000, .flags = FIELD_LIVE),

	OPT_HEADING("Output"),
	OPT(FIELD_TEXT, "trace", "FILE", "Write a record of every frame.",
	    AT(trace)),
	OPT(FIELD_TEXT, "trace-dir", "DIR",
	    "Folder to which clients may write traces, with trace.start of the "
	    "control protocol.",
	    AT(service.trace_dir), .flags = FIELD_LIVE),
	OPT(FIELD_INT, "trace-records", "N",
	    "Number of records that may wait in each thread for the writer of "
	    "the trace.",
	    NODE(trace_records), .dflt = 65536, .min = 1024, .max = 1 << 24),
	OPT(FIELD_TEXT, "records", "FILE",
	    "Append a line of JSON for each call that ends: parties, codecs, "
	    "times, losses, delay, MOS, the reason of its end and who ended "
	    "it. SIGHUP opens the file again, and that of --log-file.",
	    AT(records)),
	OPT(FIELD_TIME, "records-interim", NULL,
	    "Also append a line for each running call, within a second of its "
	    "start and at this interval: a crash loses no call, and this time "
	    "of it at most. At least 1s; 0: none.",
	    AT(service.records_interim), .min = CR_SEC, .max = 86400 * CR_SEC,
	    .flags = FIELD_ZERO | FIELD_LIVE),
	OPT(FIELD_TEXT, "crash-dir", "DIR",
	    "With --supervise or a service manager that holds descriptors: "
	    "save the payload there that a worker was in when the process "
	    "died, for whoever mends the codec. It is speech of a party: only "
	    "this user may read the file. At most 100 files.",
	    AT(service.node.crash_dir)),
	OPT(FIELD_TEXT, "node-name", "NAME",
	    "This node's name in records. Default: the name of the host.",
	    READ(service.node.name, read_node_name)),
	OPT(FIELD_TEXT, "log-file", "FILE", "Log there instead of stderr.",
	    AT(log_file)),
	OPT(FIELD_CHOICE, "log-format", NULL,
	    "How entries of the log look. text: a line of key=value pairs; "
	    "json: a JSON object a line; journal: an entry of systemd's "
	    "journal, with a field for each pair (CR_EVENT, CR_CALL, ...), by "
	    "its own socket. auto: journal, if stderr is the journal and there "
	    "is no --log-file; else text.",
	    AT(log_format), .names = log_format_names),
	OPT(FIELD_CHOICE, "log-level", NULL, "How much to log.", AT(log_level),
	    .dflt = LOG_INFO, .names = log_level_names, .flags = FIELD_LIVE),
	OPT(FIELD_BOOL, "schedulers", NULL,
	    "List the schedulers with their options, first the plug-in that "
	    "--scheduler names, and exit.",
	    AT(show_schedulers), .flags = FIELD_COMMAND_LINE),
	OPT(FIELD_BOOL, "codecs", NULL,
	    "Measure and list the cost of a frame of each codec on this "
	    "machine, and exit.",
	    AT(show_codecs), .flags = FIELD_COMMAND_LINE),
	OPT(FIELD_TIME, "seconds", NULL, "Time that --codecs may take.",
	    AT(seconds), .dflt = 10 * CR_SEC, .min = 100 * CR_MS,
	    .max = 3600 * CR_SEC, .flags = FIELD_COMMAND_LINE),
	OPT(FIELD_TEXT, "plan", "MIX",
	    "Measure how many calls of a mix this machine carries, with the "
	    "other options as given, and exit. MIX is a list of A<->B for "
	    "calls of both directions, or A->B for one, of codecs with their "
	    "modes, and shares: \"pcma<->amr-wb, opus/24<->pcmu:30%\". Calls "
	    "without a share have the rest.",
	    AT(plan), .flags = FIELD_COMMAND_LINE),
	OPT(FIELD_BOOL, "json", NULL,
	    "Print the output of --codecs, --schedulers and --plan as JSON.",
	    AT(json), .flags = FIELD_COMMAND_LINE),

	OPT_HEADING("Rights"),
	OPT(FIELD_TEXT, "user", "NAME",
	    "Started by root, become this user, with its groups, before ports, "
	    "sockets and files are opened, except those of options and codecs. "
	    "CAP_SYS_NICE is kept if --realtime, --realtime-workers or a "
	    "scheduler of the kernel needs it.",
	    .without = ""),
	OPT(FIELD_CHOICE, "sandbox", NULL,
	    "on: system calls that the daemon does not need fail, and those of "
	    "an intruder, such as executing a program, end it (seccomp). "
	    "strict: all of them end it, for tests. With --io epoll, those of "
	    "io_uring are not needed.",
	    AT(sandbox), .names = sandbox_names),

	OPT_HEADING("Configuration", .flags = FIELD_COMMAND_LINE),
	OPT(FIELD_TEXT, "config", "FILE|none",
	    "Read options from this file, codec-runner.conf(5). "
	    "Default: " RUNNER_CONFIG
	    ", if it exists. The command line replaces the file's values; "
	    "--NAME=no unsets a flag. SIGHUP reads the file again.",
	    .flags = FIELD_COMMAND_LINE),
	OPT(FIELD_BOOL, "check-config", NULL,
	    "Print the errors of the file and the command line, and exit. No "
	    "port and no file that they name is opened, but schedulers and "
	    "codecs of shared objects are loaded.",
	    AT(check), .flags = FIELD_COMMAND_LINE),
	OPT(FIELD_BOOL, "dump-config", NULL,
	    "Print the effective options, each with its origin, as such a "
	    "file, and exit.",
	    AT(dump), .flags = FIELD_COMMAND_LINE),
	OPT(FIELD_BOOL, "example-config", NULL,
	    "Print a file with every option, its help and its default, all as "
	    "comments, and exit.",
	    AT(show_example), .flags = FIELD_COMMAND_LINE),
	{ .kind = FIELD_BOOL,
	  .name = "man-config",
	  AT(show_page),
	  .flags = FIELD_COMMAND_LINE },
	{ .name = NULL },
};

static const struct cli_line examples[] = {
	{ "codec-runner", "serve on loopback with EDF on all CPUs but one" },
	{ "codec-runner -s rr,quantum=2ms -w 1 --pin 1 --rx-cpu 0",
	  "round robin on one worker, pinned to CPU 1" },
	{ "codec-runner --trace run.trace --no-admission",
	  "record every frame, refuse no call" },
	{ "codec-runner --control-socket /run/codec-runner.sock",
	  "let local programs in any language control the daemon" },
	{ "codec-runner --config ./node.conf --check-config",
	  "print the errors of a file of options" },
	{ "codec-runner --codecs", "show the codecs' costs on this machine" },
	{ "codec-runner --plan 'pcma<->amr-wb, opus<->pcmu:30%'",
	  "how many such calls this machine carries" },
	{ NULL, NULL },
};

static const struct cli_line exits[] = {
	{ "0", "drained after SIGTERM or SIGINT, traces flushed" },
	{ "1", "could not start: address in use, no memory, no such file; or a "
	       "receiver failed" },
	{ "2", "wrong option, or a wrong or missing file of options" },
	{ "3", "as 0, but a thread was stuck in a codec and was left behind" },
	{ "128+N", "with --supervise: signal N ended the daemon after it was "
		   "asked to end" },
	{ NULL, NULL },
};

static const struct cli rows_cli = {
	.program = "codec-runner",
	.synopsis = "[OPTION]...",
	.summary = "transcode speech calls under a scheduler of choice",
	.text = "Receives speech frames in RTP over UDP, transcodes them on "
		"pinned worker threads in the order that a scheduling policy "
		"decides, and sends the result on. Calls are set up over SCTP "
		"with JSON-RPC 2.0, or over a Unix socket: see codec-ctl and "
		"codec-feeder.\n"
		"Once it is ready, it prints one line to stdout that begins "
		"with \"ready\" and names its addresses.",
	.opts = rows,
	.examples = examples,
	.exits = exits,
	.see_also = "codec-runner.conf(5), codec-feeder(1), codec-ctl(1), "
		    "codec-report(1)",
	.has_file = true,
};

/* The options as given at the start. */
static struct config_ask asked;

/* --- together, and on this machine --- */

static const char *option_text(const struct runner_options *o,
			       const char *option)
{
	return config_text(&o->from, config_row(&o->from, option), 0, NULL);
}

/* Value number @i of @option is wrong, if @err says so. */
static void judge(struct runner_options *o, const char *option, unsigned i,
		  int err, const struct cr_err *e)
{
	if (err)
		config_blame(&o->from, option, i, e->text);
}

/* CPUs of --pin or --rx-cpu. NULL: not given, none, or wrong, which is a fault.
 */
static const struct cpu_list *read_cpus(struct runner_options *o,
					const char *option, bool *none,
					struct cpu_list *list,
					const struct cpu_list *allowed)
{
	const char *text = option_text(o, option);
	struct cr_err e;

	*none = text && !strcmp(text, "none");
	if (!text || *none)
		return NULL;
	if (!cpu_list_parse(list, text, &e) &&
	    !cpu_list_within(list, allowed, &e))
		return list;
	config_blame(&o->from, option, 0, e.text);
	return NULL;
}

static void place_threads(struct runner_options *o)
{
	static struct cpu_list allowed;
	struct node_config *node = &o->service.node;
	const struct placement *p = &o->placement;
	unsigned faults = o->from.faults.n;
	struct cpu_list pin, rx;
	struct placement_request request = o->place;
	struct placement_fault f;

	/* read once: later this thread keeps off some CPUs itself */
	if (!allowed.count)
		cpu_list_allowed(&allowed);
	request.pin = read_cpus(o, "pin", &request.pin_none, &pin, &allowed);
	request.rx = read_cpus(o, "rx-cpu", &request.rx_none, &rx, &allowed);
	if (o->from.faults.n != faults)
		return;
	topology_read(&o->topology, TOPOLOGY_ROOT, &allowed);
	if (placement_make(&o->placement, &o->topology, &request, &f)) {
		config_blame(&o->from, f.option, 0, f.why.text);
		return;
	}
	node->workers = p->workers;
	node->pin = p->pin.count ? p->pin.cpu : NULL;
	node->receivers = p->receivers;
	node->rx_cpu = p->rx_cpu;
	node->rq_cpus = p->rq_cpus;
	node->nrq = p->nrq;
	node->topology = &o->topology;
}

static void check_network(struct runner_options *o)
{
	struct node_config *n = &o->service.node;
	const char *acl = option_text(o, "ng-allow");
	const struct field_texts *interfaces =
		&config_given(&o->from, "interface")->text;
	struct cr_err e;
	int err = 0;

	for (unsigned i = 0; i < interfaces->count; i++)
		judge(o, "interface", i,
		      interface_parse(&o->interfaces[i], interfaces->item[i],
				      &e),
		      &e);
	n->interfaces = o->interfaces;
	n->ninterfaces = interfaces->count;
	if (!option_text(o, "send-to"))
		(void)send_to_init(&o->send_to, NULL, &e);
	n->send_to = &o->send_to;
	(void)snprintf(o->control, sizeof(o->control), "%s",
		       option_text(o, "control"));
	if (acl)
		err = networks_read(&o->acl, acl, &e);
	judge(o, "ng-allow", 0, err, &e);
	o->ng.acl = acl ? &o->acl : NULL;
	if (o->ng.address && !err)
		judge(o, "ng", 0,
		      ng_listener_check(o->ng.address, o->ng.acl, &e), &e);
}

/* A wrong value has left the default, which is in order: all errors are found
 * at once. */
static void check_together(struct runner_options *o)
{
	static char host[RECORD_NODE_MAX];
	struct node_config *n = &o->service.node;
	struct cr_err e;

	check_network(o);
	judge(o, "scheduler", 0, scheduler_check(n->scheduler, &e), &e);
	place_threads(o);
	n->realtime |= n->realtime_workers;
	if (n->realtime_workers && runner_uses_kernel(o))
		config_blame(&o->from, "realtime-workers", 0,
			     "with a scheduler of the kernel streams have "
			     "threads in place of workers; kernel:fifo and "
			     "kernel:rr give those a priority");
	n->memory_reserve <<= 20;
	n->convert.max_bytes <<= 20;
	if (o->standby_of && !o->replicate)
		config_blame(&o->from, "standby-of", 0,
			     "needs --replicate, the store where that node's "
			     "calls are");
	if (!n->name) {
		if (gethostname(host, sizeof(host) - 1) || !*host)
			(void)snprintf(host, sizeof(host), "localhost");
		n->name = host;
	}
	if (o->log_file && o->log_format == LOG_JOURNAL)
		config_blame(&o->from, "log-format", 0,
			     "is for the journal: leave log-file out, or take "
			     "text or json");
}

/* Have codecs, kernels and the user that they name. Once, before other threads
 * run. */
static void load_parts(struct runner_options *o)
{
	const struct field_texts *codecs =
		&config_given(&o->from, "codec")->text;
	const char *user = option_text(o, "user");
	struct cr_err e;

	if (user)
		judge(o, "user", 0, user_find(&o->user, user, &e), &e);
	for (unsigned i = 0; i < codecs->count; i++)
		judge(o, "codec", i, codec_plugin_load(codecs->item[i], &e),
		      &e);
	judge(o, "codec-kernels", 0, cr_kernels_choose(o->kernels, &e), &e);
}

bool runner_supervised(int argc, char **argv, const char **upgrade_to)
{
	static const struct field flag = { .kind = FIELD_BOOL };
	const char *value = cli_peek(&rows_cli, argc, argv, "supervise");
	int64_t on = 1;

	*upgrade_to = cli_peek(&rows_cli, argc, argv, "upgrade-to");
	/* a wrong value is for the daemon to refuse */
	if (value && *value && !field_read_number(&flag, value, &on))
		return false;
	return value && on;
}

bool runner_uses_kernel(const struct runner_options *o)
{
	static const char kernel[] = "kernel:";

	return !strncmp(o->service.node.scheduler, kernel, sizeof(kernel) - 1);
}

/* --- reading --- */

int runner_options_again(struct runner_options *o)
{
	asked.vars = o;
	(void)config_read(&o->from, &asked);
	check_together(o);
	return o->from.faults.n ? -EINVAL : 0;
}

_Noreturn static void end_printing(void)
{
	exit(cli_flush(rows_cli.program));
}

void runner_options_parse(struct runner_options *o, int argc, char **argv)
{
	struct cr_err e = { "" };
	const char *path;

	if (cli_asked(&rows_cli, argc, argv))
		end_printing();
	path = cli_peek(&rows_cli, argc, argv, "config");
	asked = (struct config_ask){ .cli = &rows_cli,
				     .argc = argc,
				     .argv = argv,
				     .path = path ? path : RUNNER_CONFIG,
				     .must = path != NULL };
	if (path && !strcmp(path, "none"))
		asked.path = NULL;
	(void)runner_options_again(o);
	/* output of the table alone, whatever the file says */
	if (o->show_example)
		config_print_example(&rows_cli, stdout);
	else if (o->show_page)
		config_print_page(&rows_cli, RUNNER_CONFIG, stdout);
	if (o->show_example || o->show_page)
		end_printing();
	if (!o->from.faults.n)
		load_parts(o);
	if (o->from.faults.n) {
		config_faults_print(&o->from.faults, rows_cli.program, stderr);
		(void)fprintf(stderr, "Try '%s --help'.\n", rows_cli.program);
		exit(2);
	}
	/* that file has to be there from now on, too */
	asked.must = o->from.path != NULL;
	if (!o->dump && !o->check)
		return;
	if (!o->dump)
		printf("%s: in order\n",
		       o->from.path ? o->from.path : "no file; command line");
	else if (config_print(&o->from, stdout, &e)) {
		(void)fflush(stdout);
		(void)fprintf(stderr, "%s: %s\n", rows_cli.program, e.text);
		exit(2);
	}
	end_printing();
}

void runner_options_free(struct runner_options *o)
{
	config_free(&o->from);
}
