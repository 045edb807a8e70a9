/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scheduler plug-in interface.
 *
 * A policy is a const table of callbacks (struct cr_sched_ops). It is a pure
 * state machine: it gets events and the current time as arguments, keeps its
 * state in memory that the core allocates for it, and answers through return
 * values and the run queue's mailbox. It never reads a clock, takes a lock,
 * allocates, blocks, logs or starts a thread, so the same object file runs
 * under pinned worker threads and under the discrete-event simulator.
 *
 * The schedulable thing is a task: one direction of one call. It has one
 * visible job, its oldest waiting frame; the call's own buffer is the backlog.
 *
 * The core guarantees, for one run queue (rq):
 *  - callbacks that take the rq are serialised (rq lock held, or one thread);
 *  - @now never decreases from one callback to the next;
 *  - a task is handed over only in the states of this diagram, and one task
 *    never runs on two CPUs:
 *
 *         enqueue(RELEASE)         pick              stop(DONE|DROP)
 *   IDLE ----------------> QUEUED ------> RUNNING ----------------------> IDLE
 *     ^                     |  ^ ^           | |
 *     +------ dequeue ------+  | +-----------+ +--> enqueue(NEXT) when more
 *                              |  stop(SLICE|PREEMPT),         frames wait
 *                              |  enqueue(REQUEUE)
 *
 *  - at one instant it delivers all stops, then all enqueues, then the tick,
 *    then the picks (simulator: always; live: per worker);
 *  - ticks may come late, never early; next_tick is CR_NEVER when tick() is
 *    called, so a policy that wants another must set it again;
 *  - after an enqueue or a tick, idle CPUs pick again without being kicked;
 *  - stop() is called only for a task that this policy has picked; it may come
 *    at once, DROP after 0 ns of service: the frame was gone, too old, or
 *    given up;
 *  - a task's state and rq->nqueued are those after the event: enqueue() finds
 *    its task QUEUED and counted. pick(), steal() and dequeue() are the event,
 *    so while they run, the task is QUEUED and counted still.
 *
 * Every comparison of a policy must end in the task id: same input, same
 * schedule.
 *
 * A policy in an object of its own (a plug-in) exports its table as
 *
 *     const struct cr_sched_ops cr_sched_plugin;
 *
 * and is not loaded if what is said there of abi, name, help, task_size, opts
 * or the mandatory callbacks does not hold.
 */
#ifndef CR_SCHED_H
#define CR_SCHED_H

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cr/container.h"
#include "cr/option.h"
#include "cr/time.h"

/** Raised with every incompatible change of this header. */
#define CR_SCHED_ABI 7u

struct cr_rq;
struct cr_task;
struct cr_sched;
struct cr_verdict;
struct cr_kv;
struct cr_promise;

/** Why a task is enqueued. */
enum cr_enq {
	CR_ENQ_RELEASE, /**< the task slept; a frame woke it           */
	CR_ENQ_NEXT,	/**< it did not sleep: its next frame waited   */
	CR_ENQ_REQUEUE, /**< same job, after stop(SLICE|PREEMPT)       */
	CR_ENQ_MIGRATE	/**< same job; other rq, policy or parameters  */
};

/** Why a task left its CPU. */
enum cr_stop {
	CR_STOP_DONE,	/**< job complete                               */
	CR_STOP_DROP,	/**< job abandoned (frame dropped, expired, gone) */
	CR_STOP_SLICE,	/**< task->slice used up (simulator only)       */
	CR_STOP_PREEMPT /**< policy kicked this CPU (simulator only)    */
};

enum {
	CR_F_SLICED = 1, /**< needs preemption to differ from its base order */
	CR_F_GUARANTEE =
		2,	 /**< an admitted CR_HARD task is never late (in sim) */
	CR_F_IDLES = 4,	 /**< not work-conserving: pick() may leave CPUs idle */
	CR_F_ONE_CPU = 8 /**< only for run queues of one CPU: is not started
			      on others */
};

/**
 * struct cr_sched_ops - a scheduling policy
 *
 * enqueue, dequeue, pick and stop are needed; any other may be NULL.
 */
struct cr_sched_ops {
	uint32_t abi;		 /**< CR_SCHED_ABI */
	uint32_t flags;		 /**< CR_F_* */
	const char *name, *help; /**< "edf", one line; neither is empty */
	size_t rq_size,
		task_size; /**< private bytes; task_size <= CR_TASK_PRIV */
	size_t opts_size;
	/** NULL with opts_size 0; else every row's int64_t lies within
	 * opts_size, aligned. */
	const struct cr_opt *opts;

