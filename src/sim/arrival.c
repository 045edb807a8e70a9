/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrival models, the envelope first: a sender with a token bucket for CPU
 * time.
 */
#include "sim/arrival.h"

/* The uniform distribution of a range, without its end. */
static cr_ns draw_between(const struct field_range *x, struct random *r)
{
	if (x->most == x->least)
		return x->least;
	return x->least + random_time(r, x->most - x->least - 1);
}

/* The longest job that the cost model of @f allows. */
static cr_ns envelope_largest(const struct campaign_flow *f)
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

static __int128 least_tokens(__int128 a, __int128 b)
{
	return a < b ? a : b;
}

/* How long until there is as much as @need, in full ns. */
static cr_ns wait_for_tokens(__int128 need, __int128 tokens, int64_t rate)
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
		e->until = from + draw_between(&m->on, r);
	while (at >= e->until) {
		from = e->until + draw_between(&m->off, r);
		e->until = from + draw_between(&m->on, r);
		at = cr_ns_max(at, from);
	}
	return at;
}

/* When the next job comes; bursts and pauses are drawn with @r. */
static cr_ns envelope_next(struct envelope *e, struct random *r)
{
	const struct campaign_arrival *m = &e->flow->arrival;
	__int128 need = (__int128)cost_model_draw(e->cost, &e->draws) * CR_PPM;
	cr_ns at = e->last + wait_for_tokens(need, e->bucket, m->rate_ppm);
	cr_ns gone;

	if (m->peak_ppm)
		at = cr_ns_max(at, e->last + wait_for_tokens(need, e->peak,
							     m->peak_ppm));
	at = when_on(e, at, r);
	gone = at - e->last;
	e->bucket = least_tokens(e->bucket + (__int128)gone * m->rate_ppm,
				 (__int128)m->depth * CR_PPM) -
		    need;
	e->peak = least_tokens(e->peak + (__int128)gone * m->peak_ppm,
			       (__int128)envelope_largest(e->flow) * CR_PPM) -
		  need;
	e->last = at;
	return at;
}

/* These have no number of jobs, but go on until the call's end. */
static bool is_bounded_by_time(enum campaign_arrival_kind kind)
{
	return kind == ARRIVAL_POISSON || kind == ARRIVAL_ENVELOPE ||
	       kind == ARRIVAL_CLOSED || kind == ARRIVAL_TRACE;
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

/* Bursts of @burst jobs every @burst periods: one per period on average. */
static cr_ns in_burst(const struct arrival *a)
{
	const struct campaign_arrival *m = &a->flow->arrival;
	uint64_t burst = (uint64_t)m->burst;
	uint64_t within = a->next % burst;

	return a->start + (cr_ns)(a->next - within) * a->flow->ptime +
	       (cr_ns)within * m->spacing;
}

static cr_ns time_of_next(struct arrival *a)
{
	switch (a->kind) {
	case ARRIVAL_POISSON:
		if (!a->next)
			return a->start;
		return a->last + random_exponential(&a->random, a->flow->ptime);
	case ARRIVAL_BURSTY:
		return in_burst(a);
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
	return a->start + (cr_ns)a->next * a->flow->ptime;
}

bool arrival_next(struct arrival *a, struct arrival_job *out)
{
	const bool trace = a->kind == ARRIVAL_TRACE;
	struct plan_packet k;
	cr_ns at;

	/* Lost packets never come. Digits and noise are no work for codecs.
	 * Copies are for a jitter buffer only: without one they are no jobs. */
	while (a->kind == ARRIVAL_PLAN) {
		if (!plan_stream_next(a->stream, &k))
			return false;
		if (k.lost || k.kind != PLAN_SPEECH ||
		    (k.copy && !a->flow->buffer.kind))
			continue;
		*out = (struct arrival_job){ .at = k.at,
					     .frame = k.frame,
					     .seq = k.nth };
		return true;
	}
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

/*
 * Costs and contracts from the campaign: what the flow says, what its models of
 * cost and arrival say, and what is measured, in this order.
 */

/* Best effort has none, but a task has. */
static cr_ns flow_deadline(const struct campaign_flow *f)
{
	return f->terms.cls == CR_BE ? f->ptime : f->terms.deadline;
}

struct release_cfg declared_release(const struct campaign_flow *f)
{
	struct release_cfg r = {
		.kind = (enum release_kind)f->release.kind,
		.period = f->ptime,
		.rel_deadline = flow_deadline(f),
		.x = (unsigned)f->release.x,
		.y = f->release.y,
		.burst = (unsigned)f->release.burst,
	};

	contract_release(&f->terms.contract, f->release_named, &r);
	return r;
}

/* Rounded up, as far as a contract counts. */
static uint32_t divide_up(int64_t a, int64_t b)
{
	return (uint32_t)cr_ns_min((a + b - 1) / b, UINT32_MAX);
}

/* The contract of a flow with a TSpec, in jobs of the largest size. */
static struct cr_contract envelope_contract(const struct campaign_flow *f)
{
	const struct campaign_arrival *m = &f->arrival;
	cr_ns largest = envelope_largest(f);

	return (struct cr_contract){
		.jobs = 1,
		.per = cr_ns_max(largest * CR_PPM / m->rate_ppm, 1),
		.burst = divide_up(m->depth, largest) - 1,
		.peak_jobs_per_sec =
			divide_up(m->peak_ppm * (CR_SEC / CR_PPM), largest),
		.largest = f->terms.contract.worst ? f->terms.contract.worst
						   : largest,
	};
}

static struct cr_contract flow_contract(const struct campaign_flow *f)
{
	const struct release_cfg r = declared_release(f);
	struct cr_contract c = contract_promise(&f->terms.contract, &r);

	/* a cost that is bounded by the campaign is declared by that; of others
	 * schedulers have the estimate alone */
	c.largest = f->terms.contract.worst;
	if (!c.largest && f->cost.max < CAMPAIGN_COST_MAX)
		c.largest = f->cost.max;
	if (f->terms.contract.rate_ppm)
		return c;
	return f->arrival.kind == ARRIVAL_ENVELOPE ? envelope_contract(f) : c;
}

struct core_terms declare(const struct campaign_flow *f,
			  const struct cost_model *m)
{
	return (struct core_terms){
		.cls = f->terms.cls,
		.rel_deadline = flow_deadline(f),
		.cost = contract_cost(&f->terms.contract, &m->estimate),
		.nice = f->terms.nice,
		.weight = f->terms.weight,
		.contract = flow_contract(f),
	};
}
