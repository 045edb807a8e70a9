/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flows to calls: how many, when each begins and how long it lasts.
 */
#include "campaign/plan.h"

#include <errno.h>
#include <stdlib.h>

#include "base/units.h"
#include "campaign/poisson.h"

/* The plan being made, and what a flow needs of it. */
struct maker {
	struct plan *plan;
	const struct plan_options *o;
	size_t room;
	uint64_t conversations; /* so far */
	struct cr_err *err;
};

/*
 * Where call number @n begins within its frame period: multiples of the golden
 * ratio, so that any number of calls is spread evenly.
 */
static cr_ns phase(uint64_t n, uint64_t seed, cr_ns ptime)
{
	uint64_t turn = n * UINT64_C(0x9e3779b97f4a7c15) + seed;

	return (cr_ns)((turn >> 32) * (uint64_t)ptime >> 32);
}

static struct plan_call *add_call(struct maker *m)
{
	struct plan *p = m->plan;
	size_t room = m->room ? 2 * m->room : 256;
	struct plan_call *grown;

	if (p->count == PLAN_CALLS_MAX) {
		(void)cr_fail(m->err, -E2BIG, "%s: more than %u calls",
			      p->campaign->path, PLAN_CALLS_MAX);
		return NULL;
	}
	if (p->count == m->room) {
		grown = realloc(p->calls, room * sizeof(*grown));
		if (!grown) {
			(void)cr_fail(m->err, -ENOMEM, "out of memory");
			return NULL;
		}
		p->calls = grown;
		m->room = room;
	}
	return &p->calls[p->count++];
}

static cr_ns holding_time(const struct campaign_hold *h, struct random *r)
{
	if (!h->exponential || h->mean == CR_NEVER)
		return h->mean;
	return random_exponential(r, h->mean);
}

/* @t * @num / @den, rounded down, for ppm: no product overflows. */
static cr_ns scaled(cr_ns t, int64_t num, int64_t den)
{
	return t / den * num + t % den * num / den;
}

cr_ns plan_frame_time(const struct plan_call *call, cr_ns ptime, uint64_t frame)
{
	cr_ns spoken = (cr_ns)frame * ptime;

	if (call->drift)
		spoken = scaled(spoken, CR_PPM, CR_PPM + call->drift);
	return call->start + spoken;
}

/* Of the caller's clock; drawn apart, so that calls with and without it are
 * otherwise the same. */
static int64_t drift_of(const struct campaign_drift *d, uint64_t seed)
{
	struct random r = random_fork(seed, 5);

	return d->least + random_time(&r, d->most - d->least);
}

/* Whole frames of @c until it has lasted @hold, or until the campaign's end. */
static uint64_t frames_of(const struct maker *m, const struct campaign_flow *f,
			  const struct plan_call *c, cr_ns hold)
{
	cr_ns end = cr_ns_min(cr_ns_add(c->start, hold), m->o->duration);
	cr_ns time = cr_ns_max(end - c->start, 0);

	return (uint64_t)(scaled(time, CR_PPM + c->drift, CR_PPM) / f->ptime);
}

static struct random random_of(uint64_t seed, unsigned flow, unsigned index)
{
	return random_fork(seed, (uint64_t)flow << 32 | index);
}

uint64_t plan_call_seed(uint64_t seed, unsigned flow, unsigned index)
{
	struct random r = random_of(seed, flow, index);

	return random_next(&r);
}

/* Number @n of the plan begins at @at, before its phase, and lasts @hold. */
static struct plan_call make_call(const struct maker *m, unsigned flow,
				  unsigned index, size_t n, cr_ns at,
				  cr_ns hold)
{
	const struct campaign_flow *f = &m->plan->campaign->flows[flow];
	struct plan_call made = { .flow = flow,
				  .index = index,
				  .seed = plan_call_seed(m->o->seed, flow,
							 index),
				  .start = at };

	/* the textbook's tasks begin together unless told otherwise */
	if (!f->synthetic)
		made.start += phase(n, m->o->seed, f->ptime);
	made.drift = drift_of(&f->drift, made.seed);
	made.frames = frames_of(m, f, &made, hold);
	return made;
}

static int keep_call(struct maker *m, const struct plan_call *made)
{
	struct plan_call *c = add_call(m);

	if (!c)
		return m->plan->count == PLAN_CALLS_MAX ? -E2BIG : -ENOMEM;
	*c = *made;
	return 0;
}

/* One call, or both directions of a conversation, that begin at @at. What is
 * too short to send a frame is left out. */
