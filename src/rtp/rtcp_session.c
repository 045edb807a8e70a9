/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RTCP of one endpoint: when reports are due, what they say of the source that
 * is heard (reception), and what the far side's reports say of us (feedback).
 * Formats are rtcp.c's, sequence numbers rtp.c's.
 */
#include "rtp/rtcp_session.h"

#include <errno.h>

#include "base/random.h"

/* --- when --- */

/*
 * The transmission timer of RFC 3550, 6.3, with reconsideration: an interval is
 * drawn when the timer is set and again when it expires, and a report goes only
 * if the second is no longer than the first. Else the timer is set to it. What
 * passes is U = 0.5 to 1.5, with a mean of e - 1.5, so the intervals are
 * divided by that (6.3.1).
 */

/* e - 1.5, in 1/100000. */
#define COMPENSATION 121828

/* (0.5 + [0, 1)) * base, or half of it before the first report. */
static cr_ns draw_interval(struct rtcp_clock *c)
{
	uint64_t r = splitmix64(&c->random);
	cr_ns base = c->sent ? c->base : c->base / 2;

	return base / 2 + (cr_ns)((unsigned __int128)r * (uint64_t)base >> 64);
}

void rtcp_clock_init(struct rtcp_clock *c, uint64_t seed, cr_ns interval,
		     cr_ns now)
{
	*c = (struct rtcp_clock){
		.random = seed,
		.base = interval * 100000 / COMPENSATION,
		.last = now,
		.due = CR_NEVER,
	};
	if (interval)
		c->due = now + draw_interval(c);
}

bool rtcp_clock_ready(struct rtcp_clock *c, cr_ns now)
{
	if (now < c->due)
		return false;
	c->due = c->last + draw_interval(c);
	if (now < c->due)
		return false;
	c->sent = true;
	c->last = now;
	c->due = now + draw_interval(c);
	return true;
}

/* --- feedback --- */

/* Some round DLSR to ms: on a short way more than the way took. */
#define ROUNDING (2 * CR_MS)

static void span_add(struct feedback_span *s, uint64_t v)
{
	if (!s->n || v < s->min)
		s->min = v;
	if (v > s->max)
		s->max = v;
	s->last = v;
	s->sum += v;
	s->n++;
}

void feedback_sr(struct feedback *f, uint64_t ntp, cr_ns now)
{
	f->sr[f->next].lsr = (uint32_t)(ntp >> 16);
	f->sr[f->next].at = now;
	f->next = (f->next + 1) % FEEDBACK_SRS;
}

/* When the SR was sent that @lsr is of; CR_NEVER: unknown. */
static cr_ns sr_sent_at(const struct feedback *f, uint32_t lsr)
{
	for (unsigned i = 0; i < FEEDBACK_SRS; i++)
		if (f->sr[i].lsr == lsr)
			return f->sr[i].at;
	return CR_NEVER;
}

void feedback_report(struct feedback *f, const struct rtcp_report *r, cr_ns now)
{
	cr_ns at = r->lsr ? sr_sent_at(f, r->lsr) : CR_NEVER, rtt;

	f->reports++;
	f->lost = r->lost;
	f->highest = r->highest;
	span_add(&f->fraction, r->fraction);
	span_add(&f->jitter, r->jitter);
	if (!r->lsr)
		return;
	if (at == CR_NEVER) {
		f->odd++;
		return;
	}
	/* dlsr is in 1/65536 s */
	rtt = now - at - (cr_ns)(((uint64_t)r->dlsr * (CR_SEC >> 9)) >> 7);
	if (rtt < -ROUNDING) {
		f->odd++;
		return;
	}
	span_add(&f->rtt, (uint64_t)cr_ns_max(rtt, 0));
}

uint64_t feedback_mean(const struct feedback_span *s)
{
	return s->n ? s->sum / s->n : 0;
}

/* --- reception --- */

/*
 * The receiver's view of one source. Sequence numbers are rtp.c's; here are the
 * jitter (A.8), the fraction lost (A.3) and the time of the last SR.
 */

/* No network keeps a packet that long: its sender has set its clock. */
#define TRANSIT_JUMP_SECONDS 10u

/* (rate << 64) / 10^9 in words of 64 bits: 10^9 is 5^9 << 9. */
static uint64_t per_ns(uint32_t rate)
{
	const uint64_t by = 1953125, n = (uint64_t)rate << 44;

	return (n / by << 11) + (n % by << 11) / by;
}

void reception_init(struct reception *r, uint32_t rate)
{
	*r = (struct reception){ 0 };
	reception_set_rate(r, rate);
}

void reception_set_rate(struct reception *r, uint32_t rate)
{
	if (r->rate == rate)
		return;
	if (r->rate)
		r->jitter = (uint32_t)((uint64_t)r->jitter * rate / r->rate);
	r->rate = rate;
	r->per_ns = per_ns(rate);
	r->timed = false;
}

