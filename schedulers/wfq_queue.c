/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPS in the background, and the queue that follows it: see wfq_queue.h.
 */
#include "schedulers/wfq_queue.h"

/* So much at a time: WFQ_SCALE times it, and a rest, are in 64 bits. */
#define LONGEST_STEP (INT64_C(1) << 34)
/* A job counts as this at most: an hour and a little. */
#define LONGEST_JOB (INT64_C(1) << 42)

static int coming_cmp(const struct wfq_flow *a, const struct wfq_flow *b)
{
	return a->at != b->at ? cr_cmp(a->at, b->at) : cr_cmp(a->id, b->id);
}

CR_TREE(wfq_coming, wfq_flow, wait, coming_cmp)
CR_TREE(wfq_served, wfq_flow, served, wfq_ready_cmp)

/* --- what GPS serves --- */

/* Its service ends at @finish; it may be under way. */
static void serve_until(struct wfq_queue *q, struct wfq_flow *f,
			uint64_t finish)
{
	if (f->in_service)
		RB_REMOVE(wfq_served, &q->served, f);
	else
		q->weight += f->weight;
	f->in_service = true;
	f->finish = finish;
	RB_INSERT(wfq_served, &q->served, f);
}

static void end_service(struct wfq_queue *q, struct wfq_flow *f)
{
	RB_REMOVE(wfq_served, &q->served, f);
	q->weight -= f->weight;
	f->in_service = false;
	if (!q->weight)
		q->rest = 0;
}

/* Of @service in virtual time. One of more than half a minute is rounded to 16
 * us of it, to stay within 64 bits. */
static uint64_t duration(const struct wfq_flow *f, cr_ns service)
{
	uint64_t ns = (uint64_t)cr_ns_max(cr_ns_min(service, LONGEST_JOB), 0);
	uint64_t whole = WFQ_SCALE / f->weight, part = WFQ_SCALE % f->weight;

	if (ns <= (UINT64_MAX >> 29))
		return (ns * WFQ_SCALE + f->weight - 1) / f->weight;
	return ns * whole + ((ns >> 14) * part / f->weight << 14);
}

/* On GPS's clock, as it goes now. */
static cr_ns came(const struct wfq_queue *q, const struct wfq_flow *f)
{
	return f->at - q->behind;
}

/* Did its job come before the last one was over in GPS? */
static bool goes_on(const struct wfq_queue *q, const struct wfq_flow *f)
{
	return f->in_service || (f->ended == q->now && came(q, f) <= f->ended);
}

/* The job that has come to its turn in GPS has a start and an end. */
static void wfq_begin(struct wfq_queue *q, struct wfq_flow *f)
{
	f->start = goes_on(q, f) ? f->finish : q->virtual;
	f->job = WFQ_KNOWN;
	serve_until(q, f, f->start + duration(f, f->cost));
	RB_INSERT(wfq_ready, &q->ready, f);
}

static void begin_those_that_came(struct wfq_queue *q)
{
	struct wfq_flow *f;

	while ((f = RB_MIN(wfq_coming, &q->coming)) && came(q, f) <= q->now) {
		RB_REMOVE(wfq_coming, &q->coming, f);
		wfq_begin(q, f);
	}
}

/* From now to @until at most, or to the end of @f, which is ahead of V and the
 * next. */
static void step(struct wfq_queue *q, const struct wfq_flow *f, cr_ns until)
{
	cr_ns dt = cr_ns_min(until - q->now, LONGEST_STEP);
	uint64_t service = (uint64_t)dt * WFQ_SCALE + q->rest, need;
	uint64_t by = service / q->weight;

	if (wfq_lead(f->finish, q->virtual) > (int64_t)by) {
		q->virtual += by;
		q->rest = service - by * q->weight;
		q->now += dt;
		return;
	}
	need = (f->finish - q->virtual) * q->weight;
	dt = need > q->rest
		     ? (cr_ns)((need - q->rest + WFQ_SCALE - 1) / WFQ_SCALE)
		     : 0;
	q->virtual = f->finish;
	q->rest += (uint64_t)dt * WFQ_SCALE - need;
	q->now += dt;
}

void wfq_play(struct wfq_queue *q, cr_ns now)
{
	cr_ns end = now - q->behind;

	for (;;) {
		struct wfq_flow *f, *next;
		cr_ns until = end;

		begin_those_that_came(q);
		f = RB_MIN(wfq_served, &q->served);
		if (f && wfq_lead(f->finish, q->virtual) <= 0) {
			if (f->job == WFQ_KNOWN)
				return; /* what comes then is not known */
			end_service(q, f);
			continue;
		}
		if (q->now >= end)
			return;
		next = RB_MIN(wfq_coming, &q->coming);
		if (next)
			until = cr_ns_min(until, came(q, next));
		if (f)
			step(q, f, until);
		else
			q->now = until;
	}
}

/* --- the queue --- */

void wfq_put(struct wfq_queue *q, struct wfq_flow *f, const struct cr_task *t,
	     cr_ns at)
{
	f->id = t->id;
	f->weight = nice_weight(t);
	f->cost = cr_ns_max(t->job.cost, 1);
	f->at = at;
	f->job = WFQ_COMING;
	q->n++;
	RB_INSERT(wfq_coming, &q->coming, f);
}

void wfq_put_back(struct wfq_queue *q, struct wfq_flow *f)
{
	RB_INSERT(wfq_ready, &q->ready, f);
	q->n++;
}

void wfq_take(struct wfq_queue *q, struct wfq_flow *f)
{
	RB_REMOVE(wfq_ready, &q->ready, f);
	q->n--;
}

void wfq_done(struct wfq_queue *q, struct wfq_flow *f, cr_ns ran)
{
	uint64_t finish = f->start + duration(f, ran);

	f->job = WFQ_NONE;
	f->ended = q->now;
	serve_until(q, f, finish);
	if (wfq_lead(finish, q->virtual) <= 0)
		end_service(q, f);
}

void wfq_remove(struct wfq_queue *q, struct wfq_flow *f, cr_ns ran)
{
	if (f->job == WFQ_KNOWN) {
		wfq_take(q, f);
		wfq_done(q, f, ran);
		return;
	}
	RB_REMOVE(wfq_coming, &q->coming, f);
	f->job = WFQ_NONE;
	q->n--;
}

void wfq_forget(struct wfq_queue *q, struct wfq_flow *f)
{
	if (f->in_service)
		end_service(q, f);
}

bool wfq_check(struct wfq_queue *q)
{
	struct wfq_flow *f, *before = NULL;
	uint64_t weight = 0;
	unsigned n = 0;

	RB_FOREACH (f, wfq_served, &q->served) {
		if (!f->in_service || (before && wfq_ready_cmp(before, f) >= 0))
			return false;
		weight += f->weight;
		before = f;
	}
	RB_FOREACH (f, wfq_ready, &q->ready)
		n += f->job == WFQ_KNOWN && f->in_service;
	RB_FOREACH (f, wfq_coming, &q->coming)
		n += f->job == WFQ_COMING;
	return n == q->n && weight == q->weight;
}
