/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The far side's view of what we send, as its reports tell it.
 */
#include "rtp/feedback.h"

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
static cr_ns sent_at(const struct feedback *f, uint32_t lsr)
{
	for (unsigned i = 0; i < FEEDBACK_SRS; i++)
		if (f->sr[i].lsr == lsr)
			return f->sr[i].at;
	return CR_NEVER;
}

/* Units of 1/65536 s in ns; below 2^47. */
static cr_ns from_short(uint32_t t)
{
	return (cr_ns)(((uint64_t)t * (CR_SEC >> 9)) >> 7);
}

static void round_trip(struct feedback *f, const struct rtcp_report *r,
		       cr_ns now)
{
	cr_ns at = r->lsr ? sent_at(f, r->lsr) : CR_NEVER;
	cr_ns rtt;

	if (!r->lsr)
		return;
	if (at == CR_NEVER) {
		f->odd++;
		return;
	}
	rtt = now - at - from_short(r->dlsr);
	if (rtt < -ROUNDING) {
		f->odd++;
		return;
	}
	span_add(&f->rtt, (uint64_t)cr_ns_max(rtt, 0));
}

void feedback_report(struct feedback *f, const struct rtcp_report *r, cr_ns now)
{
	f->reports++;
	f->lost = r->lost;
	f->highest = r->highest;
	span_add(&f->fraction, r->fraction);
	span_add(&f->jitter, r->jitter);
	round_trip(f, r, now);
}

uint64_t feedback_mean(const struct feedback_span *s)
{
	return s->n ? s->sum / s->n : 0;
}
