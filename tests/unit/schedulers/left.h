/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random calls and what they leave, by plain sums over every ns: the oracle of
 * residual.c and be_server.c.
 */
#ifndef TESTS_UNIT_SCHEDULERS_LEFT_H
#define TESTS_UNIT_SCHEDULERS_LEFT_H

#include <string.h>

#include "cmocka_cr.h"
#include "schedulers/be_server.h"
#include "seed.h"

enum { CALLS = 6, HORIZON = 40000 };

struct world {
	struct cr_task call[CALLS];
	unsigned n;
	cr_ns smax, least;
	struct residual residual;
	cr_ns e[HORIZON]; /* in units of 1 / SCALE */
};

/* Every period divides it, and so does a second of peaks. */
#define SCALE INT64_C(11520)
/* Rounding, in ns: of a piece's begin, and of steep ones' ends. */
#define ROUNDING 8

static inline struct cr_task call_of(cr_ns period, cr_ns deadline, cr_ns cost)
{
	return (struct cr_task){ .cls = CR_SOFT,
				 .period = period,
				 .rel_deadline = deadline,
				 .cost = { .mean = cost, .p99 = cost } };
}

/* A(t) * SCALE of one call, t >= 0. */
static inline int64_t arrivals(const struct cr_task *t, cr_ns at)
{
	const struct cr_contract *c = &t->contract;
	int64_t jobs = c->jobs ? c->jobs : 1,
		per = c->jobs ? c->per : t->period;
	int64_t a = (jobs + c->burst) * SCALE + jobs * at * SCALE / per;
	int64_t peak = SCALE +
		       c->peak_jobs_per_sec / 100 * at * SCALE / (CR_SEC / 100);

	if (c->peak_jobs_per_sec && peak < a)
		a = peak;
	return t->cost.p99 * a;
}

static inline void sum_up(struct world *w)
{
	int64_t least = INT64_MAX;

	for (cr_ns at = HORIZON; at-- > 0;) {
		int64_t r = (at - w->smax) * SCALE;

		for (unsigned i = 0; i < w->n; i++)
			if (at >= w->call[i].rel_deadline)
				r -= arrivals(&w->call[i],
					      at - w->call[i].rel_deadline);
		least = cr_ns_min(least, r);
		w->e[at] = least;
	}
}

/* Calls that leave something: of periods that divide SCALE, some with bursts
 * and peaks, together a share of at most 7/8. */
static inline void draw_world(struct world *w, uint64_t *seed)
{
	static const cr_ns periods[] = {
		192, 256, 320, 384, 480, 576, 640, 768
	};
	unsigned n = 1 + test_below(seed, CALLS);

	*w = (struct world){ .least = 1 + test_below(seed, 99) };
	w->smax = test_below(seed, 2) ? 99 : 0;
	for (unsigned i = 0; i < n; i++) {
		cr_ns t = periods[test_below(seed, 8)];
		cr_ns most = 7 * t / 8 / (cr_ns)n;
		struct cr_task c = call_of(t, 1 + test_below(seed, 1000), 1);

		if (most < 1)
			continue;
		c.cost.p99 = 1 + test_below(seed, (unsigned)most);
		if (test_below(seed, 2)) {
			c.contract.jobs = 1;
			c.contract.per = t;
			c.contract.burst = test_below(seed, 4);
			c.contract.peak_jobs_per_sec =
				test_below(seed, 2) * 12500000;
		}
		w->call[w->n++] = c;
	}
	for (unsigned i = 0; i < w->n; i++)
		assert_false(residual_add(&w->residual, &w->call[i]));
	sum_up(w);
}

/* The least t with E(t) >= y, or HORIZON. */
static inline cr_ns plain_inverse(const struct world *w, cr_ns y)
{
	cr_ns t = 0;

	while (t < HORIZON && w->e[t] < y * SCALE)
		t++;
	return t;
}

static inline struct be_server server_of(const struct world *w,
					 enum be_rule rule)
{
	struct be_server s = { .rule = rule };

	be_server_curve(&s, &w->residual, w->smax, w->least);
	return s;
}

#endif