/* A time on the RTP clock, modulo 2^32. */
static uint32_t ticks(const struct reception *r, cr_ns time)
{
	return (uint32_t)((unsigned __int128)(uint64_t)time * r->per_ns >> 64);
}

static void count_jitter(struct reception *r, uint32_t ts, cr_ns now)
{
	uint32_t transit = ticks(r, now) - ts;
	uint32_t d = transit - r->transit;

	r->transit = transit;
	if (!r->timed) {
		r->timed = true;
		return;
	}
	if (d > INT32_MAX)
		d = -d;
	if (d < r->rate * TRANSIT_JUMP_SECONDS)
		r->jitter += d - ((r->jitter + 8) >> 4);
}

enum rtp_arrival reception_packet(struct reception *r,
				  const struct rtp_packet *p, bool timed,
				  cr_ns now)
{
	enum rtp_arrival arrival;

	if (!r->source.started || p->ssrc != r->ssrc) {
		/* Another source: keep what the whole session adds up. */
		r->lost_before = reception_lost(r);
		r->packets_before = reception_received(r);
		r->sources++;
		r->ssrc = p->ssrc;
		r->source = (struct rtp_source){ 0 };
		r->timed = false;
		r->jitter = 0;
		r->expected = 0;
		r->received = 0;
	}
	arrival = rtp_source_update(&r->source, p->seq);
	if (arrival == RTP_RESTART)
		r->timed = false;
	if (timed && arrival != RTP_OUT_OF_RANGE && arrival != RTP_DUPLICATE)
		count_jitter(r, p->ts, now);
	return arrival;
}

void reception_sender(struct reception *r, uint32_t ssrc, uint64_t ntp,
		      cr_ns now)
{
	r->sr_ssrc = ssrc;
	r->lsr = (uint32_t)(ntp >> 16);
	r->sr_at = now;
}

/* 256 times @lost / @expected, within what an octet holds. */
static uint8_t fraction_lost(int64_t lost, int64_t expected)
{
	int64_t f;

	if (lost <= 0 || expected <= 0)
		return 0;
	f = lost * 256 / expected;
	return f > 255 ? 255 : (uint8_t)f;
}

/* Whole units of 1/65536 s. */
static uint32_t short_time(cr_ns t)
{
	cr_ns seconds = t / CR_SEC;

	if (t < 0)
		return 0;
	if (seconds > 65535)
		return UINT32_MAX;
	return (uint32_t)(seconds << 16 | (t % CR_SEC << 16) / CR_SEC);
}

/* RFC 3550 begins with cycle 0, rtp.c with cycle 1. */
static uint32_t highest(const struct rtp_source *s)
{
	return (uint32_t)s->ext - (1u << 16);
}

bool reception_report(struct reception *r, cr_ns now, struct rtcp_report *out)
{
	/* duplicates count as packets that came (RFC 3550) */
	uint64_t received = r->source.received + r->source.duplicates;
	int64_t lost = (int64_t)rtp_source_lost(&r->source) -
		       (int64_t)r->source.duplicates;
	uint64_t expected = received + (uint64_t)lost;
	int64_t got = (int64_t)(received - r->received);
	int64_t due = (int64_t)(expected - r->expected);

	if (!got)
		return false;
	*out = (struct rtcp_report){
		.ssrc = r->ssrc,
		.fraction = fraction_lost(due - got, due),
		.lost = lost > INT32_MAX   ? INT32_MAX
			: lost < INT32_MIN ? INT32_MIN
					   : (int32_t)lost,
		.highest = highest(&r->source),
		.jitter = r->jitter >> 4,
	};
	if (r->lsr && r->sr_ssrc == r->ssrc) {
		out->lsr = r->lsr;
		out->dlsr = short_time(now - r->sr_at);
	}
	r->received = received;
	r->expected = expected;
	return true;
}

cr_ns reception_jitter(const struct reception *r)
{
	return r->rate ? (cr_ns)((uint64_t)r->jitter * (CR_SEC / 16) / r->rate)
		       : 0;
}

uint64_t reception_lost(const struct reception *r)
{
	return r->lost_before + rtp_source_lost(&r->source);
}

uint64_t reception_received(const struct reception *r)
{
	return r->packets_before + r->source.received;
}

/* --- session --- */

