/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two parties talk for a minute of virtual time, over a network that loses
 * every tenth packet of the first and delays. What reaches or leaves the first
 * as RTCP is printed, a line for each: microseconds, "out" or "in", octets in
 * hex. Then what it knows at the end: "rtt NS LEAST MOST COUNT", "told LOST",
 * "lost LOST". For test_rtcp.py.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "rtp/rtcp_session.h"

#define STEP (10 * CR_MS)
#define WALL (1795392000 * CR_SEC)

enum { A = 0x22222222, B = 0x11111111 };

/* The way to the other party; one RTCP packet at a time is on it. */
struct destination {
	cr_ns delay;
	unsigned loses; /* every such packet; 0: none */
	uint8_t buf[RTCP_BUILD_BYTES];
	size_t n;
	cr_ns arrives;
};

struct party {
	struct rtcp_session s;
	struct rtcp_sent sent;
	struct destination way;
	uint32_t ssrc;
	uint16_t seq;
};

static void begin(struct party *p, uint32_t ssrc, const char *cname,
		  cr_ns delay, unsigned loses)
{
	const struct rtcp_session_config cfg = { .seed = ssrc,
						 .ssrc = ssrc,
						 .cname = cname,
						 .rate_in = 8000,
						 .rate_out = 8000,
						 .interval = RTCP_INTERVAL,
						 .sent = &p->sent };

	memset(p, 0, sizeof(*p));
	CR_ASSERT(!rtcp_session_init(&p->s, &cfg, 0));
	p->ssrc = ssrc;
	p->seq = 65000;
	p->destination.delay = delay;
	p->destination.loses = loses;
}

static void print(const struct party *p, cr_ns at)
{
	(void)printf("%" PRId64 " %s ", at / CR_US,
		     p->ssrc == A ? "out" : "in");
	for (size_t i = 0; i < p->destination.n; i++)
		(void)printf("%02x", p->destination.buf[i]);
	(void)printf("\n");
}

static void speak(struct party *from, struct party *to, cr_ns now)
{
	const struct rtp_packet p = { .ssrc = from->ssrc,
				      .seq = from->seq,
				      .ts = from->seq * 160u };

	rtcp_sent_rtp(&from->sent, 160, p.ts, now);
	if (!from->destination.loses || from->seq % from->destination.loses)
		(void)rtcp_heard_rtp(&to->s, &p, true,
				     now + from->seq % 3 * CR_MS);
	from->seq++;
}

/* @n octets are on their way; the first party's are seen as they leave. */
static void post(struct party *p, size_t n, cr_ns now)
{
	CR_ASSERT(!p->destination.n || !n);
	if (!n)
		return;
	p->destination.n = n;
	p->destination.arrives = now + p->destination.delay;
	if (p->ssrc == A)
		print(p, now);
}

static void deliver(struct party *from, struct party *to, cr_ns now)
{
	if (!from->destination.n || from->destination.arrives > now)
		return;
	if (from->ssrc == B)
		print(from, from->destination.arrives);
	CR_ASSERT(!rtcp_heard(&to->s, from->destination.buf,
			      from->destination.n, from->destination.arrives));
	from->destination.n = 0;
}

static void step(struct party *a, struct party *b, cr_ns now)
{
	deliver(b, a, now);
	deliver(a, b, now);
	if (now % (20 * CR_MS) == 0) {
		speak(a, b, now);
		if (now < 30 * CR_SEC) /* and listens from then on */
			speak(b, a, now);
	}
	if (!a->destination.n)
		post(a, rtcp_build(&a->s, a->destination.buf, now, WALL + now),
		     now);
	if (!b->destination.n)
		post(b, rtcp_build(&b->s, b->destination.buf, now, WALL + now),
		     now);
}

int main(void)
{
	static struct party a, b;
	cr_ns now = 0;

	begin(&a, A, "a@example.com", 30 * CR_MS, 10);
	begin(&b, B, "bob@example.com", 40 * CR_MS, 0);
	for (; now < 60 * CR_SEC; now += STEP)
		step(&a, &b, now);
	for (; a.destination.n || b.destination.n; now += STEP) {
		deliver(&b, &a, now);
		deliver(&a, &b, now);
	}
	post(&a, rtcp_bye(&a.s, a.destination.buf, now, WALL + now, "the end"),
	     now);
	(void)printf("rtt %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
		     feedback_mean(&a.s.far.rtt), a.s.far.rtt.min,
		     a.s.far.rtt.max, a.s.far.rtt.n);
	(void)printf("told %" PRId32 "\n", a.s.far.lost);
	(void)printf("lost %" PRIu64 "\n", reception_lost(&b.s.heard));
	return 0;
}