	/* --- needed --- */

	/** @t has a job to run. May set kick bits of CPUs it should displace;
	 * idle CPUs are kicked by the core. */
	void (*enqueue)(struct cr_rq *rq, struct cr_task *t, enum cr_enq why,
			cr_ns now);

	/** Take back a queued @t (cancel, drop, migrate). Must find it. */
	void (*dequeue)(struct cr_rq *rq, struct cr_task *t, cr_ns now);

	/**
	 * Remove and return the task cpu[@cpu] runs next, with its slice set.
	 * NULL: leave the CPU idle; with tasks queued that is legal only if
	 * next_tick is armed. Must not return a task that may not run there
	 * (cr_may_run()), nor, where the policy may preempt, a slice <= 0.
	 */
	struct cr_task *(*pick)(struct cr_rq *rq, unsigned cpu, cr_ns now);

	/** @t, its job unchanged, left cpu[@cpu] after @ran ns this time. */
	void (*stop)(struct cr_rq *rq, unsigned cpu, struct cr_task *t,
		     cr_ns ran, enum cr_stop why, cr_ns now);

	/* --- may be NULL --- */

	/** Set up @rq->priv. Return 0 or -errno (the policy is not started). */
	int (*rq_init)(struct cr_rq *rq);

	/**
	 * May @t join, and where? Called with every rq locked; must not change
	 * any state: sums over admitted tasks are kept in @rq->priv by
	 * task_add() and task_del(), in the policy's own rounding. Fill @v.
	 * Return an rq index, or -ENOSPC (would break a guarantee), or -EINVAL
	 * (task model not supported). NULL: worst fit by load_ppm, refused
	 * above the engine's capacity bound.
	 */
	int (*admit)(const struct cr_sched *s, const struct cr_task *t,
		     struct cr_verdict *v);

	/** @t joins or leaves @rq; nothing of it is queued there. Where the
	 * policy or the task's parameters have changed, it may be running as
	 * it joins (see above). */
	void (*task_add)(struct cr_rq *rq, struct cr_task *t, cr_ns now);
	void (*task_del)(struct cr_rq *rq, struct cr_task *t, cr_ns now);

	/** now >= next_tick, which the core reset to CR_NEVER before. A new one
	 * must be later than the one that was due. */
	void (*tick)(struct cr_rq *rq, cr_ns now);

	/** Both locked; take one queued task off @from for idle cpu[@cpu] of
	 * @to, or NULL. The task stays in @to: sums that task_add() made are
	 * moved here. The core then enqueues it there (MIGRATE). */
	struct cr_task *(*steal)(struct cr_rq *from, struct cr_rq *to,
				 unsigned cpu, cr_ns now);

	/** Fill @kv with up to @max numbers about @t, which is added; return
	 * how many. For people: nothing is decided by them. Its run queue is
	 * locked, as for promise(). */
	unsigned (*explain)(const struct cr_task *t, struct cr_kv *kv,
			    unsigned max);

	/** Promise for @t, hard or soft and added, as of now: fill @p, which
	 * starts as CR_PROMISE_NOTHING without a rule, and give a rule in any
	 * case. This binds: users are told of it and size their play-out
	 * buffers by it. Beside explain()'s numbers they see in_time: 1 where
	 * the bound is 0. NULL: this policy promises nothing. */
	void (*promise)(const struct cr_task *t, struct cr_promise *p);

	/** Do the invariants hold? Run after each callback in debug builds;
	 * of a plug-in in codec-sim, in any build, before each pick instead. */
	bool (*check)(const struct cr_rq *rq);
};

