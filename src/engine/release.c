/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The release models: plain arithmetic on arrivals, no clock.
 */
#include "engine/release.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static const char *const names[] = {
	[RELEASE_SPORADIC] = "sporadic",
	[RELEASE_PERIODIC] = "periodic",
	[RELEASE_RATE] = "rate",
	[RELEASE_LBAP] = "lbap",
};

#define NKINDS ((int)(sizeof(names) / sizeof(names[0])))

int release_init(struct release *r, const struct release_cfg *cfg,
		 struct cr_err *e)
{
	if ((int)cfg->kind < 0 || (int)cfg->kind >= NKINDS)
		return cr_fail(e, -EINVAL, "no release model %d",
			       (int)cfg->kind);
	if (cfg->period <= 0)
		return cr_fail(e, -EINVAL, "release model %s: period > 0",
			       names[cfg->kind]);
	if (cfg->spacing < 0)
		return cr_fail(e, -EINVAL, "release model %s: spacing >= 0",
			       names[cfg->kind]);
	if (cfg->rel_deadline <= 0)
		return cr_fail(e, -EINVAL,
			       "release model %s: relative deadline > 0",
			       names[cfg->kind]);
	if (cfg->kind == RELEASE_RATE &&
	    (cfg->x < 1 || cfg->x > RELEASE_MAX_X || cfg->y <= 0))
		return cr_fail(e, -EINVAL,
			       "release model rate: x from 1 to %u and y > 0",
			       RELEASE_MAX_X);
	*r = (struct release){ .cfg = *cfg };
	return 0;
}

void release_hold(struct release_cfg *r, unsigned frames)
{
	r->ahead_max = frames * r->period;
	if (r->kind == RELEASE_LBAP)
		r->ahead_max = cr_ns_max(
			r->ahead_max,
			r->burst * (r->spacing ? r->spacing : r->period));
}

void release_change(struct release *r, const struct release_cfg *cfg)
{
	if (cfg->period != r->cfg.period && r->count &&
	    cfg->kind == RELEASE_PERIODIC) {
		r->first = r->last;
		r->count = 1;
	}
	r->cfg = *cfg;
}

/* The least distance of logical arrivals. */
static cr_ns arrival_spacing(const struct release *r)
{
	bool own = r->cfg.kind == RELEASE_LBAP && r->cfg.spacing;

	return own ? r->cfg.spacing : r->cfg.period;
}

/* The grid that the first arrival laid; a late frame counts from itself. */
static cr_ns on_grid(const struct release *r, cr_ns arrival)
{
	cr_ns offset;

	if (!r->count)
		return arrival;
	if (__builtin_mul_overflow((int64_t)r->count, r->cfg.period, &offset))
		return CR_NEVER;
	return cr_ns_max(arrival, cr_ns_add(r->first, offset));
}

/* By the model alone: ahead of @arrival without end. */
static inline cr_ns logical(const struct release *r, cr_ns arrival)
{
	switch (r->cfg.kind) {
	case RELEASE_PERIODIC:
		return on_grid(r, arrival);
	case RELEASE_SPORADIC:
	case RELEASE_LBAP:
		if (r->count)
			return cr_ns_max(
				arrival,
				cr_ns_add(r->last, arrival_spacing(r)));
		break;
	case RELEASE_RATE:
		break;
	}
	return arrival;
}

/* @at, but ahead_max after @from at most. */
static cr_ns held(const struct release *r, cr_ns from, cr_ns at)
{
	if (!r->cfg.ahead_max)
		return at;
	return cr_ns_min(at, cr_ns_add(from, r->cfg.ahead_max));
}

/* D(i) = max(t(i) + d, D(i - x) + y); deadline[] is a ring of the last x. */
static cr_ns rate_deadline(const struct release *r, cr_ns arrival)
{
	cr_ns due = cr_ns_add(arrival, r->cfg.rel_deadline), spread;

	if (r->count < r->cfg.x)
		return due;
	spread = cr_ns_add(r->deadline[r->count % r->cfg.x], r->cfg.y);
	return held(r, due, cr_ns_max(due, spread));
}

/* Jobs ahead of their logical arrival, beyond what the burst allows? */
static bool violates_burst(const struct release *r, cr_ns arrival,
			   cr_ns logical)
{
	cr_ns apart = arrival_spacing(r);

	return (logical - arrival + apart - 1) / apart > (int64_t)r->cfg.burst;
}

/* @unheld: the logical arrival. */
static inline struct release_times times_of(const struct release *r,
					    cr_ns arrival, cr_ns unheld)
{
	struct release_times t;

	t.eligible = held(r, arrival, unheld);
	t.deadline = r->cfg.kind == RELEASE_RATE
			     ? rate_deadline(r, arrival)
			     : cr_ns_add(t.eligible, r->cfg.rel_deadline);
	return t;
}

struct release_times release_next(const struct release *r, cr_ns arrival)
{
	return times_of(r, arrival, logical(r, arrival));
}

struct release_times release_arrival(struct release *r, cr_ns arrival)
{
	cr_ns unheld = logical(r, arrival);
	struct release_times t = times_of(r, arrival, unheld);

	if (r->cfg.kind == RELEASE_LBAP && violates_burst(r, arrival, unheld))
		r->violations++;
	if (r->cfg.kind == RELEASE_RATE)
		r->deadline[r->count % r->cfg.x] = t.deadline;
	if (!r->count)
		r->first = arrival;
	if (r->cfg.kind == RELEASE_PERIODIC && t.eligible < unheld) {
		r->first = t.eligible; /* a new grid begins with it */
		r->count = 0;
	}
	r->last = t.eligible;
	r->count++;
	return t;
}
