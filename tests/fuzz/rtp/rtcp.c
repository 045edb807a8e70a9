/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as RTCP: never read outside them, and what was read can be built
 * again and means the same. A session that hears them keeps its counts right
 * and can still report.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "rtcp_items.h"
#include "rtp/rtcp_session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* All octets of @t are the input's. */
static unsigned touch(const struct rtcp_text *t, const uint8_t *data,
		      size_t size)
{
	unsigned sum = 0;

	CR_ASSERT(t->text >= data && t->text + t->bytes <= data + size);
	for (unsigned i = 0; i < t->bytes; i++)
		sum += t->text[i];
	return sum;
}

static bool same(const struct rtcp_report *a, const struct rtcp_report *b)
{
	return a->ssrc == b->ssrc && a->fraction == b->fraction &&
	       a->lost == b->lost && a->highest == b->highest &&
	       a->jitter == b->jitter && a->lsr == b->lsr && a->dlsr == b->dlsr;
}

static void check_report(const struct rtcp_packet *p)
{
	struct rtcp_report report[RTCP_COUNT_MAX];
	uint8_t buf[1024];
	struct rtcp_writer w = { .buf = buf, .size = sizeof(buf) };
	struct rtcp_reader r;
	struct rtcp_packet again;

	for (unsigned i = 0; i < p->count; i++)
		report[i] = rtcp_report_at(p, i);
	CR_ASSERT(!rtcp_put_report(&w, p->ssrc,
				   p->type == RTCP_SR ? &p->sender : NULL,
				   report, p->count));
	CR_ASSERT(!rtcp_open(&r, buf, w.bytes) && rtcp_next(&r, &again));
	CR_ASSERT(again.type == p->type && again.count == p->count);
	CR_ASSERT(again.ssrc == p->ssrc);
	CR_ASSERT(again.sender.ntp == p->sender.ntp);
	for (unsigned i = 0; i < p->count; i++) {
		struct rtcp_report b = rtcp_report_at(&again, i);

		CR_ASSERT(same(&b, &report[i]));
	}
}

static void check_packet(const struct rtcp_packet *p, const uint8_t *data,
			 size_t size)
{
	struct rtcp_items it = { 0 };
	struct rtcp_text t;

	CR_ASSERT(p->body >= data && p->body + p->body_bytes <= data + size);
	if (p->type == RTCP_SR || p->type == RTCP_RR)
		check_report(p);
	while (p->type == RTCP_SDES && rtcp_item_next(p, &it, &t))
		(void)touch(&t, data, size);
	for (unsigned i = 0; p->type == RTCP_BYE && i < p->count; i++)
		(void)rtcp_bye_at(p, i);
	if (p->type == RTCP_BYE && rtcp_bye_reason(p, &t))
		(void)touch(&t, data, size);
}

/* A session whose SSRCs and SR the corpus knows. */
static void check_session(const uint8_t *data, size_t size, int reason)
{
	struct rtcp_sent sent = { 0 };
	const struct rtcp_session_config cfg = { .seed = 1,
						 .ssrc = 0x22222222,
						 .cname = "fuzz",
						 .rate_in = 8000,
						 .rate_out = 8000,
						 .interval = RTCP_INTERVAL,
						 .sent = &sent };
	const struct rtp_packet p = { .ssrc = 0x11111111 };
	struct rtcp_session s;
	struct rtcp_reader r;
	uint8_t buf[RTCP_BUILD_BYTES];
	size_t n;

	CR_ASSERT(!rtcp_session_init(&s, &cfg, 0));
	rtcp_sent_rtp(&sent, 160, 0, 0);
	(void)rtcp_heard_rtp(&s, &p, true, 0);
	feedback_sr(&s.far, 0xeeae14c980000000, 0);
	CR_ASSERT(rtcp_heard(&s, data, size, CR_SEC) == reason);
	CR_ASSERT(s.packets_in == (reason ? 0 : 1));
	CR_ASSERT(!reason || s.refused[-reason] == 1);
	CR_ASSERT(s.far.fraction.n == s.far.reports);
	CR_ASSERT(s.far.rtt.n + s.far.odd <= s.far.reports);
	CR_ASSERT(!s.far.rtt.n || s.far.rtt.max <= (uint64_t)CR_SEC);
	n = rtcp_build(&s, buf, 10 * CR_SEC, CR_SEC);
	CR_ASSERT(n > 0 && n <= sizeof(buf) && !rtcp_open(&r, buf, n));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rtcp_reader r;
	struct rtcp_packet p;
	int reason = rtcp_open(&r, data, size);
	size_t packets = 0;

	check_session(data, size, reason);
	if (reason) {
		CR_ASSERT(reason < 0 && -reason < (int)RTCP_NREASONS);
		return 0;
	}
	while (rtcp_next(&r, &p)) {
		check_packet(&p, data, size);
		packets++;
	}
	CR_ASSERT(packets > 0 && packets <= size / 4);
	return 0;
}
