/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the core; for src/engine/core*.c only.
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
	struct shed_queue shed;
	bool fault_waits; /**< it has not been taken yet */
	struct core_fault fault;
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
	/* the fallback, for run queues whose policy broke the contract */
	struct cr_sched spare;
	struct core_policy spare_policy;
	struct cr_rq *rq;    /**< [nrq] */
	struct core_rq *aux; /**< [nrq] */
	struct cr_cpu *cpu;  /**< [nrq * cpu_slots()], the rqs' */
};

/** Parse options and allocate private memory. 0; -EINVAL, -ENOMEM with @e. */
int core_policy_init(struct core_policy *p, unsigned nrq,
		     const struct cr_sched_ops *ops, const char *opts,
		     struct cr_err *e);

/** Make @p the policy in use and call its rq_init(). 0, or with @e its -errno,
 * or -EINVAL: it is not for run queues like these. */
int core_policy_start(struct core *c, const struct core_policy *p,
		      struct cr_err *e);

/** Free its memory; zero is fine. */
void core_policy_fini(struct core_policy *p, unsigned nrq);

static inline struct core_rq *aux_of(const struct core *c,
				     const struct cr_rq *rq)
{
	return &c->aux[rq->id];
}

/** Time per run queue never goes back: policies rely on it. Returns
 * aux_of(). */
static inline struct core_rq *core_advance(struct core *c, struct cr_rq *rq,
					   cr_ns now)
{
	struct core_rq *a = aux_of(c, rq);

	CR_ASSERT(now >= a->now);
	a->now = now;
	return a;
}

/** The share of @t, whose numbers are sensible, in rq->load_ppm. At most more
 * than all CPUs, so that sums of a million of them, times CPUs, do not
 * overflow. */
static inline int64_t core_load_of(const struct cr_task *t)
{
	return cr_ns_min(cr_task_demand(t) * CR_PPM / t->period,
			 4 * CR_MAX_CPUS * CR_PPM);
}

/** Those of @cpus that @rq has. */
static inline struct cr_cpus core_within(const struct cr_rq *rq,
					 const struct cr_cpus *cpus)
{
	struct cr_cpus some = { 0 };

	for (unsigned i = 0; i < rq->ncpu; i++)
		if (cr_cpus_has(cpus, rq->first_cpu + i))
			cr_cpus_add(&some, rq->first_cpu + i);
	return some;
}

/** Run after every callback of the policy; see core_config.check. */
static inline void core_check(const struct core *c, const struct cr_rq *rq)
{
	(void)c;
	CR_DEBUG_ASSERT((c->cfg.check && rq->sched == &c->sched) ||
			!rq->sched->ops->check || rq->sched->ops->check(rq));
}

/** A promise that a policy has broken. */
struct core_flaw {
	const char *callback, *what; /**< what NULL: none is broken      */
	int cpu;		     /**< of the run queue; -1: none     */
	const struct cr_task *task;  /**< one of the core's, or NULL     */
};

/** The flaw of @t as the answer of pick() for cpu[@cpu] of @rq. */
struct core_flaw core_pick_flaw(const struct core *c, const struct cr_rq *rq,
				unsigned cpu, const struct cr_task *t);

/** The flaw of @t, not NULL, as the answer of steal() for cpu[@cpu] of @to. */
struct core_flaw core_steal_flaw(const struct core *c, const struct cr_rq *from,
				 const struct cr_rq *to, unsigned cpu,
				 const struct cr_task *t);

/** Let the fallback take @rq over, with all its tasks. */
void core_stand_in(struct core *c, struct cr_rq *rq, cr_ns now);

/** Note @flaw of the policy of @rq and let the fallback take over the run
 * queue. Aborts in debug builds, see core_config.lenient. */
void core_blame(struct core *c, struct cr_rq *rq, const struct core_flaw *flaw,
		cr_ns now);

/** Hand @t over to the policy of @rq: private memory cleared, task_add(). */
void core_join(struct core *c, struct core_task *t, struct cr_rq *rq,
	       cr_ns now);

/** Take @t out of the list and the load of its run queue. */
void core_part(struct core *c, struct core_task *t);

/** Sort @list of @n tasks in place: those that run first, then waiting ones by
 * their job's release, then idle ones; by id where these are equal. Under locks
 * there is no memory to be had, and qsort() may ask for some. */
void core_sort(struct core_tasks *list, unsigned n);

/** Give the waiting job of @t to the policy. */
void core_enqueue(struct core *c, struct core_task *t, enum cr_enq why,
		  cr_ns now);

/** Make the oldest frame of @t its job, unclaimed. False: nothing waits. */
bool core_fetch(struct core_task *t, cr_ns now);

/** The verdict on the job of @t, which is claimed. */
enum core_worth {
	CORE_RUN,
	CORE_CONCEAL, /**< it is too old: run it as such     */
	CORE_OLD,     /**< it is too old: drop it            */
	CORE_SHED,    /**< shed it to hold the waiting time  */
	CORE_GIVEN_UP /**< the policy does: drop it          */
};

/** Decide; ask once for each job. @q: of its run queue; NULL: it has one to
 * itself.
 */
enum core_worth core_worth_of(const struct core *c, struct shed_queue *q,
			      struct core_task *t, cr_ns now);

#endif
