/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receiver's view of one source. Sequence numbers are rtp.c's; here are the
 * jitter (A.8), the fraction lost (A.3) and the time of the last SR.
 */
#include "rtp/reception.h"

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

/* Another source: keep what the whole session adds up. */
static void begin(struct reception *r, uint32_t ssrc)
{
	r->lost_before = reception_lost(r);
	r->packets_before = reception_received(r);
	r->sources++;
	r->ssrc = ssrc;
	r->source = (struct rtp_source){ 0 };
	r->timed = false;
	r->jitter = 0;
	r->expected = 0;
	r->received = 0;
}

enum rtp_arrival reception_packet(struct reception *r,
				  const struct rtp_packet *p, bool timed,
				  cr_ns now)
{
	enum rtp_arrival arrival;

	if (!r->source.started || p->ssrc != r->ssrc)
		begin(r, p->ssrc);
	arrival = rtp_source_update(&r->source, p->seq);
	if (arrival == RTP_RESTART)
		r->timed = false;
	if (timed && arrival != RTP_STRAY && arrival != RTP_DUPLICATE)
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

/* Packets that came, duplicates included, as RFC 3550 counts them. */
static uint64_t came(const struct reception *r)
{
	return r->source.received + r->source.duplicates;
}

/* 256 times @lost / @expected, within what an octet holds. */
static uint8_t fraction(int64_t lost, int64_t expected)
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
	uint64_t received = came(r);
	int64_t lost = (int64_t)rtp_source_lost(&r->source) -
		       (int64_t)r->source.duplicates;
	uint64_t expected = received + (uint64_t)lost;
	int64_t got = (int64_t)(received - r->received);
	int64_t due = (int64_t)(expected - r->expected);

	if (!got)
		return false;
	*out = (struct rtcp_report){
		.ssrc = r->ssrc,
		.fraction = fraction(due - got, due),
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
