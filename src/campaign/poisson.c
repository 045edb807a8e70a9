/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Poisson process whose rate changes, by thinning (Lewis and Shedler,
 * "Simulation of nonhomogeneous Poisson processes by thinning", 1979): one of
 * the highest rate, of which each arrival stays with the probability that the
 * rate then is of the highest.
 */
#include "campaign/poisson.h"

/* Mean time between calls at the highest rate; @n: as many as the flow has. */
static cr_ns mean_gap(const struct campaign_flow *f, int64_t most, uint64_t n)
{
	if (!f->start.poisson.of_hold)
		return (cr_ns)(1e15 / (double)most);
	return (cr_ns)((__int128)f->hold.mean * CR_PPM / ((__int128)most * n));
}

void poisson_init(struct poisson *p, const struct campaign_flow *f, uint64_t n,
		  cr_ns duration, struct random random)
{
	const struct campaign_start *s = &f->start;

	*p = (struct poisson){ .start = s, .random = random, .at = s->at };
	if (s->poisson.of_hold && !n)
		return; /* it has ended */
	for (unsigned i = 0; i < s->poisson.rates; i++)
		if (s->poisson.rate[i] > p->most)
			p->most = s->poisson.rate[i];
	p->mean = mean_gap(f, p->most, n);
	p->end = duration;
	if (s->spread)
		p->end = cr_ns_min(s->at + s->spread, duration);
}

/* At p->at, along the line from one rate to the next. */
static int64_t rate_now(const struct poisson *p)
{
	const int64_t *rate = p->start->poisson.rate;
	cr_ns spread = p->start->spread;
	__int128 along = (__int128)(p->at - p->start->at) *
			 (p->start->poisson.rates - 1);
	unsigned endpoint = (unsigned)(along / spread);
	__int128 rise = rate[endpoint + 1] - rate[endpoint];

	return rate[endpoint] + (int64_t)(rise * (along % spread) / spread);
}

static bool stays(struct poisson *p)
{
	return p->start->poisson.rates == 1 ||
	       random_time(&p->random, p->most - 1) < rate_now(p);
}

bool poisson_next(struct poisson *p, cr_ns *at)
{
	do {
		p->at = cr_ns_add(p->at,
				  random_exponential(&p->random, p->mean));
		if (p->at >= p->end)
			return false;
	} while (!stays(p));
	*at = p->at;
	return true;
}
