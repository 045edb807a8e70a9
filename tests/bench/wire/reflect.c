/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The least that receiving a packet and sending it on costs: each goes back to
 * the address it came from, with the payload type of PCMA instead of PCMU's.
 * The payload stays as it is: to translate it would be a transcoder's work.
 *
 * With --codec each packet goes through a codec in between: the least that any
 * transcoder could cost, and the delay that no transcoder could undercut on
 * this machine at this moment. A loop of empty rounds that takes as long will
 * not do: what shares the core, its caches or its memory with it slows a codec
 * down by a third at times, and such a loop not at all.
 *
 * Prints "ready" and its addresses, and after SIGTERM one JSON object. Used by
 * tests/bench/packet, delay and capacity.
 */
#define _GNU_SOURCE
#include "reflect.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/address.h"
#include "base/cli.h"
#include "base/clock.h"
#include "bench.h"
#include "codecs/kernels/kernels.h"
#include "coding.h"
#include "rtp/rtp.h"

#define SOCKET_BYTES (8 << 20)
#define CODED_BATCH 16u

static struct {
	const char *at;
	int64_t io, sockets, wait, cpu;
	const char *codec, *mode;
	int64_t pcm, direction, states, kernels, seed;
} opt;

enum { IO_MMSG, IO_URING };
static const char *const ios[] = { "mmsg", "uring", NULL };
static const char *const pcm_sides[] = { "pcmu", "l16", NULL };
static const char *const directions[] = { "encode", "decode", NULL };

#define AT(m) FIELD_IN(__typeof__(opt), m)

static const struct field rows[] = {
	{ .kind = FIELD_CHOICE,
	  .name = "io",
	  .help = "recvmmsg() and sendmmsg() on one socket, or io_uring on any "
		  "number.",
	  AT(io),
	  .names = ios },
	{ .kind = FIELD_INT,
	  .name = "sockets",
	  .help = "Sockets, each with a port of its own.",
	  AT(sockets),
	  .dflt = 1,
	  .min = 1,
	  .max = 60000 },
	{ .kind = FIELD_TIME,
	  .name = "wait",
	  .help = "How long packets may gather.",
	  AT(wait),
	  .min = 0,
	  .max = 100 * CR_MS },
	{ .kind = FIELD_TEXT,
	  .name = "codec",
	  .help = "Put each packet through this codec; at most 16 are then "
		  "taken at once.",
	  AT(codec),
	  .without = "" },
	{ .kind = FIELD_TEXT,
	  .name = "mode",
	  .help = "Its mode.",
	  AT(mode),
	  .without = "" },
	{ .kind = FIELD_CHOICE,
	  .name = "pcm",
	  .help = "The other side, which the packets are of.",
	  AT(pcm),
	  .names = pcm_sides },
	{ .kind = FIELD_CHOICE,
	  .name = "direction",
	  .help = "Encode the packets, or decode recorded speech instead.",
	  AT(direction),
	  .names = directions },
	BENCH_ROW_STATES(AT(states), 1),
	{ .kind = FIELD_CHOICE,
	  .name = "codec-kernels",
	  .help = "As codec-runner's.",
	  AT(kernels),
	  .names = cr_kernels_names },
	BENCH_ROW_SEED(AT(seed)),
	{ .kind = FIELD_TEXT,
	  .name = "at",
	  .label = "ADDR:PORT",
	  .help = "Address of the first socket; the next one has the next "
		  "port. Port 0 takes any free ones.",
	  AT(at),
	  .without = "127.0.0.1:0" },
	BENCH_ROW_CPU(AT(cpu)),
	{ .name = NULL },
};

static const struct cli cli = {
	.program = "bench-reflect",
	.synopsis = "[OPTION]...",
	.summary = "send packets back, and do nothing else",
	.opts = rows,
	.vars = &opt,
};

static atomic_bool stop;

static void on_signal(int number)
{
	(void)number;
	atomic_store_explicit(&stop, true, memory_order_relaxed);
}

_Noreturn static void die(const char *what, const char *why)
{
	(void)fprintf(stderr, "bench-reflect: %s: %s\n", what, why);
	exit(1);
}

/* Blocked until the reflector waits: none is lost between looking at the flag
 * and waiting. */
static void catch_signals(void)
{
	const struct sigaction act = { .sa_handler = on_signal };
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	(void)sigaction(SIGTERM, &act, NULL);
	(void)sigaction(SIGINT, &act, NULL);
}

