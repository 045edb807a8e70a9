/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec-runner's options: the table and its defaults, and their reading: once
 * at the start, and again. There is one set of variables, which reading fills
 * and rows_fill() makes sense of. Main thread.
 */
#include "app/runner/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/codec_option.h"
#include "app/runner/values.h"
#include "codecs/kernels/kernels.h"
#include "cr/sched.h"
#include "observe/log.h"

/* What the table writes. */
static struct raw raw = {
	.rtp = "127.0.0.1:40000",
	.control = "127.0.0.1:5555",
	.scheduler = "edf",
	.run_queues = "auto",
	.coalesce = "auto",
	.udp_port = 9899,
	.ring = 8,
	.max_age = "auto",
	.shed = SHED_QUIET,
	.shed_wait = "auto",
	.capacity = 970000,
	.watchdog = 2 * CR_SEC,
	.trace_records = 65536,
	.max_calls = 100000,
	.memory_mib = 64,
	.peer_timeout = TRANSPORT_PEER_TIMEOUT,
	.rtcp_interval = 5 * CR_SEC,
	.ng_silence = NG_SILENCE,
	.ng_patience = NG_PATIENCE,
	.ng_lines = NG_LINES,
	.ng_host_lines = NG_HOST_LINES,
	.ng_call_lines = NG_CALL_LINES,
	.ng_host_offers = NG_HOST_OFFERS,
	.grace = 5 * CR_SEC,
	.drain_timeout = 10 * CR_SEC,
	.http_connections = 64,
	.log_level = 2,
	.seconds = 10 * CR_SEC,
	.max_conversions = 1000,
	.conversions = 32,
	.convert_mib = 1024,
	.admission = true,
};

static const char *const sctp_names[] = { "auto", "kernel", "user", NULL };
static const char *const sandbox_names[] = { "on", "strict", "off", NULL };
static const char *const expired_names[] = { "shed", "conceal", NULL };

/* clang-format off */
#define ROW(k, n, a, h, m, ...)                                                \
	{ .kind = k, .name = n, .arg = a, .help = h, m, __VA_ARGS__ }
/* clang-format on */

