/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the core is made of; for src/engine/core*.c only.
 */
#ifndef ENGINE_CORE_STATE_H
#define ENGINE_CORE_STATE_H

#include "base/assert.h"
#include "engine/core.h"

TAILQ_HEAD(core_tasks, core_task);

/** Beside every struct cr_rq, what policies need not see; same lock. */
struct core_rq {
	alignas(64) cr_ns now; /**< of the last event: time never goes back */
	struct core_tasks tasks;
	unsigned ntasks;
	unsigned fresh; /**< enqueued since core_wakes(), not yet picked    */
	struct cr_cpus fresh_cpus; /**< engine CPUs that they may run on    */
	struct core_counts counts;
};

/** The parts that a switch replaces. */
struct core_policy {
	const struct cr_sched_ops *ops;
	void *opts;  /**< ops->opts_size bytes, or NULL    */
	void **priv; /**< [nrq] of ops->rq_size, or NULLs  */
};

struct core {
	struct core_config cfg;
	struct cr_sched sched;
	struct core_policy policy;
	struct cr_rq *rq;    /**< [nrq] */
	struct core_rq *aux; /**< [nrq] */
	struct cr_cpu *cpu;  /**< [cfg.ncpu], shared out to the rqs */
};

static inline struct core_rq *aux_of(const struct core *c,
				     const struct cr_rq *rq)
{
	return &c->aux[rq->id];
}

/** Run after every callback of the policy. */
static inline void core_check(const struct core *c, const struct cr_rq *rq)
{
	CR_DEBUG_ASSERT(!c->sched.ops->check || c->sched.ops->check(rq));
}

/** May the policy leave cpu[@cpu] idle without a tick to come? */
static inline bool core_may_idle(const struct core *c, const struct cr_rq *rq,
				 unsigned cpu)
{
	const struct core_task *t;

	TAILQ_FOREACH (t, &aux_of(c, rq)->tasks, link)
		if (t->task.state == CR_QUEUED && cr_may_run(rq, &t->task, cpu))
			return false;
	return true;
}

/** Parse options and allocate private memory. -EINVAL, -ENOMEM with @e. */
int core_policy_init(struct core_policy *p, unsigned nrq,
		     const struct cr_sched_ops *ops, const char *opts,
		     struct cr_err *e);
void core_policy_fini(struct core_policy *p, unsigned nrq);

/** Make @p the policy in use and call its rq_init(). 0 or its -errno. */
int core_policy_start(struct core *c, const struct core_policy *p);

/** Hand @t over to the policy of @rq: private memory cleared, task_add(). */
void core_join(struct core *c, struct core_task *t, struct cr_rq *rq,
	       cr_ns now);

/** Give the waiting job of @t to the policy. */
void core_enqueue(struct core *c, struct core_task *t, enum cr_enq why,
		  cr_ns now);

#endif