/*
 * What else a policy meets:
 *
 * A task that admit() has refused for want of room may join nevertheless, in
 * any run queue of which its mask has a CPU: where no admission was asked for,
 * or a change was forced. So a policy has to live with sums above its bound,
 * and promise() has to look.
 *
 * A policy can be replaced under live tasks. The old one is not told: its
 * memory is discarded (it is pure, so there is nothing else to give back), and
 * kept untouched if the new one cannot take over. The new one sees, at one
 * instant, rq_init() for every rq, task_add() for every task, and
 * enqueue(MIGRATE) for the tasks that wait, longest-waiting job first. A frame
 * under way is finished in live mode: its CPU shows a running task that the
 * new policy was given by task_add() but did not pick, and it gets no stop()
 * for it; the next it hears of that task is enqueue() or task_del(). Changed
 * options are such a replacement by the policy itself.
 *
 * The parameters of a task can change while it has jobs: it leaves and joins
 * again at one instant. The policy sees dequeue(), or stop(DROP) if it runs,
 * task_del(), admit(), task_add() and, if its job waited, enqueue(MIGRATE). A
 * running one goes on: as in a replacement, its CPU shows a task that the
 * policy did not pick, and it gets no stop() for it. Where admit() refuses,
 * what the policy had in its memory before is put back.
 *
 * The core checks what a policy answers:
 *
 *   pick    a task of this engine that is QUEUED on this run queue, may run on
 *           this CPU and, where the policy may preempt, has a slice > 0; or
 *           NULL, if next_tick is set or nothing that waits may run there
 *   steal   a task that is QUEUED on @from and may run on this CPU; or NULL
 *   tick    next_tick is CR_NEVER, or later than the one that was due
 *   admit   a run queue of which the task's mask has a CPU, or -ENOSPC, or
 *           another error, which counts as -EINVAL; so does a wrong run queue
 *   check   true (where it is run, see there)
 *
 * It does not look into a policy's queue: a task that was picked and is still
 * in the queue is found by check() only.
 *
 * And a live engine watches that no task waits for long while workers that it
 * may use have nothing to do. Where a policy breaks its contract a debug build
 * aborts; others log it with explain()'s numbers and let another policy take
 * its place, without losing a job.
 */

/** Most CPUs (live workers or simulated processors) of one engine. */
#define CR_MAX_CPUS 256u
/** Room for a policy's private state in every task, bytes. */
#define CR_TASK_PRIV 320u
/** 1.0 in parts per million: how policies count utilisation. */
#define CR_PPM INT64_C(1000000)
/** The longest that a job may cost; who asks for more is refused. An hour: in
 * millionths of a ns, as servers count budgets, twice of it fits into 63 bits,
 * and no frame lasts a thousandth of it. */
#define CR_TASK_LONGEST (3600 * CR_SEC)

/** A set of CPUs; bit n % 64 of word n / 64. */
struct cr_cpus {
	uint64_t word[CR_MAX_CPUS / 64];
};

static inline bool cr_cpus_has(const struct cr_cpus *set, unsigned cpu)
{
	return set->word[cpu / 64] >> (cpu % 64) & 1;
}

static inline void cr_cpus_add(struct cr_cpus *set, unsigned cpu)
{
	set->word[cpu / 64] |= UINT64_C(1) << (cpu % 64);
}

static inline void cr_cpus_del(struct cr_cpus *set, unsigned cpu)
{
	set->word[cpu / 64] &= ~(UINT64_C(1) << (cpu % 64));
}

/** Service class, most important first. */
enum cr_class {
	CR_HARD, /**< guaranteed: admission-tested by the worst case  */
	CR_SOFT, /**< statistical: has a deadline, lateness is counted */
	CR_BE	 /**< best effort: job.deadline is CR_NEVER            */
};

#define CR_NCLASSES 3u

enum cr_state { CR_IDLE, CR_QUEUED, CR_RUNNING };

/** Cost of one job, in CPU time. */
struct cr_cost {
	cr_ns mean, p99;
	uint64_t variance_ns2;
};

/**
 * What a task promises to send: enough for LBAP (rate, burst) and TSpec
 * (rate, burst, peak, largest) arrival curves. All zero: nothing promised.
 */
struct cr_contract {
	uint32_t jobs;		    /**< x of the rate (x, y): jobs ... */
	cr_ns per;		    /**< y: ... in every window of this */
	uint32_t burst;		    /**< jobs beyond the rate, >= 0     */
	uint32_t peak_jobs_per_sec; /**< 0: unbounded                   */
	cr_ns largest;		    /**< cost of the largest job        */
};

/**
 * How much a listener would miss a frame, as far as its receiver could tell at
 * a glance. Zero, unknown: nobody has looked, or a codec would have to. From
 * CR_IMPORTANCE_QUIETEST on, how loud it is: 4 steps are 3 dB (twice the
 * energy), and CR_IMPORTANCE_QUIETEST is a mean square of one step of 16 bits.
 * Levels of different calls say nothing of each other: microphones differ.
 */