static void raise_limit(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files))
		return;
	files.rlim_cur = files.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &files);
}

static void enlarge(int fd, int forced, int plain)
{
	int size = SOCKET_BYTES;

	if (setsockopt(fd, SOL_SOCKET, forced, &size, sizeof(size)))
		(void)setsockopt(fd, SOL_SOCKET, plain, &size, sizeof(size));
}

/* Without the time stamps and counters of udp_socket(): they cost. */
static int open_socket(struct sockaddr_storage *at)
{
	int fd = socket(at->ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t len = address_length(at);
	char name[64];

	if (fd < 0)
		die("socket", strerror(errno));
	enlarge(fd, SO_RCVBUFFORCE, SO_RCVBUF);
	enlarge(fd, SO_SNDBUFFORCE, SO_SNDBUF);
	if (bind(fd, (struct sockaddr *)at, len) ||
	    getsockname(fd, (struct sockaddr *)at, &len))
		die(address_text(at, name, sizeof(name)), strerror(errno));
	return fd;
}

/* All sockets; their addresses on stdout. */
static int *open_sockets(unsigned n)
{
	int *fds = calloc(n, sizeof(*fds));
	struct sockaddr_storage at;
	unsigned first;
	char name[64];

	if (!fds || address_parse(opt.at, &at))
		die("--at", fds ? "no address with a port" : "out of memory");
	first = address_port(&at);
	raise_limit();
	(void)fputs("ready", stdout);
	for (unsigned i = 0; i < n; i++) {
		address_set_port(&at, first ? first + i : 0);
		fds[i] = open_socket(&at);
		printf(" %s", address_text(&at, name, sizeof(name)));
	}
	printf("\n");
	(void)fflush(stdout);
	return fds;
}

static void close_sockets(int *fds, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		(void)close(fds[i]);
	free(fds);
}

static void open_coding(struct reflect *r)
{
	const struct coding_cfg cfg = {
		.codec = opt.codec,
		.mode = opt.mode,
		.pcm = pcm_sides[opt.pcm],
		.decode = opt.direction == 1,
		.states = (unsigned)opt.states,
		.seed = (uint64_t)opt.seed,
	};
	struct cr_err e = { "unknown" };

	r->batch = UINT_MAX;
	if (!opt.codec)
		return;
	if (cr_kernels_choose((enum cr_kernels)opt.kernels, &e) ||
	    coding_open(&r->coding, &cfg, &e))
		die("--codec", e.text);
	r->decode = cfg.decode;
	r->states = cfg.states;
	r->batch = CODED_BATCH;
}

static void code(struct reflect *r, const uint8_t *packet, size_t bytes)
{
	struct rtp_packet p;
	unsigned i;

	if (rtp_parse(packet, bytes, &p))
		return;
	i = (p.ssrc - 1) % r->states;
	if (r->decode)
		coding_hear(r->coding, i);
	else
		coding_hear_payload(r->coding, p.payload, p.payload_bytes);
	r->coded += coding_run(r->coding, i);
}

void reflect_packet(struct reflect *r, uint8_t *packet, size_t bytes)
{
	packet[1] = (uint8_t)((packet[1] & 0x80) | REFLECT_PT);
	if (r->coding)
		code(r, packet, bytes);
}

static int reflect(struct reflect *r, struct cr_err *e)
{
	return opt.io == IO_MMSG ? reflect_mmsg(r, e) : reflect_uring(r, e);
}

int main(int argc, char **argv)
{
	struct reflect r = { .stop = &stop };
	struct cr_err e;
	int *fds;

	(void)cli_parse_or_exit(&cli, argc, argv);
	if (opt.io == IO_MMSG && opt.sockets > 1)
		die("--sockets", "--io mmsg has one");
	bench_pin(cli.program, opt.cpu);
	catch_signals();
	r.wait = opt.wait;
	open_coding(&r);
	r.sockets = (unsigned)opt.sockets;
	r.fds = fds = open_sockets(r.sockets);
	if (reflect(&r, &e))
		die("cannot reflect", e.text);
	printf("{\"in\": %" PRIu64 ", \"out\": %" PRIu64 ", \"coded\": %" PRIu64
	       ", \"cpu_ns\": %" PRId64 "}\n",
	       r.in, r.out, r.coded, clock_read(CLOCK_PROCESS_CPUTIME_ID));
	close_sockets(fds, r.sockets);
	coding_close(r.coding);
	return 0;
}