#define RATE_MAX 1000000u
/* An SR counts on from a packet of two intervals before; timestamp_at() must
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

int rtcp_session_init(struct rtcp_session *s,
		      const struct rtcp_session_config *cfg, cr_ns now)
{
	size_t cname = 0;

	while (cname <= RTCP_TEXT_BYTES && cfg->cname[cname])
		cname++;
	if (!good_rate(cfg->rate_in) || !good_rate(cfg->rate_out) ||
	    cfg->interval < 0 || cfg->interval > INTERVAL_MAX || !cname ||
	    cname > RTCP_TEXT_BYTES)
		return -EINVAL;
	*s = (struct rtcp_session){ .cfg = *cfg };
	reception_init(&s->heard, cfg->rate_in);
	rtcp_clock_init(&s->clock, cfg->seed, cfg->interval, now);
	return 0;
}

/* Numbers that no session comes to. */
static bool is_beyond_reach(const struct reception *r)
{
	const struct rtp_source *s = &r->source;

	return (s->received | s->ext | s->base | s->past | s->duplicates |
		r->lost_before | r->packets_before | r->expected |
		r->received) >>
	       48;
}

/* @at, of a process that has died, or before all. */
static cr_ns past_time(cr_ns at, cr_ns now)
{
	return cr_ns_max(0, cr_ns_min(at, now));
}

int rtcp_session_resume(struct rtcp_session *s,
			const struct rtcp_session_config *cfg, cr_ns now)
{
	const struct rtcp_clock was = s->clock;
	const uint32_t ssrc = s->cfg.ssrc;

	if (!ssrc || !good_rate(s->heard.rate) || !good_rate(cfg->rate_in) ||
	    !good_rate(cfg->rate_out) || s->far.next >= FEEDBACK_SRS ||
	    is_beyond_reach(&s->heard))
		return -EINVAL;
	s->heard.sr_at = past_time(s->heard.sr_at, now);
	for (unsigned i = 0; i < FEEDBACK_SRS; i++)
		s->far.sr[i].at = past_time(s->far.sr[i].at, now);
	s->cfg = *cfg;
	s->cfg.ssrc = ssrc;
	rtcp_clock_init(&s->clock, cfg->seed, cfg->interval, now);
	s->clock.sent = was.sent;
	/* a report that was due goes now */
	s->clock.due = cr_ns_min(s->clock.due, cr_ns_max(was.due, now));
	s->clock.last = past_time(was.last, now);
	return rtcp_session_set_rates(s, cfg->rate_in, cfg->rate_out);
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

static void hear_part(struct rtcp_session *s, const struct rtcp_packet *p,
		      cr_ns now)
{
	switch (p->type) {
	case RTCP_SR:
	case RTCP_RR:
		if (p->ssrc == s->cfg.ssrc) {
			s->collisions++;
			return;
		}
		/* without a received source there is nothing to report */
		if (p->type == RTCP_SR &&
		    (!s->heard.source.started || p->ssrc == s->heard.ssrc))
			reception_sender(&s->heard, p->ssrc, p->sender.ntp,
					 now);
		for (unsigned i = 0; i < p->count; i++) {
			struct rtcp_report r = rtcp_report_at(p, i);

			if (r.ssrc == s->cfg.ssrc)
				feedback_report(&s->far, &r, now);
		}
		return;
	case RTCP_BYE:
		for (unsigned i = 0; i < p->count; i++)
			if (s->heard.source.started &&
			    rtcp_bye_at(p, i) == s->heard.ssrc)
				s->byes++;
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
		hear_part(s, &packet, now);
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
static uint32_t timestamp_at(const struct rtcp_session *s, cr_ns now)
{
	uint64_t last =
		atomic_load_explicit(&s->cfg.sent->last, memory_order_relaxed);
	/* in 1024 ns; the sender's clock may be read after ours */
	int32_t passed = (int32_t)((uint32_t)(now >> 10) - (uint32_t)last);
	int64_t ticks = (int64_t)passed * 1024 * (int64_t)s->cfg.rate_out;

	return (uint32_t)(last >> 32) + (uint32_t)(ticks / CR_SEC);
}

/* SR if we have sent since the report before the last one (RFC 3550, 6.4), or
 * RR; and SDES. Never lacks room. */
static void put_report(struct rtcp_session *s, struct rtcp_writer *w, cr_ns now,
		       cr_ns wall)
{
	uint64_t total = sent_total(s);
	const struct rtcp_sender us = {
		.ntp = rtcp_ntp(wall),
		.rtp_ts = timestamp_at(s, now),
		.packets = (uint32_t)(total >> 32),
		.octets = (uint32_t)total,
	};
	struct rtcp_report source;
	unsigned n = reception_report(&s->heard, now, &source) ? 1 : 0;
	bool sends = us.packets != s->reported[1];

	(void)rtcp_put_report(w, s->cfg.ssrc, sends ? &us : NULL, &source, n);
	(void)rtcp_put_cname(w, s->cfg.ssrc, s->cfg.cname);
	if (sends)
		feedback_sr(&s->far, us.ntp, now);
	s->reported[1] = s->reported[0];
	s->reported[0] = us.packets;
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

	s->clock.due = CR_NEVER;
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