enum {
	CR_IMPORTANCE_UNKNOWN,
	CR_IMPORTANCE_NOTHING, /**< SID, NO_DATA, comfort noise, zeros */
	CR_IMPORTANCE_QUIETEST,
	CR_IMPORTANCE_LOUDEST = CR_IMPORTANCE_QUIETEST + 4 * 30 + 3
};

/** One frame to transcode. Written by the core only. */
struct cr_job {
	uint64_t seq;	/**< per task, from 0; gaps where frames were dropped */
	cr_ns arrival;	/**< the frame reached the machine                    */
	cr_ns release;	/**< it became the task's visible job                 */
	cr_ns eligible; /**< logical arrival by the release model             */
	cr_ns deadline; /**< absolute; CR_NEVER for CR_BE                     */
	cr_ns cost;	/**< estimate; the truth is known only at stop        */
	cr_ns ran;	/**< service so far, updated before each stop()       */
	uint8_t importance; /**< CR_IMPORTANCE_*, or a level              */
	bool must_keep; /**< not to be given up, however quiet it is: a digit,
			 or what tells of a loss                         */
};

/** A recurring source of jobs: one direction of one call. Its costs are
 * at most CR_TASK_LONGEST, its period and deadline a day. */
struct cr_task {
	/* constant between task_add() and task_del() */
	uint32_t id; /**< unique; the last tie-break of every policy */
	enum cr_class cls;
	cr_ns period;	    /**< > 0, between two jobs at the nominal rate  */
	cr_ns rel_deadline; /**< > 0, from eligible to deadline             */
	struct cr_cost cost;
	int nice;	 /**< -20..19, 0 is neutral                         */
	uint32_t weight; /**< share > 0; 1024 is neutral, as Linux counts   */
	struct cr_contract contract;
	struct cr_cpus cpus; /**< engine CPU numbers it may run on          */
	bool lossless;	     /**< a file's: its frames are never dropped     */
	/** A frame whose turn has not come so long after its arrival is
	 * dropped, but not before its deadline if this is rel_deadline or more;
	 * CR_NEVER: none is. */
	cr_ns max_age;

	/* written by the core under the rq lock; policies read */
	enum cr_state state;
	int cpu; /**< rq->cpu[] index: running on, else last ran on, else -1 */
	struct cr_rq *rq;
	struct cr_job job;

	/** Written by pick(): longest service before stop(SLICE), or CR_NEVER.
	 * Live mode looks at it only when the frame has ended. */
	cr_ns slice;

	/** Written by pick(), or left alone: the frame is not worth its time.
	 * It is dropped as one that is too old: stop(DROP) comes after 0 ns,
	 * and enqueue(NEXT) if more wait. One that must not be given up
	 * (cr_may_give_up()) is run all the same, unless it is too old. */
	bool give_up;

	/** The policy's own; ops->task_size bytes, zeroed before task_add(). */
	alignas(max_align_t) unsigned char priv[CR_TASK_PRIV];
};

struct cr_cpu {
	struct cr_task *running; /**< NULL: idle                   */
	cr_ns since;		 /**< when running started here    */
};

struct cr_sched;

/** Dispatch domain: one for global, one per CPU for partitioned, or between. */
struct cr_rq {
	alignas(64) const struct cr_sched *sched; /**< cache line: one lock */
	unsigned id;
	unsigned first_cpu; /**< engine number of cpu[0]            */
	unsigned ncpu;
	unsigned nqueued;
	int64_t load_ppm;   /**< cr_task_demand() / period over added tasks;
				 the core's */
	struct cr_cpu *cpu; /**< [ncpu]                             */

	/* mailbox: the policy writes, the core reads after every callback */
	cr_ns next_tick;     /**< call tick() at or after this; CR_NEVER: not */
	struct cr_cpus kick; /**< rq->cpu[] indexes: should pick again        */

	/** The policy's own; ops->rq_size bytes, zeroed before rq_init(). */
	void *priv;
};

/** Unit of a number of explain(), and so how it is shown. */
enum cr_kv_unit {
	CR_KV_COUNT,	/**< anything: as it is                         */
	CR_KV_NS,	/**< a time; CR_NEVER: never                    */
	CR_KV_CLOCK_NS, /**< a point in time, seen as a distance from now;
			     0: none yet; CR_NEVER: never               */
	CR_KV_PPM	/**< a share                                    */
};

/** A number a policy shows about a task. */
struct cr_kv {
	const char *key; /**< lower case and _, without the unit */
	int64_t value;
	enum cr_kv_unit unit;
};

