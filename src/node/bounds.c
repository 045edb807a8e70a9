/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounds of the calls of a node: asked of the policy, or computed from what it
 * says about servers. Nothing is kept, for every call that comes or goes
 * changes the bounds of all.
 */
#include "node/bounds.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/hsb.h"
#include "node/node_impl.h"

/* Calls that come one after the other are alike; of several kinds in turn, so
 * many are recognised. */
#define KINDS_IN_TURN 8u

static const struct cr_task *task_of(const struct node_call *nc)
{
	return &nc->call->lt.core.task;
}

static struct cr_promise promise_of(struct node_call *nc)
{
	struct cr_promise p;

	live_promise(nc->node->live, &nc->call->lt, &p);
	return p;
}

static struct bound nothing(const char *why)
{
	return (struct bound){ .why = why };
}

/* None of its frames is done later than the deadline and the promised bound. */
static struct bound by_lateness(const struct node_call *nc,
				const struct cr_promise *p)
{
	const struct cr_task *t = task_of(nc);

	return (struct bound){
		.rule = p->rule,
		.tardiness = (double)p->bound,
		.lateness = (double)p->bound,
		.frames = fmax(1, ceil((double)p->bound / (double)t->period)),
		.buffer = (double)t->rel_deadline + (double)p->bound,
		.cost = (double)p->cost,
	};
}

/* --- servers --- */

/* The calls of one run queue, grouped, as the theory sees them. */
struct crowd {
	struct node_call *me;
	size_t mine; /* which of soft[] */
	struct hsb_flow *hard, *soft;
	struct node_call **first; /* [nsoft]: one of each group, hard[]'s from
				     the other end */
	size_t room;
	struct hsb_system system;
};

static bool are_alike(const struct cr_task *a, const struct cr_task *b)
{
	return a->period == b->period && a->rel_deadline == b->rel_deadline &&
	       a->cost.mean == b->cost.mean && a->cost.p99 == b->cost.p99 &&
	       a->cost.variance_ns2 == b->cost.variance_ns2 &&
	       a->contract.largest == b->contract.largest;
}

static struct node_call **first_of(struct crowd *c, enum cr_class cls, size_t i)
{
	return &c->first[cls == CR_SOFT ? i : c->room - 1 - i];
}

/* The group among the last of @cls that @nc belongs to; @n: none of them. */
static size_t group_of(struct crowd *c, const struct node_call *nc, size_t n)
{
	const struct cr_task *t = task_of(nc);
	size_t oldest = n > KINDS_IN_TURN ? n - KINDS_IN_TURN : 0;

	for (size_t i = n; i-- > oldest;)
		if (are_alike(t, task_of(*first_of(c, t->cls, i))))
			return i;
	return n;
}

static struct hsb_flow flow_of(struct node_call *nc)
{
	const struct cr_task *t = task_of(nc);
	bool soft = t->cls == CR_SOFT;

	return (struct hsb_flow){
		.period = (double)t->period,
		.deadline = (double)t->rel_deadline,
		.worst = (double)cr_task_worst(t),
		.mean = (double)t->cost.mean,
		.sd = sqrt((double)t->cost.variance_ns2),
		.budget = soft ? (double)promise_of(nc).servers.budget : 0,
	};
}

static void count_call(struct crowd *c, struct node_call *nc)
{
	enum cr_class cls = task_of(nc)->cls;
	struct hsb_flow *flow = cls == CR_HARD ? c->hard : c->soft;
	size_t *n = cls == CR_HARD ? &c->system.nhard : &c->system.nsoft;
	size_t i = group_of(c, nc, *n);

	if (i == *n) {
		flow[i] = flow_of(nc);
		*first_of(c, cls, i) = nc;
		++*n;
	}
	flow[i].count++;
	if (nc == c->me)
		c->mine = i;
}

/* Those that have left their sockets are still in the engine for a moment, but
 * send no more. */
static void count_calls(struct crowd *c)
{
	const struct cr_rq *rq = task_of(c->me)->rq;
	struct node_call *nc;

	RB_FOREACH (nc, node_tree, &c->me->node->calls)
		if (!nc->ending && !nc->relays && task_of(nc)->cls != CR_BE &&
		    task_of(nc)->rq == rq)
			count_call(c, nc);
}

static struct hsb_best_effort best_effort_of(const struct cr_servers *s)
{
	return (struct hsb_best_effort){
		.servers = s->best_effort,
		.period = (double)s->be_period,
		.budget = (double)s->be_period * (double)s->be_share_ppm / 1e6,
	};
}

static struct bound by_theory(struct crowd *c, const char *rule)
{
	const struct hsb_report r = hsb_analyse(&c->system);
	const struct hsb_bound b = hsb_bound_of(&c->system, &r, c->mine);

	if (!r.constraint[1].met)
		return nothing("more is reserved than there is: hard calls, "
			       "budgets and best effort's servers");
	if (!r.constraint[2].met)
		return nothing("a server has too large a share of a CPU for "
			       "its run queue");
	if (isinf(b.tardiness))
		return nothing("its budget is not above its mean cost");
	return (struct bound){
		.rule = rule,
		.tardiness = b.tardiness,
		.lateness = b.lateness,
		.frames = b.frames,
		.buffer = b.lateness + c->system.soft[c->mine].deadline,
	};
}

static struct bound by_servers(struct node_call *nc, const struct cr_promise *p)
{
	struct node *n = nc->node;
	const struct cr_rq *rq = task_of(nc)->rq;
	struct crowd c = {
		.me = nc,
		.room = n->ncalls,
		.hard = malloc(n->ncalls * sizeof(*c.hard)),
		.soft = malloc(n->ncalls * sizeof(*c.soft)),
		.first = malloc(n->ncalls * sizeof(*c.first)),
		.system = { .ncpu = rq->ncpu,
			    .be = best_effort_of(&p->servers),
			    .frame = (double)p->servers.longest },
	};
	struct bound b = nothing("out of memory");

	if (c.hard && c.soft && c.first) {
		c.system.hard = c.hard;
		c.system.soft = c.soft;
		count_calls(&c);
		b = by_theory(&c, p->rule);
	}
	free(c.hard);
	free(c.soft);
	free(c.first);
	return b;
}

/* --- which it is --- */

struct bound bound_of(struct node_call *nc)
{
	struct cr_promise p;

	if (nc->ending)
		return nothing("it is ending");
	if (nc->relays)
		return nothing("it is relayed, and not scheduled");
	p = promise_of(nc);
	switch (p.kind) {
	case CR_PROMISE_LATENESS:
		return by_lateness(nc, &p);
	case CR_PROMISE_SERVERS:
		return by_servers(nc, &p);
	case CR_PROMISE_NOTHING:
		break;
	}
	return nothing(p.rule);
}
