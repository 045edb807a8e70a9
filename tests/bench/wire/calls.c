/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of bench-load. Each packet is a system call of its own, and its
 * time is taken before it: sent in batches, the last of a batch would seem to
 * come back later. Answers are taken when it suits, for the kernel stamps them.
 */
#define _GNU_SOURCE
#include "calls.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/address.h"
#include "base/clock.h"
#include "base/descriptors.h"
#include "base/random.h"
#include "rtp/rtp.h"
#include "udp/inlet.h"
#include "udp/socket.h"

#define EVENTS 256
#define PACKET_BYTES 2048u
#define LINE_BYTES 256

/* Socket @i, whose events name its first call. */
static int open_socket(struct calls *c, unsigned i, struct cr_err *e)
{
	struct epoll_event ready = { .events = EPOLLIN, .data.u32 = i };
	struct sockaddr_storage at;
	char text[80];

	(void)snprintf(text, sizeof(text), "%s:0", c->opt->at);
	if (address_parse(text, &at))
		return cr_fail(e, -EINVAL, "--at: not an address");
	c->fds[i] = udp_socket(&at, e);
	if (c->fds[i] < 0)
		return c->fds[i];
	c->sockets = i + 1;
	if (epoll_ctl(c->epoll, EPOLL_CTL_ADD, c->fds[i], &ready))
		return cr_fail(e, -errno, "epoll: %s", strerror(errno));
	return 0;
}

static int open_sockets(struct calls *c, struct cr_err *e)
{
	unsigned calls = (unsigned)c->opt->calls;
	bool own = c->opt->layout == LOAD_OWN;
	int rc = 0;

	descriptors_raise();
	for (unsigned i = 0; i < (own ? calls : 1) && !rc; i++)
		rc = open_socket(c, i, e);
	for (unsigned i = 0; i < calls && !rc; i++)
		c->call[i].fd = c->fds[own ? i : 0];
	return rc;
}

int calls_open(struct calls *c, const struct load_options *opt,
	       struct cr_err *e)
{
	size_t calls = (size_t)opt->calls;
	uint64_t random = (uint64_t)opt->seed;
	int rc;

	*c = (struct calls){ .opt = opt, .end = CR_NEVER };
	c->epoll = epoll_create1(EPOLL_CLOEXEC);
	c->call = calloc(calls, sizeof(*c->call));
	c->fds = calloc(calls, sizeof(*c->fds));
	c->intake = intake_open();
	if (c->epoll < 0 || !c->call || !c->fds || !c->intake)
		return cr_fail(e, -ENOMEM, "out of memory");
	c->rtp_ticks = (uint32_t)(opt->every * opt->rate / CR_SEC);
	for (size_t i = 0; i < calls; i++)
		c->call[i].seq = (uint16_t)splitmix64(&random);
	rc = payloads_open(&c->payloads, opt->codec, (unsigned)opt->rate,
			   opt->ptime, (uint64_t)opt->seed, e);
	return rc ? rc : open_sockets(c, e);
}

void calls_close(struct calls *c)
{
	for (unsigned i = 0; i < c->sockets; i++)
		(void)close(c->fds[i]);
	(void)close(c->epoll);
	payloads_close(&c->payloads);
	intake_close(c->intake);
	free(c->fds);
	free(c->call);
}

void calls_report(const struct calls *c, const char *word, FILE *out)
{
	struct sockaddr_storage at;
	char text[64];

	(void)fputs(word, out);
	for (int64_t i = 0; i < c->opt->calls; i++) {
		socklen_t len = sizeof(at);

		(void)getsockname(c->call[i].fd, (struct sockaddr *)&at, &len);
		(void)fprintf(out, " %s",
			      address_text(&at, text, sizeof(text)));
	}
	(void)fputs("\n", out);
	(void)fflush(out);
}

static int read_target(struct call *k, const char *line)
{
	char address[64];
	uint32_t base = 0;
	int words = sscanf(line, "%63s %" SCNu32 " %" SCNu8 " %" SCNu32,
			   address, &k->ssrc, &k->pt, &base);

	if (words < 3 || k->pt > 127 || address_parse(address, &k->to))
		return -EINVAL;
	k->match.based = words > 3;
	k->match.base = base;
	return 0;
}

