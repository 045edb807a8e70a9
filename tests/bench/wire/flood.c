/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets of PCMU to one port, as many a second as asked, and nothing is heard.
 * Each is a datagram of its own to the kernel, which so counts each that it
 * drops. Used by tests/bench/flood.
 *
 * Prints "ready", and after SIGTERM one JSON object: what it has sent until
 * then.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/address.h"
#include "base/cli.h"
#include "base/clock.h"
#include "bench.h"
#include "rtp/rtp.h"
#include "udp/socket.h"

#define BATCH 64u
#define PAYLOAD 160u /* 20 ms */

static struct {
	const char *to;
	int64_t rate, tick, ssrc, pt, cpu;
} opt;

#define AT(m) FIELD_IN(__typeof__(opt), m)

static const struct field rows[] = {
	{ .kind = FIELD_TEXT,
	  .name = "to",
	  .label = "ADDR:PORT",
	  .help = "Where they go.",
	  AT(to) },
	{ .kind = FIELD_INT,
	  .name = "rate",
	  .help = "Packets a second.",
	  AT(rate),
	  .dflt = 200000,
	  .min = 1,
	  .max = 10000000 },
	{ .kind = FIELD_TIME,
	  .name = "tick",
	  .help = "Packets due in this time are sent at one go.",
	  AT(tick),
	  .dflt = 200 * CR_US,
	  .min = 10 * CR_US,
	  .max = 100 * CR_MS },
	{ .kind = FIELD_INT,
	  .name = "ssrc",
	  .help = "Their SSRC.",
	  AT(ssrc),
	  .dflt = 1,
	  .min = 0,
	  .max = UINT32_MAX },
	{ .kind = FIELD_INT,
	  .name = "pt",
	  .help = "Their payload type.",
	  AT(pt),
	  .min = 0,
	  .max = 127 },
	BENCH_ROW_CPU(AT(cpu)),
	{ .name = NULL },
};

static const struct cli cli = {
	.program = "bench-flood",
	.synopsis = "--to ADDR:PORT [OPTION]...",
	.summary = "send more packets to a port than it asks for",
	.text = "Sends until SIGTERM, then says what it has sent.",
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
	(void)fprintf(stderr, "bench-flood: %s: %s\n", what, why);
	exit(1);
}

struct flood {
	int fd;
	struct sockaddr_storage to;
	struct rtp_packet next;
	uint64_t sent, refused; /* refused: by the own socket */
	struct mmsghdr message[BATCH];
	struct iovec at[BATCH];
	uint8_t packet[BATCH][RTP_HEADER_BYTES + PAYLOAD];
};

static void open_flood(struct flood *f)
{
	struct sockaddr_storage any;
	struct cr_err e = { "" };

	if (!opt.to || address_parse(opt.to, &f->to) || !address_port(&f->to))
		die("--to", "no address with a port");
	(void)address_parse(
		f->to.ss_family == AF_INET6 ? "[::]:0" : "0.0.0.0:0", &any);
	f->fd = udp_socket(&any, &e);
	if (f->fd < 0)
		die("socket", e.text);
	f->next = (struct rtp_packet){ .pt = (uint8_t)opt.pt,
				       .ssrc = (uint32_t)opt.ssrc };
	memset(f->packet, 0xff, sizeof(f->packet)); /* silence */
	for (unsigned i = 0; i < BATCH; i++) {
		f->at[i] = (struct iovec){ f->packet[i], sizeof(*f->packet) };
		f->message[i].msg_hdr = (struct msghdr){
			.msg_name = &f->to,
			.msg_namelen = address_length(&f->to),
			.msg_iov = &f->at[i],
			.msg_iovlen = 1,
		};
	}
}

static void send_batch(struct flood *f, unsigned n)
{
	int sent;

	for (unsigned i = 0; i < n; i++) {
		(void)rtp_build(f->packet[i], &f->next);
		f->next.seq++;
		f->next.ts += PAYLOAD;
	}
	sent = sendmmsg(f->fd, f->message, n, 0);
	if (sent < 0 && errno != EAGAIN && errno != ENOBUFS && errno != EINTR)
		die(opt.to, strerror(errno));
	f->sent += sent > 0 ? (unsigned)sent : 0;
	f->refused += n - (sent > 0 ? (unsigned)sent : 0);
}

/* What is due by @now, since @start. What the machine has made late is sent
 * late. */
static void send_due(struct flood *f, cr_ns start, cr_ns now)
{
	uint64_t due = (uint64_t)((double)(now - start) / (double)CR_SEC *
				  (double)opt.rate);
	uint64_t done = f->sent + f->refused;

	while (done < due &&
	       !atomic_load_explicit(&stop, memory_order_relaxed)) {
		uint64_t n = due - done < BATCH ? due - done : BATCH;

		send_batch(f, (unsigned)n);
		done += n;
	}
}

static cr_ns run(struct flood *f)
{
	cr_ns start = clock_now(), now = start;

	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		const struct timespec ts = { 0, opt.tick };

		send_due(f, start, now);
		(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
		now = clock_now();
	}
	return now - start;
}

int main(int argc, char **argv)
{
	const struct sigaction act = { .sa_handler = on_signal };
	static struct flood f;
	cr_ns took;

	(void)cli_parse_or_exit(&cli, argc, argv);
	bench_pin(cli.program, opt.cpu);
	(void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
	(void)sigaction(SIGTERM, &act, NULL);
	(void)sigaction(SIGINT, &act, NULL);
	open_flood(&f);
	(void)puts("ready");
	(void)fflush(stdout);
	took = run(&f);
	printf("{\"sent\": %" PRIu64 ", \"refused\": %" PRIu64
	       ", \"ns\": %" PRId64 ", \"cpu_ns\": %" PRId64 "}\n",
	       f.sent, f.refused, took, clock_read(CLOCK_PROCESS_CPUTIME_ID));
	(void)close(f.fd);
	return 0;
}