static int place_call(struct maker *m, unsigned flow, unsigned index, cr_ns at)
{
	const struct campaign_flow *f = &m->plan->campaign->flows[flow];
	struct random r = random_of(m->o->seed, flow, index);
	unsigned n = campaign_converses(f) ? 2 : 1;
	struct plan_call made[2];
	cr_ns hold;
	int rc = 0;

	(void)random_next(&r); /* the call's seed */
	hold = holding_time(&f->hold, &r);
	for (unsigned i = 0; i < n; i++) {
		made[i] = make_call(m, flow + i, index, m->plan->count + i, at,
				    hold);
		if (!made[i].frames)
			return 0;
	}
	m->conversations += n == 2;
	for (unsigned i = 0; i < n && !rc; i++) {
		made[i].conversation = n == 2 ? m->conversations : 0;
		rc = keep_call(m, &made[i]);
	}
	return rc;
}

static int place_spread(struct maker *m, unsigned flow)
{
	const struct campaign_start *s = &m->plan->campaign->flows[flow].start;
	uint64_t n = m->o->counts[flow];
	int rc = 0;

	for (uint64_t i = 0; i < n && !rc; i++)
		rc = place_call(m, flow, (unsigned)i,
				s->at + (cr_ns)((double)s->spread * (double)i /
						(double)n));
	return rc;
}

/* A share of many short calls is a rate without bounds. */
static int check_rate(const struct maker *m, const struct campaign_flow *f,
		      uint64_t n, const struct poisson *p)
{
	const cr_ns shortest = CR_SEC * CR_PPM / CAMPAIGN_RATE_MAX;
	char hold[UNITS_TEXT];

	if (!f->start.poisson.of_hold || !n || p->mean >= shortest)
		return 0;
	return cr_fail(m->err, -EINVAL,
		       "%s:%u: flow %s: its share of what keeps %llu calls of "
		       "%s up is more than %lld calls per second; give it "
		       "fewer calls, a longer hold or a smaller share",
		       m->plan->campaign->path, f->line, f->name,
		       (unsigned long long)n,
		       units_format_time(f->hold.mean, hold, sizeof(hold)),
		       (long long)(CAMPAIGN_RATE_MAX / CR_PPM));
}

static int place_poisson(struct maker *m, unsigned flow)
{
	const struct campaign_flow *f = &m->plan->campaign->flows[flow];
	uint64_t n = m->o->counts[flow];
	bool limited = n && !f->start.poisson.of_hold;
	struct poisson p;
	cr_ns at;
	int rc;

	poisson_init(&p, f, n, m->o->duration,
		     random_fork(m->o->seed, ~(uint64_t)flow));
	rc = check_rate(m, f, n, &p);
	for (unsigned i = 0; !rc && (!limited || i < n); i++) {
		if (!poisson_next(&p, &at))
			break;
		rc = place_call(m, flow, i, at);
	}
	return rc;
}

static int by_start(const void *a, const void *b)
{
	const struct plan_call *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->flow != y->flow)
		return x->flow < y->flow ? -1 : 1;
	return x->index < y->index ? -1 : 1;
}

int plan_make(struct plan *p, const struct campaign *c,
	      const struct plan_options *o, struct cr_err *e)
{
	struct plan made = { .campaign = c };
	struct maker m = { .plan = &made, .o = o, .err = e };
	int rc = 0;

	for (unsigned f = 0; f < c->flow_count && !rc; f++)
		if (!c->flows[f].party.side) /* b comes with a */
			rc = c->flows[f].start.poisson.rates
				     ? place_poisson(&m, f)
				     : place_spread(&m, f);
	if (!rc && !made.count)
		rc = cr_fail(e, -EINVAL,
			     "%s: no call sends a frame before the "
			     "campaign ends; make duration longer",
			     c->path);
	if (rc) {
		plan_fini(&made);
		return rc;
	}
	qsort(made.calls, made.count, sizeof(*made.calls), by_start);
	*p = made;
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const cr_ns *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The calls are in order of their starts. */
int plan_most_up(const struct plan *p, cr_ns before, cr_ns after, size_t *most)
{
	cr_ns *ends = malloc(p->count * sizeof(*ends));
	size_t up = 0, max = 0, ended = 0;

	if (!ends)
		return -ENOMEM;
	for (size_t i = 0; i < p->count; i++) {
		const struct plan_call *c = &p->calls[i];
		const struct campaign_flow *f = &p->campaign->flows[c->flow];

		ends[i] = plan_frame_time(c, f->ptime, c->frames) + after;
	}
	qsort(ends, p->count, sizeof(*ends), by_time);
	for (size_t i = 0; i < p->count; i++) {
		for (; ends[ended] < p->calls[i].start - before; ended++)
			up--;
		max = ++up > max ? up : max;
	}
	free(ends);
	*most = max;
	return 0;
}

void plan_fini(struct plan *p)
{
	free(p->calls);
	p->calls = NULL;
	p->count = 0;
}