int calls_targets(struct calls *c, FILE *in, struct cr_err *e)
{
	uint32_t step = (uint32_t)(c->opt->every * c->opt->out_clock / CR_SEC);
	char line[LINE_BYTES];

	for (int64_t i = 0; i < c->opt->calls; i++) {
		if (!fgets(line, sizeof(line), in))
			return cr_fail(e, -EINVAL,
				       "%" PRId64 " targets for %" PRId64
				       " calls",
				       i, c->opt->calls);
		if (read_target(&c->call[i], line))
			return cr_fail(e, -EINVAL,
				       "target %" PRId64
				       ": not ADDR:PORT SSRC PT [BASE]: %s",
				       i + 1, line);
		c->call[i].match.step = step;
	}
	return 0;
}

static bool counts(const struct calls *c, cr_ns sent)
{
	return sent >= c->begin && sent < c->end;
}

void calls_send(struct calls *c, unsigned i, cr_ns due)
{
	struct call *k = &c->call[i];
	cr_ns now = clock_now();
	uint32_t frame = match_sent(&k->match, now);
	const struct rtp_packet h = { .pt = k->pt,
				      .marker = !frame,
				      .seq = (uint16_t)(k->seq + frame),
				      .ts = CALLS_TS_FIRST +
					    frame * c->rtp_ticks,
				      .ssrc = k->ssrc };
	const size_t bytes = c->payloads.bytes;
	uint8_t packet[PACKET_BYTES];

	(void)rtp_build(packet, &h);
	memcpy(packet + RTP_HEADER_BYTES, payloads_of(&c->payloads, i, frame),
	       bytes);
	if (sendto(k->fd, packet, RTP_HEADER_BYTES + bytes, MSG_DONTWAIT,
		   (struct sockaddr *)&k->to, address_length(&k->to)) < 0) {
		match_unsent(&k->match);
		c->tally.refused += counts(c, now);
	} else if (counts(c, now)) {
		c->tally.sent++;
		histogram_add(&c->tally.late, now - due);
	}
}

static void count(struct calls *c, unsigned i, const struct rtp_packet *p,
		  cr_ns arrival)
{
	struct tally *t = &c->tally;
	uint32_t frame = 0;
	cr_ns sent = 0;
	enum match_kind kind =
		match_answer(&c->call[i].match, p->seq, p->ts, &frame, &sent);

	if (kind == MATCH_STRANGE || kind == MATCH_DUPLICATE) {
		t->strange += kind == MATCH_STRANGE;
		t->duplicate += kind == MATCH_DUPLICATE;
		return;
	}
	if (!counts(c, sent))
		return;
	t->received++;
	t->reordered += kind == MATCH_LATE;
	t->out_of_sequence += kind == MATCH_SEQUENCE;
	t->wrong += !payloads_right(&c->payloads,
				    (enum payloads_expect)c->opt->expect,
				    payloads_of(&c->payloads, i, frame),
				    p->payload, p->payload_bytes);
	histogram_add(&t->delay, arrival - sent);
}

/* A packet that came to the socket of call @i, or to that of all. */
static void take(struct calls *c, unsigned i, const struct intake_packet *in)
{
	struct rtp_packet p;

	if (rtp_parse(in->data, in->bytes, &p)) {
		c->tally.strange++;
		return;
	}
	if (c->opt->layout == LOAD_SHARED)
		i = p.ssrc - 1;
	if (i < (unsigned)c->opt->calls)
		count(c, i, &p, in->arrival);
	else
		c->tally.strange++;
}

void calls_receive(struct calls *c)
{
	struct epoll_event ready[EVENTS];
	struct intake_packet p;
	int n;

	do {
		n = epoll_wait(c->epoll, ready, EVENTS, 0);
		for (int i = 0; i < n; i++) {
			(void)intake_receive(c->intake,
					     c->fds[ready[i].data.u32]);
			while (intake_next(c->intake, &p))
				take(c, ready[i].data.u32, &p);
		}
	} while (n > 0);
}
