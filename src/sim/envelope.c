/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two token buckets, bursts and pauses.
 */
#include "sim/envelope.h"

/* The uniform distribution of a range, without its end. */
static cr_ns between(const struct campaign_range *x, struct random *r)
{
	if (x->most == x->least)
		return x->least;
	return x->least + random_time(r, x->most - x->least - 1);
}

cr_ns envelope_largest(const struct campaign_flow *f)
{
	return f->cost.kind == COST_CONSTANT ? f->cost.mean : f->cost.max;
}

void envelope_init(struct envelope *e, const struct campaign_flow *f,
		   const struct cost_model *cost, struct cost_source draws,
		   cr_ns start)
{
	*e = (struct envelope){
		.flow = f,
		.cost = cost,
		.draws = draws,
		.bucket = (__int128)f->arrival.depth * CR_PPM,
		.peak = (__int128)envelope_largest(f) * CR_PPM,
		.last = start,
		.until = -1,
	};
}

static __int128 least(__int128 a, __int128 b)
{
	return a < b ? a : b;
}

/* How long until there is as much as @need, in full ns. */
static cr_ns wait_for(__int128 need, __int128 tokens, int64_t rate)
{
	return need > tokens ? (cr_ns)((need - tokens + rate - 1) / rate) : 0;
}

/* The first time from @at on at which the sender is on. */
static cr_ns when_on(struct envelope *e, cr_ns at, struct random *r)
{
	const struct campaign_arrival *m = &e->flow->arrival;
	cr_ns from = e->last;

	if (!m->on.most)
		return at;
	if (e->until < 0) /* it begins with a burst */
		e->until = from + between(&m->on, r);
	while (at >= e->until) {
		from = e->until + between(&m->off, r);
		e->until = from + between(&m->on, r);
		at = cr_ns_max(at, from);
	}
	return at;
}

cr_ns envelope_next(struct envelope *e, struct random *r)
{
	const struct campaign_arrival *m = &e->flow->arrival;
	__int128 need = (__int128)cost_model_draw(e->cost, &e->draws) * CR_PPM;
	cr_ns at = e->last + wait_for(need, e->bucket, m->rate_ppm);
	cr_ns gone;

	if (m->peak_ppm)
		at = cr_ns_max(at,
			       e->last + wait_for(need, e->peak, m->peak_ppm));
	at = when_on(e, at, r);
	gone = at - e->last;
	e->bucket = least(e->bucket + (__int128)gone * m->rate_ppm,
			  (__int128)m->depth * CR_PPM) -
		    need;
	e->peak = least(e->peak + (__int128)gone * m->peak_ppm,
			(__int128)envelope_largest(e->flow) * CR_PPM) -
		  need;
	e->last = at;
	return at;
}
