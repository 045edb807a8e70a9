/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weighted fair queuing of best-effort tasks: in a queue of its own before a
 * server that gives deadlines to one of their jobs at a time, or as the order
 * of those that have none.
 *
 * The rule is start-time fair queuing (Goyal, Vin, Cheng 1996), which needs to
 * know neither a rate (what calls leave has none) nor a job's cost before it is
 * done: a job starts where its task's last one ended in virtual time, but not
 * before the start of the job served now; the earliest start is next, and ran *
 * 1024 / weight later is its end.
 *
 * In virtual time 16 ns of weight 1024 are one: a task of weight 1 may be
 * served for two years before it is 2^62.
 */
#ifndef SCHEDULERS_BE_SHARE_H
#define SCHEDULERS_BE_SHARE_H

#include "cr/sched.h"
#include "cr/tree.h"

/** A task's part; zero when it joins. */
struct be_flow {
	RB_ENTRY(be_flow) node;
	int64_t start; /**< of its job; idle: where its last one ended */
	uint32_t id;
};

RB_HEAD(be_flows, be_flow);

/** All that wait for a deadline; zero is empty. */
struct be_share {
	struct be_flows waiting;
	unsigned n;
	int64_t now; /**< virtual time */
};

static inline int be_flow_cmp(const struct be_flow *a, const struct be_flow *b)
{
	return a->start != b->start ? cr_cmp(a->start, b->start)
				    : cr_cmp(a->id, b->id);
}

CR_TREE(be_flows, be_flow, node, be_flow_cmp)

/** A new job of part @f has its start, which is returned. */
static inline int64_t be_share_start(const struct be_share *s,
				     struct be_flow *f)
{
	f->start = cr_ns_max(f->start, s->now);
	return f->start;
}

/** The job of part @f, which waits in no queue here, is served. */
static inline void be_share_serve(struct be_share *s, const struct be_flow *f)
{
	s->now = cr_ns_max(s->now, f->start);
}

/** Task @id, whose part is @f, waits with a job. */
static inline void be_share_put(struct be_share *s, struct be_flow *f,
				uint32_t id)
{
	f->id = id;
	(void)be_share_start(s, f);
	RB_INSERT(be_flows, &s->waiting, f);
	s->n++;
}

/** @f waits no longer. */
static inline void be_share_remove(struct be_share *s, struct be_flow *f)
{
	RB_REMOVE(be_flows, &s->waiting, f);
	s->n--;
}

/** The next one, taken out; NULL: none waits. */
static inline struct be_flow *be_share_take(struct be_share *s)
{
	struct be_flow *f = RB_MIN(be_flows, &s->waiting);

	if (!f)
		return NULL;
	be_share_remove(s, f);
	be_share_serve(s, f);
	return f;
}

/** The job of part @f that was served is over after @ran of service. */
static inline void be_share_done(struct be_flow *f, uint32_t weight, cr_ns ran)
{
	f->start += (ran * 64 + weight - 1) / weight;
}

#endif
