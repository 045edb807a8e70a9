/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arrival models.
 */
#include "sim/arrival.h"

/* These have no number of jobs, but go on until the call's end. */
static bool is_bounded_by_time(enum campaign_arrival_kind kind)
{
	return kind == ARRIVAL_POISSON || kind == ARRIVAL_TSPEC ||
	       kind == ARRIVAL_ENVELOPE || kind == ARRIVAL_CLOSED ||
	       kind == ARRIVAL_TRACE;
}

/* A plan in which nothing happens to packets is the grid: the same arrivals
 * for less work. */
static enum campaign_arrival_kind kind_of(const struct campaign_flow *f)
{
	const struct campaign_network *n = &f->network;
	bool true_clocks = !f->drift.least && !f->drift.most;

	if (f->arrival.kind == ARRIVAL_PLAN && !n->jitter && !n->loss &&
	    !n->reorder && !f->talk.spurt && true_clocks && !f->buffer.kind)
		return ARRIVAL_PERIODIC;
	return (enum campaign_arrival_kind)f->arrival.kind;
}

void arrival_init(struct arrival *a, const struct plan *p,
		  const struct plan_call *call, const struct replay *trace,
		  struct plan_stream *stream)
{
	*a = (struct arrival){
		.flow = &p->campaign->flows[call->flow],
		.start = call->start,
		.jobs = call->frames,
		.random = random_fork(call->seed, 3),
		.closed = call->start,
		.stream = stream,
		.end = call->start +
		       (cr_ns)call->frames *
			       p->campaign->flows[call->flow].ptime,
	};
	a->kind = kind_of(a->flow);
	if (a->kind == ARRIVAL_PLAN)
		plan_stream_init(stream, p, call);
	if (a->kind == ARRIVAL_LOOP)
		a->jobs = 1;
	if (is_bounded_by_time(a->kind))
		a->jobs = UINT64_MAX;
	if (a->kind == ARRIVAL_TRACE) {
		a->replay = replay_call(trace, call->index, &a->replay_count);
		a->jobs = a->replay_count;
		if (trace->recorded) /* from the run's begin, not the call's */
			a->start = 0;
	}
}

void arrival_send(struct arrival *a, struct envelope *e)
{
	a->envelope = e;
}

/* What is lost never comes. Digits and noise are no work for codecs. Copies are
 * for a jitter buffer only: without one they are no jobs. */
static bool next_packet(struct arrival *a, struct arrival_job *out)
{
	struct plan_packet k;

	do {
		if (!plan_stream_next(a->stream, &k))
			return false;
	} while (k.lost || k.kind != PLAN_SPEECH ||
		 (k.copy && !a->flow->buffer.kind));
	*out = (struct arrival_job){ .at = k.at,
				     .frame = k.frame,
				     .seq = k.nth };
	return true;
}

static cr_ns on_grid(const struct arrival *a)
{
	return a->start + (cr_ns)a->next * a->flow->ptime;
}

/* Bursts of @burst jobs every @burst periods: one per period on average. */
static cr_ns in_burst(const struct arrival *a)
{
	const struct campaign_arrival *m = &a->flow->arrival;
	uint64_t burst = (uint64_t)m->burst;
	uint64_t within = a->next % burst;

	return a->start + (cr_ns)(a->next - within) * a->flow->ptime +
	       (cr_ns)within * m->spacing;
}

/* A job in the units of the token bucket: parts per million of a nanosecond at
 * one job a second. */
#define JOB ((__int128)CR_SEC * CR_PPM)

static cr_ns round_up(__int128 a, int64_t b)
{
	return a > 0 ? (cr_ns)((a + b - 1) / b) : 0;
}

/*
 * Greedy within min(1 + peak t, bucket + rate t) jobs in every t (RFC 2215,
 * with jobs for bytes): as soon as the token bucket and the peak allow. Full
 * nanoseconds, never early; what rounding up leaves stays in the bucket.
 */
static cr_ns by_tspec(struct arrival *a)
{
	const struct campaign_arrival *m = &a->flow->arrival;
	__int128 most = m->bucket * JOB;
	cr_ns wait;

	if (!a->next) {
		a->tokens = most - JOB;
		return a->start;
	}
	wait = round_up(JOB - a->tokens, m->rate_ppm);
	if (m->peak_ppm)
		wait = cr_ns_max(wait, round_up(JOB, m->peak_ppm));
	a->tokens += (__int128)wait * m->rate_ppm;
	a->tokens = (a->tokens < most ? a->tokens : most) - JOB;
	return a->last + wait;
}

static cr_ns at_random(struct arrival *a)
{
	if (!a->next)
		return a->start;
	return a->last + random_exponential(&a->random, a->flow->ptime);
}

static cr_ns time_of_next(struct arrival *a)
{
	switch (a->kind) {
	case ARRIVAL_JITTERED:
		return on_grid(a) +
		       random_time(&a->random, a->flow->arrival.jitter);
	case ARRIVAL_POISSON:
		return at_random(a);
	case ARRIVAL_BURSTY:
		return in_burst(a);
	case ARRIVAL_TSPEC:
		return by_tspec(a);
	case ARRIVAL_ENVELOPE:
		return envelope_next(a->envelope, &a->random);
	case ARRIVAL_CLOSED:
		return a->closed;
	case ARRIVAL_TRACE:
		return a->start + a->replay[a->next].at;
	case ARRIVAL_PLAN:
	case ARRIVAL_PERIODIC:
	case ARRIVAL_LOOP:
		break;
	}
	return on_grid(a);
}

bool arrival_next(struct arrival *a, struct arrival_job *out)
{
	const bool trace = a->kind == ARRIVAL_TRACE;
	cr_ns at;

	if (a->kind == ARRIVAL_PLAN)
		return next_packet(a, out);
	if (a->next == a->jobs || a->closed == CR_NEVER)
		return false;
	at = cr_ns_max(time_of_next(a), a->last);
	if (at >= a->end && is_bounded_by_time(a->kind))
		return false;
	out->at = a->last = at;
	out->waited = trace ? a->replay[a->next].buffered : 0;
	out->received = trace ? a->replay[a->next].received : 0;
	out->frame = a->next++;
	if (a->kind == ARRIVAL_CLOSED)
		a->closed = CR_NEVER;
	return true;
}

bool arrival_done(struct arrival *a, cr_ns came, cr_ns now)
{
	cr_ns next = came + a->flow->ptime;

	a->closed = cr_ns_max(next, now);
	return now > next;
}
