/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RTCP of one endpoint: hands what comes to reception.c and feedback.c, and
 * makes reports of what they know. Formats are rtcp.c's.
 */
#include "rtp/rtcp_session.h"

#include <errno.h>

#define RATE_MAX 1000000u
/* An SR counts on from a packet of two intervals before; timestamp() must
 * reach that far. */
#define INTERVAL_MAX (600 * CR_SEC)

/* Seconds from 1900 to 1970 (RFC 868). */
#define NTP_1970 UINT64_C(2208988800)

/* SR with a report, CNAME, BYE with a reason: each at its longest. */
_Static_assert(RTCP_BUILD_BYTES >= 52 + 268 + 264, "a report must fit");
_Static_assert(offsetof(struct reception, source) +
			       offsetof(struct rtp_source, base) <=
		       RECEPTION_HOT_BYTES,
	       "a packet in order must touch one line");

static bool good_rate(uint32_t rate)
{
	return rate >= 1 && rate <= RATE_MAX;
}

static bool good_cname(const char *s)
{
	size_t n = 0;

	while (n <= RTCP_TEXT_BYTES && s[n])
		n++;
	return n >= 1 && n <= RTCP_TEXT_BYTES;
}

int rtcp_session_init(struct rtcp_session *s,
		      const struct rtcp_session_config *cfg, cr_ns now)
{
	if (!good_rate(cfg->rate_in) || !good_rate(cfg->rate_out) ||
	    cfg->interval < 0 || cfg->interval > INTERVAL_MAX ||
	    !good_cname(cfg->cname))
		return -EINVAL;
	*s = (struct rtcp_session){ .cfg = *cfg };
	reception_init(&s->heard, cfg->rate_in);
	rtcp_clock_init(&s->clock, cfg->seed, cfg->interval, now);
	return 0;
}

int rtcp_session_set_rates(struct rtcp_session *s, uint32_t in, uint32_t out)
{
	if (!good_rate(in) || !good_rate(out))
		return -EINVAL;
	reception_set_rate(&s->heard, in);
	s->cfg.rate_in = in;
	s->cfg.rate_out = out;
	return 0;
}

/* --- what comes --- */

/* Of a source that we do not hear, we could report nothing. */
static void hear_sender(struct rtcp_session *s, const struct rtcp_packet *p,
			cr_ns now)
{
	if (!s->heard.source.started || p->ssrc == s->heard.ssrc)
		reception_sender(&s->heard, p->ssrc, p->sender.ntp, now);
}

static void hear_reports(struct rtcp_session *s, const struct rtcp_packet *p,
			 cr_ns now)
{
	for (unsigned i = 0; i < p->count; i++) {
		struct rtcp_report r = rtcp_report_at(p, i);

		if (r.ssrc == s->cfg.ssrc)
			feedback_report(&s->far, &r, now);
	}
}

static void hear_bye(struct rtcp_session *s, const struct rtcp_packet *p)
{
	for (unsigned i = 0; i < p->count; i++)
		if (s->heard.source.started &&
		    rtcp_bye_at(p, i) == s->heard.ssrc)
			s->byes++;
}

static void hear(struct rtcp_session *s, const struct rtcp_packet *p, cr_ns now)
{
	switch (p->type) {
	case RTCP_SR:
	case RTCP_RR:
		if (p->ssrc == s->cfg.ssrc) {
			s->collisions++;
			return;
		}
		if (p->type == RTCP_SR)
			hear_sender(s, p, now);
		hear_reports(s, p, now);
		return;
	case RTCP_BYE:
		hear_bye(s, p);
		return;
	default:
		return;
	}
}

int rtcp_heard(struct rtcp_session *s, const uint8_t *p, size_t n, cr_ns now)
{
	struct rtcp_reader r;
	struct rtcp_packet packet;
	int reason = rtcp_open(&r, p, n);

	if (reason) {
		s->refused[-reason]++;
		return reason;
	}
	s->packets_in++;
	s->octets_in += n;
	while (rtcp_next(&r, &packet))
		hear(s, &packet, now);
	return 0;
}

/* --- what goes --- */

uint64_t rtcp_ntp(cr_ns wall)
{
	uint64_t seconds = (uint64_t)(wall / CR_SEC) + NTP_1970;
	uint64_t rest = (uint64_t)(wall % CR_SEC);

	return seconds << 32 | (rest << 32) / CR_SEC;
}

static uint64_t sent_total(const struct rtcp_session *s)
{
	return atomic_load_explicit(&s->cfg.sent->total, memory_order_relaxed);
}

/* The RTP timestamp of a frame that would be sent at @now. */
static uint32_t timestamp(const struct rtcp_session *s, cr_ns now)
{
	uint64_t last =
		atomic_load_explicit(&s->cfg.sent->last, memory_order_relaxed);
	/* the sender's clock may be read after ours */
	int32_t units = (int32_t)((uint32_t)(now >> 10) - (uint32_t)last);
	int64_t ticks = (int64_t)units * 1024 * (int64_t)s->cfg.rate_out;

	return (uint32_t)(last >> 32) + (uint32_t)(ticks / CR_SEC);
}

static struct rtcp_sender sender(const struct rtcp_session *s, cr_ns now,
				 cr_ns wall)
{
	uint64_t total = sent_total(s);

	return (struct rtcp_sender){
		.ntp = rtcp_ntp(wall),
		.rtp_ts = timestamp(s, now),
		.packets = (uint32_t)(total >> 32),
		.octets = (uint32_t)total,
	};
}

/* SR if we have sent since the report before the last one (RFC 3550, 6.4), or
 * RR; and SDES. Never lacks room. */
static void put_report(struct rtcp_session *s, struct rtcp_writer *w, cr_ns now,
		       cr_ns wall)
{
	const struct rtcp_sender us = sender(s, now, wall);
	struct rtcp_report source;
	unsigned n = reception_report(&s->heard, now, &source) ? 1 : 0;
	bool sends = us.packets != s->told[1];

	(void)rtcp_put_report(w, s->cfg.ssrc, sends ? &us : NULL, &source, n);
	(void)rtcp_put_cname(w, s->cfg.ssrc, s->cfg.cname);
	if (sends)
		feedback_sr(&s->far, us.ntp, now);
	s->told[1] = s->told[0];
	s->told[0] = us.packets;
	s->packets_out++;
}

size_t rtcp_build(struct rtcp_session *s, uint8_t *buf, cr_ns now, cr_ns wall)
{
	struct rtcp_writer w = { .buf = buf, .size = RTCP_BUILD_BYTES };

	if (!rtcp_clock_ready(&s->clock, now))
		return 0;
	put_report(s, &w, now, wall);
	return w.bytes;
}

size_t rtcp_bye(struct rtcp_session *s, uint8_t *buf, cr_ns now, cr_ns wall,
		const char *reason)
{
	struct rtcp_writer w = { .buf = buf, .size = RTCP_BUILD_BYTES };

	rtcp_clock_stop(&s->clock);
	if (!s->packets_out && !sent_total(s))
		return 0;
	put_report(s, &w, now, wall);
	(void)rtcp_put_bye(&w, s->cfg.ssrc, reason);
	return w.bytes;
}

void rtcp_cname(const uint64_t random[2], char out[RTCP_CNAME_BYTES])
{
	static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "abcdefghijklmnopqrstuvwxyz0123456789+/";

	for (unsigned i = 0; i < RTCP_CNAME_BYTES - 1; i++)
		out[i] = digit[random[i / 8] >> i % 8 * 6 & 63];
	out[RTCP_CNAME_BYTES - 1] = '\0';
}