static const struct cli_opt rows[] = {
	ROW(CLI_SECTION, NULL, NULL, "Network", .flag = NULL),
	ROW(CLI_STRING, "rtp", "ADDR:PORT[!ADVERTISED]",
	    "UDP address that speech frames come to; port 0 takes any free "
	    "one. ADVERTISED is the address that peers are told, if it is "
	    "another one, as behind NAT.",
	    .text = &raw.rtp),
	ROW(CLI_LIST, "interface", "[NAME/]ADDR[!ADVERTISED]",
	    "Address for calls with ports of their own, which call.start asks "
	    "for by NAME or by the family of its peer's address. Give it "
	    "several times for IPv4 and IPv6 or for several networks. "
	    "Default: the address of --rtp.",
	    .list = &raw.interfaces),
	ROW(CLI_STRING, "rtp-ports", "FROM-TO",
	    "Range of these ports at each interface: a call has an even port "
	    "for RTP and the odd one above it for RTCP. Default: any port that "
	    "the kernel gives.",
	    .text = &raw.rtp_ports),
	ROW(CLI_STRING, "send-to", "ADDR[/BITS],...",
	    "Hosts and networks that parties may be at: packets go to no "
	    "others. Default: everywhere but to multicast, reserved and "
	    "link-local addresses, and to loopback only from there. The "
	    "daemon's own control ports are never sent to.",
	    .text = &raw.send_to),
	ROW(CLI_TIME, "rtcp-interval", NULL,
	    "How often, on average, an endpoint that has RTCP reports to its "
	    "party "
	    "(RFC 3550, 6.2).",
	    .number = &raw.rtcp_interval, .min = 100 * CR_MS,
	    .max = 600 * CR_SEC, .flags = CLI_LIVE),
	ROW(CLI_STRING, "tos", "NUMBER|NAME",
	    "Differentiated services field (TOS octet, IPv6 traffic class) of "
	    "the packets sent: a number such as 184 or 0xb8, or the name of a "
	    "DSCP such as EF or AF41. Default: 0.",
	    .text = &raw.tos, .dflt = ""),
	ROW(CLI_STRING, "control", "ADDR:PORT|off",
	    "SCTP address of the control protocol. Its clients need the key. "
	    "off: none, for nodes with --control-socket or --ng.",
	    .text = &raw.control),
	ROW(CLI_STRING, "control-key", "FILE",
	    "File whose first line is the key that SCTP clients have to show: "
	    "who knows it may do everything. If it is not there, it is made. "
	    "It must be root's or the user's that starts the daemon, and "
	    "nobody but a group may read it. Default: ~/.codec-runner/"
	    "control.key, where codec-ctl and codec-feeder of the same user "
	    "find it.",
	    .text = &raw.control_key, .dflt = ""),
	ROW(CLI_ENUM, "sctp", NULL,
	    "SCTP stack: the kernel's, the built-in one over UDP (RFC 6951), "
	    "or the first that works.",
	    .number = &raw.sctp, .names = sctp_names),
	ROW(CLI_INT, "udp-port", "PORT",
	    "UDP port that carries SCTP when the built-in stack is used.",
	    .number = &raw.udp_port, .min = 1, .max = 65535),
	ROW(CLI_TIME, "peer-timeout", NULL,
	    "An SCTP client that is silent for longer counts as lost; one that "
	    "stalls for less keeps its association. Clients have the same "
	    "option.",
	    .number = &raw.peer_timeout, .min = TRANSPORT_PEER_TIMEOUT_MIN,
	    .max = TRANSPORT_PEER_TIMEOUT_MAX),
	ROW(CLI_STRING, "control-socket", "PATH",
	    "Accept the control protocol at this Unix socket, too, with one "
	    "JSON object a line. Its mode is 0660: whoever may write to it "
	    "may do everything.",
	    .text = &raw.socket, .dflt = ""),
	ROW(CLI_STRING, "ng", "[ADDR:]PORT",
	    "Take requests of the NG protocol, by which telephone systems "
	    "(Kamailio, OpenSIPS and others) drive media proxies, at this "
	    "address: UDP and TCP. A port alone is one of 127.0.0.1. It has no "
	    "password: elsewhere than at loopback it needs --ng-allow, and a "
	    "closed network.",
	    .text = &raw.ng, .dflt = ""),
	ROW(CLI_STRING, "ng-allow", "ADDR[/BITS],...",
	    "Hosts and networks that may ask by NG; nothing of others is read. "
	    "Default, at loopback: 127.0.0.0/8,::1.",
	    .text = &raw.ng_allow, .dflt = "", .flags = CLI_LIVE),
	ROW(CLI_TIME, "ng-silence", NULL,
	    "Calls of NG that were answered end when no packet has come for so "
	    "long.",
	    .number = &raw.ng_silence, .min = 100 * CR_MS,
	    .max = 7 * 86400 * CR_SEC, .flags = CLI_LIVE),
	ROW(CLI_TIME, "ng-patience", NULL,
	    "Those that nobody has answered end after so long without a "
	    "packet.",
	    .number = &raw.ng_patience, .min = 100 * CR_MS,
	    .max = 86400 * CR_SEC, .flags = CLI_LIVE),
	ROW(CLI_INT, "ng-lines", "N",
	    "Media lines that all calls of NG may have. Each takes two ports "
	    "and four descriptors. An offer beyond that is told the load "
	    "limit.",
	    .number = &raw.ng_lines, .min = 1, .max = 1000000,
	    .flags = CLI_LIVE),
	ROW(CLI_INT, "ng-host-lines", "N",
	    "And those that one host may have asked for.",
	    .number = &raw.ng_host_lines, .min = 1, .max = 1000000,
	    .flags = CLI_LIVE),
	ROW(CLI_INT, "ng-call-lines", "N",
	    "And those of one call; more of a description are refused, and "
	    "the others carried.",
	    .number = &raw.ng_call_lines, .min = 1, .max = SDP_LINES_MAX,
	    .flags = CLI_LIVE),
	ROW(CLI_INT, "ng-host-offers", "N",
	    "Offers of one host that nobody has answered yet. Where these, "
	    "ports or lines run short, those that nobody has answered for a "
	    "sixteenth of --ng-patience end, the oldest first.",
	    .number = &raw.ng_host_offers, .min = 1, .max = 1000000,
	    .flags = CLI_LIVE),
	ROW(CLI_STRING, "http", "ADDR:PORT",
	    "Serve a live view at this address: a page, /state and "
	    "/history (JSON), /metrics (Prometheus), /healthz, /readyz. It "
	    "has no password: use 127.0.0.1 or a network that you trust.",
	    .text = &raw.http, .dflt = ""),
	ROW(CLI_INT, "http-connections", "N",
	    "Largest number of its connections at a time, at most a quarter of "
	    "the descriptors that the process may have. Who is one more "
	    "waits; who has been there for 5 s makes room.",
	    .number = &raw.http_connections, .min = 1, .max = 10000),
	ROW(CLI_FLAG, "http-control", NULL,
	    "The page may switch the scheduler.", .flag = &raw.http_control,
	    .flags = CLI_LIVE),
	ROW(CLI_ENUM, "io", NULL,
	    "How to receive and send packets: by io_uring (Linux 6.1 or "
	    "later), by epoll, recvmmsg and sendmmsg, or by the first that "
	    "works.",
	    .number = &raw.io, .names = udp_io_names),
	ROW(CLI_STRING, "rx-coalesce", "auto|TIME",
	    "How long a receiver sleeps after it has taken all packets: "
	    "fewer wake-ups, but up to that much more delay. 0s: it does not "
	    "sleep. auto: it does not while its CPU has time to spare; the "
	    "busier that CPU, the further apart its turns, up to 1.5 ms.",
	    .text = &raw.coalesce),

	ROW(CLI_SECTION, NULL, NULL, "Scheduling", .flag = NULL),
	{ .kind = CLI_STRING,
	  .name = "scheduler",
	  .letter = 's',
	  .arg = "NAME[,KEY=VALUE...]",
	  .help = "Scheduling policy. It can also be the path of a shared "
		  "object (./mine.so), or kernel:NAME, a scheduler of the "
		  "kernel as a baseline. See --schedulers.",
	  .text = &raw.scheduler,
	  .flags = CLI_LIVE },
	ROW(CLI_STRING, "plugin-dir", "DIR",
	    "Folder from which clients may load policies by name (mine.so), "
	    "with scheduler.set of the control protocol.",
	    .text = &raw.plugin_dir, .flags = CLI_LIVE),
	{ .kind = CLI_INT,
	  .name = "workers",
	  .letter = 'w',
	  .arg = "N",
	  .help = "Number of worker threads. Default: one for each CPU of "
		  "--pin, else one for each CPU but the receivers'.",
	  .number = &raw.workers,
	  .min = 1,
	  .max = CR_MAX_CPUS,
	  .dflt = "" },
	ROW(CLI_STRING, "pin", "LIST",
	    "CPUs that the workers are pinned to, such as 1,4-7; or none. The "
	    "daemon's other threads keep off them. By default those threads "
	    "have only the receivers' CPUs.",
	    .text = &raw.pin, .dflt = ""),
	{ .kind = CLI_INT,
	  .name = "receivers",
	  .arg = "N",
	  .help = "Number of receiver threads. Calls with ports of their own "
		  "are dealt out to them, calls at the shared port by their "
		  "SSRC. Default: one for each CPU of --rx-cpu, else one for "
		  "every 8 workers.",
	  .number = &raw.receivers,
	  .min = 1,
	  .max = NODE_RECEIVERS_MAX,
	  .dflt = "" },
	ROW(CLI_STRING, "rx-cpu", "LIST",
	    "CPUs that the receivers are pinned to, in turn: more receivers "
	    "than CPUs share them. Or none. Default: CPUs that no worker has, "
	    "spread over the caches.",
	    .text = &raw.rx_cpu, .dflt = ""),
	ROW(CLI_STRING, "run-queues", "DOMAINS",
	    "global: all workers share one run queue; partitioned: each has "
	    "its own; a number: that many workers share one; auto: up to 8 "
	    "workers share one; more, if they are pinned, have one for each "
	    "last-level cache, for 4 to 32 workers.",
	    .text = &raw.run_queues),
	ROW(CLI_FLAG, "poll", NULL,
	    "Idle workers spin instead of sleeping: less delay, but a busy "
	    "CPU. Use it where nothing else runs on the workers' CPUs: a CPU "
	    "that sleeps between frames may wake up at a lower clock frequency "
	    "and keep it for milliseconds.",
	    .flag = &raw.poll),
	ROW(CLI_FLAG, "send-each", NULL,
	    "Send every packet by itself at once. Otherwise a worker that has "
	    "more to do gathers packets for up to 0.25 ms, which saves most of "
	    "the cost of system calls. Workers that share a run queue never "
	    "gather.",
	    .flag = &raw.send_each),
	ROW(CLI_FLAG, "realtime", NULL,
	    "Give the receivers real-time priority (needs CAP_SYS_NICE), so "
	    "that workers cannot starve them.",
	    .flag = &raw.realtime),
	ROW(CLI_FLAG, "realtime-workers", NULL,
	    "Give the workers real-time priority, too, below the receivers' "
	    "(implies --realtime): programs without one do not delay frames "
	    "then, while a node that needs a hundredth of a core can wait for "
	    "tenths of a second on a busy machine. Leave a core to everything "
	    "else: a worker that is never done (overload, conversions) has "
	    "its core to itself, but for some 50 ms of each second for which "
	    "the kernel lets the rest run, and frames wait. Schedulers of the "
	    "kernel have priorities of their own.",
	    .flag = &raw.realtime_workers),

	ROW(CLI_TIME, "watchdog", NULL,
	    "If a call's frames wait for this time while a worker has nothing "
	    "to do, the call is released again; if that does not help, fifo "
	    "replaces the scheduler. If a worker is in one frame for this "
	    "time, it is replaced, and the call is ended (reason \"hung\"). At "
	    "least 100ms; 0: neither.",
	    .number = &raw.watchdog, .min = 0, .max = 3600 * CR_SEC),

	ROW(CLI_SECTION, NULL, NULL, "Calls", .flag = NULL),
	ROW(CLI_FLAG_OFF, "no-admission", NULL,
	    "Accept every call, even beyond the capacity (for overload "
	    "experiments).",
	    .flag = &raw.admission, .flags = CLI_LIVE),
	ROW(CLI_PPM, "capacity", "SHARE",
	    "Share of each worker that admission may fill.",
	    .number = &raw.capacity, .min = 1, .max = CR_PPM,
	    .flags = CLI_LIVE),
	ROW(CLI_INT, "max-calls", "N", "Largest number of calls at a time.",
	    .number = &raw.max_calls, .min = 1, .max = 10000000,
	    .flags = CLI_LIVE),
	ROW(CLI_INT, "memory-reserve", "MIB",
	    "If limits of memory (RLIMIT_AS, RLIMIT_DATA) leave less than "
	    "this, calls, endpoints and conversions are refused, so that those "
	    "that there are can go on.",
	    .number = &raw.memory_mib, .min = 0, .max = 1 << 20,
	    .flags = CLI_LIVE),
	ROW(CLI_INT, "ring", "FRAMES",
	    "Number of frames that may wait for each call. When they are "
	    "that many, a new frame replaces the oldest.",
	    .number = &raw.ring, .min = 2, .max = 4096, .flags = CLI_LIVE),
	ROW(CLI_STRING, "max-age", "auto|none|TIME",
	    "Frames that are older than this when their turn comes are not "
	    "transcoded. auto: older than four times their call's deadline or "
	    "packet time, 90 ms at most, and late; of best-effort calls, older "
	    "than 90 ms. none or 0: there is no limit.",
	    .text = &raw.max_age, .flags = CLI_LIVE),
	ROW(CLI_ENUM, "expired", NULL,
	    "What happens to these frames: they are dropped, or replaced by "
	    "NO_DATA or concealment.",
	    .number = &raw.expired, .names = expired_names, .flags = CLI_LIVE),
	ROW(CLI_ENUM, "shed", NULL,
	    "Which frames are given up when there is more to do than time. "
	    "age: those that are too old (--max-age), no others. pattern, "
	    "quiet: from each call some before that, ever more the longer "
	    "frames wait, so that none waits long: evenly spaced ones; or "
	    "pauses first, then the quietest speech, as far as a payload "
	    "shows it (PCMU, PCMA, L16, AMR 12.2 and 7.95; SID and the like "
	    "of others). Never digits, nor what conceals a lost packet. "
	    "Nothing is given up while no frame of its class waits for "
	    "--shed-wait.",
	    .number = &raw.shed, .names = shed_names, .flags = CLI_LIVE),
	ROW(CLI_STRING, "shed-wait", "auto|TIME",
	    "How long frames wait before --shed may give any up. auto: the "
	    "longer of its call's packet time and deadline, of best-effort "
	    "calls the packet time.",
	    .text = &raw.shed_wait, .flags = CLI_LIVE),
	ROW(CLI_LIST, "codec", "FILE", CODEC_OPTION_HELP, .list = &raw.plugins),
	ROW(CLI_ENUM, "codec-kernels", NULL,
	    "Which functions work inside the codec libraries: the libraries' "
	    "own (stock); ours for CPUs with AVX2, which are faster and give "
	    "the same bits (avx2); or the fastest that the CPU can run (auto).",
	    .number = &raw.kernels, .names = cr_kernels_names),
	ROW(CLI_TIME, "grace", NULL,
	    "How long calls go on after the control connection of their "
	    "client is lost. A client that is silent counts as lost after "
	    "--peer-timeout.",
	    .number = &raw.grace, .min = 0, .max = 3600 * CR_SEC,
	    .flags = CLI_LIVE),
	ROW(CLI_TIME, "drain-timeout", NULL,
	    "How long calls may go on after SIGTERM, SIGINT or drain of the "
	    "control protocol. A second signal ends them at once.",
	    .number = &raw.drain_timeout, .min = 0, .max = 86400 * CR_SEC,
	    .flags = CLI_LIVE),

	ROW(CLI_SECTION, NULL, NULL, "Conversions", .flag = NULL),
	ROW(CLI_STRING, "spool", "DIR",
	    "Folder whose files clients may convert, with convert.start of the "
	    "control protocol (codec-ctl convert). Conversions are "
	    "best-effort work under the same scheduler. Only one daemon at a "
	    "time can use a folder.",
	    .text = &raw.spool),
	ROW(CLI_INT, "max-conversions", "N",
	    "Largest number of conversions that wait or run.",
	    .number = &raw.max_conversions, .min = 1, .max = 100000,
	    .flags = CLI_LIVE),
	ROW(CLI_INT, "conversions", "N",
	    "Largest number of conversions that run at a time. They have an "
	    "eighth of the descriptors at most, two each.",
	    .number = &raw.conversions, .min = 1, .max = 1024,
	    .flags = CLI_LIVE),
	ROW(CLI_INT, "convert-max-mib", "MIB",
	    "Largest file that is converted.", .number = &raw.convert_mib,
	    .min = 1, .max = 1 << 20),
	ROW(CLI_INT, "convert-floor", "FRAMES",
	    "Frames a second that each running conversion gets even if calls "
	    "want the CPU, under schedulers that go by deadlines. The "
	    "conversion is admitted as a soft task of that rate, and waits "
	    "until there is room. 0: conversions get what calls leave.",
	    .number = &raw.convert_floor, .min = 0, .max = 1000,
	    .flags = CLI_LIVE),

	ROW(CLI_SECTION, NULL, NULL, "What it tells", .flag = NULL),
	ROW(CLI_STRING, "trace", "FILE", "Write a record of every frame.",
	    .text = &raw.trace),
	ROW(CLI_STRING, "trace-dir", "DIR",
	    "Folder to which clients may write traces, with trace.start of the "
	    "control protocol.",
	    .text = &raw.trace_dir, .flags = CLI_LIVE),
	ROW(CLI_FLAG, "overwrite", NULL, "Replace an existing trace file.",
	    .flag = &raw.overwrite),
	ROW(CLI_INT, "trace-records", "N",
	    "Number of records that may wait in each thread for the writer of "
	    "the trace.",
	    .number = &raw.trace_records, .min = 1024, .max = 1 << 24),
	ROW(CLI_STRING, "records", "FILE",
	    "Append a line of JSON for each call that ends: parties, codecs, "
	    "times, losses, delay, MOS, why it ended and on whose word. SIGHUP "
	    "opens the file again, and that of --log-file.",
	    .text = &raw.records),
	ROW(CLI_TIME, "records-interim", NULL,
	    "And a line for each call that goes on, within a second of its "
	    "start and so often from then on: a crash loses no call, and this "
	    "time of it at most. At least 1s; 0: none.",
	    .number = &raw.records_interim, .min = 0, .max = 86400 * CR_SEC,
	    .flags = CLI_LIVE),
	ROW(CLI_STRING, "node-name", "NAME",
	    "What records call this node. Default: the name of the host.",
	    .text = &raw.node_name, .dflt = ""),
	ROW(CLI_STRING, "log-file", "FILE", "Log there instead of stderr.",
	    .text = &raw.log_file),
	ROW(CLI_ENUM, "log-format", NULL,
	    "How entries of the log look. text: a line of key=value pairs; "
	    "json: a JSON object a line; journal: an entry of systemd's "
	    "journal, with a field for each pair (CR_EVENT, CR_CALL, ...), by "
	    "its own socket. auto: journal, if stderr is the journal and there "
	    "is no --log-file; else text.",
	    .number = &raw.log_format, .names = log_format_names),
	ROW(CLI_ENUM, "log-level", NULL, "How much to log.",
	    .number = &raw.log_level, .names = log_level_names,
	    .flags = CLI_LIVE),
	ROW(CLI_FLAG, "schedulers", NULL,
	    "List the schedulers with their options, and exit.",
	    .flag = &raw.schedulers, .flags = CLI_COMMAND_LINE),
	ROW(CLI_FLAG, "codecs", NULL,
	    "Measure and list what a frame of each codec costs on this "
	    "machine, and exit.",
	    .flag = &raw.codecs, .flags = CLI_COMMAND_LINE),
	ROW(CLI_TIME, "seconds", NULL, "Time that --codecs may take.",
	    .number = &raw.seconds, .min = 100 * CR_MS, .max = 3600 * CR_SEC,
	    .flags = CLI_COMMAND_LINE),
	ROW(CLI_STRING, "plan", "MIX",
	    "Measure how many calls of a mix this machine carries, with the "
	    "other options as they are, and exit. MIX is a list of "
	    "A<->B for calls of both directions, or A->B for one, of codecs "
	    "with their modes, and shares: \"pcma<->amr-wb, "
	    "opus/24<->pcmu:30%\". Those without a share have the rest.",
	    .text = &raw.plan, .flags = CLI_COMMAND_LINE),
	ROW(CLI_FLAG, "json", NULL,
	    "Print what --codecs, --schedulers and --plan say as JSON.",
	    .flag = &raw.json, .flags = CLI_COMMAND_LINE),

	ROW(CLI_SECTION, NULL, NULL, "What it may do", .flag = NULL),
	ROW(CLI_STRING, "user", "NAME",
	    "Started by root, become this user, with its groups, before ports, "
	    "sockets and files are opened, but for those of options and "
	    "codecs. Of root's rights CAP_SYS_NICE is kept, if "
	    "--realtime, --realtime-workers or a scheduler of the kernel needs "
	    "it.",
	    .text = &raw.user, .dflt = ""),
	ROW(CLI_ENUM, "sandbox", NULL,
	    "on: system calls that the daemon does not need fail, and it ends "
	    "at those that only somebody makes who has taken it over, such as "
	    "to execute a program (seccomp). strict: it ends at all of them, "
	    "which tests want. With --io epoll, those of io_uring are not "
	    "needed.",
	    .number = &raw.sandbox, .names = sandbox_names),

	ROW(CLI_SECTION, NULL, NULL, "Configuration", .flag = NULL,
	    .flags = CLI_COMMAND_LINE),
	ROW(CLI_STRING, "config", "FILE|none",
	    "Read options from this file, codec-runner.conf(5). "
	    "Default: " RUNNER_CONFIG
	    ", if it is there. What the command line has "
	    "replaces what the file has; --NAME=no takes back a flag. SIGHUP "
	    "reads the file again.",
	    .text = &raw.config, .flags = CLI_COMMAND_LINE),
	ROW(CLI_FLAG, "check-config", NULL,
	    "Say what is wrong with the file and the command line, and exit. "
	    "No port and no file that they name is opened, but schedulers and "
	    "codecs of shared objects are loaded.",
	    .flag = &raw.check_config, .flags = CLI_COMMAND_LINE),
	ROW(CLI_FLAG, "dump-config", NULL,
	    "Print the options that hold, each with where it is from, as a "
	    "file that says the same, and exit.",
	    .flag = &raw.dump_config, .flags = CLI_COMMAND_LINE),
	ROW(CLI_FLAG, "example-config", NULL,
	    "Print a file with every option, its help and its default, all as "
	    "comments, and exit.",
	    .flag = &raw.example_config, .flags = CLI_COMMAND_LINE),
	{ .kind = CLI_FLAG,
	  .name = "man-config",
	  .flag = &raw.config_page,
	  .flags = CLI_COMMAND_LINE },
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
	  "say what is wrong with a file of options" },
	{ "codec-runner --codecs", "show what codecs cost on this machine" },
	{ "codec-runner --plan 'pcma<->amr-wb, opus<->pcmu:30%'",
	  "how many such calls this machine carries" },
	{ NULL, NULL },
};