/** Why admit() said no (or how much room is left after a yes). */
struct cr_verdict {
	int64_t need_ppm, free_ppm, bound_ppm;
	const char
		*rule; /**< static text: the test applied, e.g. "sum U <= M" */
};

/** A policy in use. */
struct cr_sched {
	const struct cr_sched_ops *ops;
	unsigned nrq;
	struct cr_rq *rq; /**< [nrq] */
	bool preemptible; /**< false: slices and kicks wait for the job's end */
	const void *opts; /**< parsed per ops->opts; NULL when there are none */
};

/** Private areas; T must match task_size / rq_size. */
#define CR_TASK(t, T) ((T *)(void *)(t)->priv)
#define CR_TASK_CONST(t, T) ((const T *)(const void *)(t)->priv)
#define CR_RQ(rq, T) ((T *)(rq)->priv)
#define CR_OPTS(rq, T) ((const T *)(rq)->sched->opts)

/** The task that owns a private area. */
static inline struct cr_task *cr_task_of(void *priv)
{
	return CR_CONTAINER_OF(priv, struct cr_task, priv);
}

/** May @t run on cpu[@cpu] of @rq? */
static inline bool cr_may_run(const struct cr_rq *rq, const struct cr_task *t,
			      unsigned cpu)
{
	return cr_cpus_has(&t->cpus, rq->first_cpu + cpu);
}

/** Has @a less load per CPU than @b? Tells where a task may go that a policy's
 * own sums do not count, such as best effort. */
static inline bool cr_lighter(const struct cr_rq *a, const struct cr_rq *b)
{
	return a->load_ppm * b->ncpu < b->load_ppm * a->ncpu;
}

/** May the job of @t be given up so that others are in time? */
static inline bool cr_may_give_up(const struct cr_task *t)
{
	return !t->lossless && !t->job.must_keep;
}

/** Service of @t's job, including the run in progress. */
static inline cr_ns cr_task_ran(const struct cr_task *t, cr_ns now)
{
	if (t->state != CR_RUNNING)
		return t->job.ran;
	return t->job.ran + (now - t->rq->cpu[t->cpu].since);
}

/** The longest that a job of @t may take, as far as its numbers say: what its
 * contract declares, else the 99th percentile, else the mean. */
static inline cr_ns cr_task_worst(const struct cr_task *t)
{
	if (t->contract.largest > 0)
		return t->contract.largest;
	return cr_ns_max(t->cost.p99, t->cost.mean);
}

/** Demand of a job of @t in an admission test: guaranteed tasks by the worst
 * case, others by the average. Policies under which best effort takes nothing
 * from others need not count it. */
static inline cr_ns cr_task_demand(const struct cr_task *t)
{
	return t->cls == CR_HARD ? cr_task_worst(t) : t->cost.mean;
}

/** For explain(): as many of the @n numbers @all as fit. */
static inline unsigned cr_kv_copy(struct cr_kv *kv, unsigned max,
				  const struct cr_kv *all, unsigned n)
{
	if (n > max)
		n = max;
	for (unsigned i = 0; i < n; i++)
		kv[i] = all[i];
	return n;
}

/** The same of a whole array. */
#define CR_KV_COPY(kv, max, all)                                               \
	cr_kv_copy((kv), (max), (all), sizeof(all) / sizeof((all)[0]))

/**
 * Kick the busy CPU whose task is the worst by @before, if @t is before it.
 * Nothing when the idle CPUs that @t may use are enough for all that wait (the
 * core kicks those).
 */
static inline void cr_kick_worst(struct cr_rq *rq, const struct cr_task *t,
				 bool (*before)(const struct cr_task *,
						const struct cr_task *, cr_ns),
				 cr_ns now)
{
	unsigned idle = 0;
	int worst = -1;

	if (!rq->sched->preemptible)
		return;
	for (unsigned c = 0; c < rq->ncpu; c++) {
		const struct cr_task *r = rq->cpu[c].running;

		if (!cr_may_run(rq, t, c) || cr_cpus_has(&rq->kick, c))
			continue;
		if (!r) {
			if (++idle >= rq->nqueued)
				return;
			continue;
		}
		if (worst < 0 || before(rq->cpu[worst].running, r, now))
			worst = (int)c;
	}
	if (worst >= 0 && before(t, rq->cpu[worst].running, now))
		cr_cpus_add(&rq->kick, (unsigned)worst);
}

#endif
