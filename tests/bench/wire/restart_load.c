/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The senders and listeners of tests/bench/restart: calls, each with a socket
 * of its own, that send PCMU every 20 ms and look for gaps in what comes back.
 *
 *   bench-restart-load CALLS CPU
 *
 * It prints "at ADDRESS..."; reads a target, ADDRESS:PORT, for each call; then
 * for each line "mark" prints what has come since the one before, as JSON, and
 * ends with its input. One thread.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/address.h"
#include "base/clock.h"
#include "base/descriptors.h"
#include "bench.h"
#include "rtp/rtp.h"

enum { FRAME = 160, EVENTS = 256, BUFFER = 256 << 10 };
#define PTIME (20 * CR_MS)
/* A call that was not heard for so long is lost. */
#define SILENCE (500 * CR_MS)

struct line {
	int fd;
	struct sockaddr_storage to;
	uint16_t seq; /* sent next */
	cr_ns due;
	/* of what is heard */
	bool heard;
	uint16_t last_seq;
	uint32_t ssrc, last_ts;
	uint32_t ticks; /* from number to number */
	cr_ns last;
	/* since the mark */
	cr_ns gap;
	unsigned lost, breaks;
};

static struct line *lines;
static unsigned n;

_Noreturn static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void open_lines(int epoll)
{
	const int size = BUFFER;

	descriptors_raise();
	printf("at");
	for (unsigned i = 0; i < n; i++) {
		struct sockaddr_storage at;
		socklen_t len = sizeof(at);
		char text[64];
		struct epoll_event event = { .events = EPOLLIN, .data.u32 = i };

		(void)address_parse("127.0.0.1:0", &at);
		lines[i].fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
		if (lines[i].fd < 0 ||
		    bind(lines[i].fd, (struct sockaddr *)&at,
			 sizeof(struct sockaddr_in)) ||
		    getsockname(lines[i].fd, (struct sockaddr *)&at, &len) ||
		    epoll_ctl(epoll, EPOLL_CTL_ADD, lines[i].fd, &event))
			die("socket");
		(void)setsockopt(lines[i].fd, SOL_SOCKET, SO_RCVBUF, &size,
				 sizeof(size));
		printf(" %s", address_text(&at, text, sizeof(text)));
	}
	puts("");
	(void)fflush(stdout);
}

static void read_targets(void)
{
	char text[64];

	for (unsigned i = 0; i < n; i++) {
		if (!fgets(text, sizeof(text), stdin))
			die("targets");
		text[strcspn(text, "\n")] = '\0';
		if (address_parse(text, &lines[i].to))
			die(text);
		/* spread over a frame */
		lines[i].due = clock_now() + PTIME * (cr_ns)i / n;
	}
}

static void send_frame(struct line *l, unsigned i)
{
	uint8_t data[RTP_HEADER_BYTES + FRAME];

	(void)rtp_build(data, &(struct rtp_packet){ .seq = l->seq,
						    .ts = FRAME * l->seq,
						    .ssrc = i + 1 });
	/* something that is no silence */
	for (unsigned k = 0; k < FRAME; k++)
		data[RTP_HEADER_BYTES + k] = (uint8_t)(k * 37 + l->seq * 11);
	l->seq++;
	(void)sendto(l->fd, data, sizeof(data), 0, (struct sockaddr *)&l->to,
		     sizeof(struct sockaddr_in));
}

static void hear_packet(struct line *l, const struct rtp_packet *p, cr_ns now)
{
	uint16_t step = (uint16_t)(p->seq - l->last_seq);

	if (l->heard) {
		l->gap = cr_ns_max(l->gap, now - l->last);
		if (!l->ticks && step)
			l->ticks = (p->ts - l->last_ts) / step;
		/* behind it, at the time that its number says */
		if (p->ssrc != l->ssrc || !step || step > INT16_MAX ||
		    p->ts - l->last_ts != l->ticks * step)
			l->breaks++;
		else
			l->lost += step - 1u;
	}
	l->heard = true;
	l->ssrc = p->ssrc;
	l->last_seq = p->seq;
	l->last_ts = p->ts;
	l->last = now;
}

static void hear_all(int epoll)
{
	struct epoll_event event[EVENTS];
	int got;

	do {
		got = epoll_wait(epoll, event, EVENTS, 0);
		for (int i = 0; i < got; i++) {
			struct line *l = &lines[event[i].data.u32];
			uint8_t data[2048];
			struct rtp_packet p;
			ssize_t bytes;

			while ((bytes = recv(l->fd, data, sizeof(data), 0)) > 0)
				if (!rtp_parse(data, (size_t)bytes, &p))
					hear_packet(l, &p, clock_now());
		}
	} while (got == EVENTS);
}

static int compare_gaps(const void *a, const void *b)
{
	cr_ns x = *(const cr_ns *)a, y = *(const cr_ns *)b;

	return (x > y) - (x < y);
}

/* The worst gap and the losses of each call since the last mark. */
static void print_mark(void)
{
	cr_ns *gap = calloc(n, sizeof(*gap)), *lost = calloc(n, sizeof(*lost));
	unsigned silent = 0, breaks = 0;
	unsigned long sum = 0;
	cr_ns now = clock_now();

	if (!gap || !lost)
		die("memory");
	for (unsigned i = 0; i < n; i++) {
		struct line *l = &lines[i];

		silent += !l->heard || now - l->last > SILENCE;
		gap[i] = l->gap;
		lost[i] = l->lost;
		sum += l->lost;
		breaks += l->breaks;
		l->gap = 0;
		l->lost = l->breaks = 0;
	}
	qsort(gap, n, sizeof(*gap), compare_gaps);
	qsort(lost, n, sizeof(*lost), compare_gaps);
	printf("{\"calls\": %u, \"silent\": %u, \"breaks\": %u, "
	       "\"lost\": %lu, \"lost_p50\": %" PRId64
	       ", \"lost_p99\": %" PRId64 ", \"lost_max\": %" PRId64
	       ", \"gap_p50_ms\": %.1f, "
	       "\"gap_p99_ms\": %.1f, \"gap_max_ms\": %.1f}\n",
	       n, silent, breaks, sum, lost[n / 2], lost[n * 99 / 100],
	       lost[n - 1], (double)gap[n / 2] / 1e6,
	       (double)gap[n * 99 / 100] / 1e6, (double)gap[n - 1] / 1e6);
	(void)fflush(stdout);
	free(gap);
	free(lost);
}

/* Whether the input goes on. */
static bool obey_lines(void)
{
	char text[256];
	ssize_t got = read(STDIN_FILENO, text, sizeof(text));

	for (ssize_t i = 0; i < got; i++)
		if (text[i] == '\n')
			print_mark();
	return got;
}

int main(int argc, char **argv)
{
	int epoll = epoll_create1(0);
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };

	if (argc != 3 || epoll < 0)
		die("bench-restart-load CALLS CPU");
	n = (unsigned)atoi(argv[1]);
	lines = calloc(n, sizeof(*lines));
	if (!lines)
		die("memory");
	bench_pin("bench-restart-load", atoi(argv[2]));
	(void)prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
	/* lines that were read ahead would be no marks */
	(void)setvbuf(stdin, NULL, _IONBF, 0);
	open_lines(epoll);
	read_targets();
	for (;;) {
		for (unsigned i = 0; i < n; i++)
			for (; lines[i].due <= clock_now();
			     lines[i].due += PTIME)
				send_frame(&lines[i], i);
		hear_all(epoll);
		if (poll(&in, 1, 1) > 0 && !obey_lines())
			return 0;
	}
}