static const struct cli_line exits[] = {
	{ "0", "drained after SIGTERM or SIGINT, traces flushed" },
	{ "1", "could not start: address in use, no memory, no such file; or a "
	       "receiver failed" },
	{ "2", "wrong option, or a file of options that is wrong or not "
	       "there" },
	{ "3", "as 0, but a thread was stuck in a codec and was left behind" },
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

/* Give all variables their defaults. */
static void rows_reset(void)
{
	static struct raw initial;
	static bool known;

	if (known)
		raw = initial;
	else
		initial = raw;
	known = true;
}

/* Is a page or an example to be shown? Into @o. */
static void rows_asked(struct runner_options *o)
{
	o->show_example = raw.example_config;
	o->show_page = raw.config_page;
}

/*
 * Have codecs, kernels and the user that they name. Once, before other threads
 * run; what is wrong: as above.
 */
static void rows_load(struct runner_options *o)
{
	raw_load(&raw, o);
}

/* What they mean, into @o; what is wrong, into o->from.faults. */
static void rows_fill(struct runner_options *o)
{
	raw_fill(&raw, o);
}

/* What was asked for at the start. */
static struct config_ask asked;

static void choose_file(void)
{
	const char *path =
		cli_peek(asked.cli, asked.argc, asked.argv, "config");

	asked.path = path ? path : RUNNER_CONFIG;
	asked.must = path != NULL;
	if (path && !strcmp(path, "none"))
		asked.path = NULL;
}

static int read_options(struct runner_options *o)
{
	rows_reset();
	(void)config_read(&o->from, &asked);
	rows_asked(o);
	/* what is no value has left the default, which is in order: so that all
	 * that is wrong is told at once */
	rows_fill(o);
	return o->from.faults.n ? -EINVAL : 0;
}

_Noreturn static void refuse(const struct runner_options *o)
{
	config_faults_print(&o->from.faults, rows_cli.program, stderr);
	(void)fprintf(stderr, "Try '%s --help'.\n", rows_cli.program);
	exit(2);
}

_Noreturn static void end_printing(void)
{
	exit(cli_flush(rows_cli.program));
}

static void dump(const struct runner_options *o)
{
	struct cr_err e = { "" };

	if (!config_print(&o->from, stdout, &e))
		return;
	(void)fflush(stdout);
	(void)fprintf(stderr, "%s: %s\n", rows_cli.program, e.text);
	exit(2);
}

/* What is of the table alone, whatever the file says. */
static void answer_of_table(const struct runner_options *o)
{
	if (!o->show_example && !o->show_page)
		return;
	rows_reset();
	if (o->show_example)
		config_print_example(&rows_cli, stdout);
	else
		config_print_page(&rows_cli, RUNNER_CONFIG, stdout);
	end_printing();
}

static void answer(const struct runner_options *o)
{
	if (o->dump)
		dump(o);
	else if (o->check)
		printf("%s: in order\n",
		       o->from.path ? o->from.path : "no file; command line");
	else
		return;
	end_printing();
}

void runner_options_parse(struct runner_options *o, int argc, char **argv)
{
	int err;

	if (cli_asked(&rows_cli, argc, argv))
		end_printing();
	asked = (struct config_ask){ .cli = &rows_cli,
				     .argc = argc,
				     .argv = argv };
	choose_file();
	err = read_options(o);
	answer_of_table(o);
	if (!err) {
		rows_load(o);
		err = (int)o->from.faults.n;
	}
	if (err)
		refuse(o);
	/* that file has to be there from now on, too */
	asked.must = o->from.path != NULL;
	answer(o);
}

int runner_options_again(struct runner_options *o)
{
	return read_options(o);
}

void runner_options_free(struct runner_options *o)
{
	config_free(&o->from);
}
