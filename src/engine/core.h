/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The core: life cycle of tasks and jobs on run queues, for both drivers.
 *
 * It owns the state machine drawn in cr/sched.h, checks it, and talks to the
 * policy and to the tasks' backlogs. It has no threads, no locks and no clock:
 * the live driver calls it with the run queue's lock held, the simulator from
 * its one thread. No scheduling logic lives here.
 *
 * Lock order of the live driver: run queues by rising id; nothing else is
 * waited for below a run-queue lock, and nothing there blocks.
 */
#ifndef ENGINE_CORE_H
#define ENGINE_CORE_H

#include <inttypes.h>
#include <stdatomic.h>
#include <sys/queue.h>

#include "cr/container.h"
#include "cr/error.h"
#include "cr/sched.h"
#include "cr/trace.h"
#include "engine/shed.h"

struct core;
struct core_task;

/** The treatment of a frame that is too old when its turn comes. */
enum core_expired {
	CORE_EXPIRED_DROP, /**< drop it here, count it, pick again           */
	CORE_EXPIRED_CONCEAL /**< hand it out marked expired: the driver's
				client sends NO_DATA or concealment instead */
};

/**
 * core_config.max_age: the limit follows each task's deadline. A frame is too
 * old when it has waited for CORE_AGE_TIMES its task's relative deadline (or
 * period, if that is longer: a short deadline asks for an earlier turn, not to
 * be given up earlier), or for CORE_AGE_MOST, whichever is less, and its
 * deadline has passed. Best effort has no deadline: CORE_AGE_MOST alone.
 * CORE_AGE_MOST leaves 10 ms of the 100 that a listener should wait at most,
 * for the frame's own service and its packet's wait for others.
 */
#define CORE_AGE_AUTO INT64_C(-1)
#define CORE_AGE_TIMES 4
#define CORE_AGE_MOST (90 * CR_MS)

/**
 * The backlog of a task, as its owner (a call, a workload model) sees it.
 * Called with the lock of the task's run queue held: no system call, no malloc.
 */
struct core_backlog {
	/** Describe the oldest waiting frame: all of seq, arrival, eligible and
	 * deadline of @job; its importance, if anybody rates the task's; and
	 * whether it is to be kept, if any of them is. False: nothing waits,
	 * and the task goes to sleep until core_release(). */
	bool (*peek)(struct core_task *t, struct cr_job *job);
	/** Take frame @seq out, which was the oldest. False: it is gone. */
	bool (*claim)(struct core_task *t, uint64_t seq);
	/** Frame @job was claimed and then not run, at @now: CR_OUT_EXPIRED;
	 * CR_OUT_SHED, by the rule of shed.h or, if task.give_up, by the
	 * policy; or CR_OUT_CANCELLED. May be NULL. */
	void (*dropped)(struct core_task *t, const struct cr_job *job,
			enum cr_outcome why, cr_ns now);
};

/** A task with what the core needs around it. Embed it; zero, fill, add. */
struct core_task {
	struct cr_task task; /**< owner fills the constant part */

	/* the core's, under the lock of the task's run queue; what seldom
	 * changes is beside what no policy uses of the task */
	int64_t load_ppm; /**< its part of rq->load_ppm                 */
	TAILQ_ENTRY(core_task) link;
	/** Index of its run queue. Written with the locks of the old and the
	 * new one held; read by any thread to know which lock to take, and
	 * again under that lock (relaxed: the lock orders it). */
	atomic_uint home;

	const struct core_backlog *backlog;
	/** Owner: what it sounds like and has lost, for core_config.shed; NULL:
	 * its frames only get too old. Under the lock of its run queue. */
	struct shed_call *shed;
	bool patient; /**< owner: its frames never get too old */
	bool expired; /**< the running job is too old (CORE_EXPIRED_CONCEAL) */

	/* the core's; under the same lock */
	bool claimed;	   /**< the job's frame is out of the backlog   */
	bool foreign;	   /**< running, picked by the former policy    */
	struct core *core; /**< whose it is: what no policy can make up */
	enum cr_stop left; /**< why it last left a CPU                  */
};

static inline struct core_task *core_task_of(struct cr_task *t)
{
	return CR_CONTAINER_OF(t, struct core_task, task);
}

/** The configuration of an engine. */
struct core_config {
	/** NULL: no policy. Tasks are admitted by the guard, added and deleted,
	 * and always idle: others schedule them. */
	const struct cr_sched_ops *ops;
	const char *opts;     /**< "key=value,key=value" or NULL           */
	unsigned ncpu;	      /**< 1..CR_MAX_CPUS                          */
	unsigned cpus_per_rq; /**< 0: all (global); 1: partitioned; else
				   clustered, the last domain may be smaller */
	/** Or the CPUs of each of @nrq run queues, together @ncpu. Read by
	 * core_open() only. NULL: see @cpus_per_rq. */
	const unsigned *rq_cpus;
	unsigned nrq;
	bool preemptible;
	bool admission;	      /**< false: core_admit() never says ENOSPC    */
	int64_t capacity_ppm; /**< guard per CPU for policies without admit;
				   0: CR_PPM                               */
	/** Frames that waited longer are too old. 0: none is; CORE_AGE_AUTO. */
	cr_ns max_age[CR_NCLASSES];
	enum core_expired expired[CR_NCLASSES];
	struct shed_rule shed; /**< of tasks that have a core_task.shed     */
	/** Replace a policy that breaks its contract in debug builds, too,
	 * where it aborts otherwise: for tests of the replacement. */
	bool lenient;
	/** Ask the policy's check() before each pick, in every build; false is
	 * a broken contract. For plug-ins that are being tried. */
	bool check;
};

/**
 * Build the run queues and start the policy. Returns 0 and sets *@c, or -EINVAL
 * (options, CPUs), -ENOMEM, or what the policy's rq_init() said, with @e.
 * @now: the first instant of every run queue.
 */
int core_open(struct core **c, const struct core_config *cfg, cr_ns now,
	      struct cr_err *e);

/** Go on with admission, capacity_ppm, max_age, expired and shed of @from;
 * tasks that have joined stay. All run queues' locks held. */
void core_set_rules(struct core *c, const struct core_config *from);

/** All tasks must have been deleted. NULL is fine. */
void core_close(struct core *c);

/** Constant after core_open(); any thread, no lock. */
unsigned core_nrq(const struct core *c);
struct cr_rq *core_rq(struct core *c, unsigned i);
/** The run queue that engine CPU @cpu belongs to. */
struct cr_rq *core_rq_of(struct core *c, unsigned cpu);

/** The policy in use, its options; any lock held, or the one thread that
 * switches. */
const struct cr_sched *core_sched(const struct core *c);

/* --- tasks; core_admit() and what follows it need all locks --- */

/**
 * Where may @t join? Returns an rq index, or -ENOSPC or -EINVAL; @v is filled
 * either way. Nothing changes. Without core_config.admission only -EINVAL is
 * possible. All locks held (or none, when no other thread adds or switches and
 * the figures of a moment are good enough).
 */
int core_admit(const struct core *c, const struct cr_task *t,
	       struct cr_verdict *v);

/** "no-capacity: need 0.0035, free 0.0012 of 1.00 under edf (rule)". */
void core_refusal(const struct core *c, int code, const struct cr_verdict *v,
		  char *buf, size_t size);
/** The same, under the name of @scheduler. Pure. */
void core_refusal_under(const char *scheduler, int code,
			const struct cr_verdict *v, char *buf, size_t size);

/** @t joins run queue @rq, where core_admit() said. Lock of that rq held. */
void core_add(struct core *c, struct core_task *t, unsigned rq, cr_ns now);

/** @t leaves for good; not running. A queued job and everything that waits
 * behind it is dropped as CR_OUT_CANCELLED. Lock of its rq held. */
void core_del(struct core *c, struct core_task *t, cr_ns now);

/* --- other terms for a task that is added --- */

/** The terms of a task that schedulers know and that can change. */
struct core_terms {
	enum cr_class cls;
	cr_ns period; /**< 0: as it is */
	cr_ns rel_deadline;
	struct cr_cost cost;
	int nice;
	uint32_t weight;
	struct cr_contract contract;
};

enum {
	CORE_CHANGE_STAY = 1, /**< in its run queue                        */
	CORE_CHANGE_FORCE = 2 /**< beyond the capacity, too                */
};

/** Make @t one of the terms @to; it is not added. */
void core_set_terms(struct cr_task *t, const struct core_terms *to);

/** Is @is of a better class, dearer, more urgent or more often than @was? Pure.
 */
bool core_asks_for_more(const struct core_terms *was,
			const struct core_terms *is);

struct core_change;

/** Get ready to change a task of a run queue of up to @room: allocate what it
 * takes to undo that. @flags: CORE_CHANGE_*. No lock needed. Returns 0 and sets
 * *@ch, or -ENOMEM. */
int core_change_prepare(struct core_change **ch, struct core *c, unsigned room,
			unsigned flags);

/**
 * Let @t go on by the terms @to. It is admitted anew, as if it had never been
 * there; a change that asks for no more than before is never refused for
 * capacity. Its frames stay: the job that runs ends, the one that waits is
 * enqueued again (MIGRATE), maybe in another run queue. All locks held, @now
 * not before any of them.
 *
 * Returns 0; 1 with @v: done by CORE_CHANGE_FORCE alone; -ENOSPC or -EINVAL
 * with @v: refused, and the schedule goes on as if nobody had asked; -EAGAIN:
 * more than @room tasks.
 */
int core_change(struct core_change *ch, struct core_task *t,
		const struct core_terms *to, cr_ns now, struct cr_verdict *v);

/** Free it. No lock needed. NULL is fine. */
void core_change_finish(struct core_change *ch);

/** The time that the job of @t has waited at @now without need: since its
 * arrival;
 * under a policy that holds frames back until their time, since that. */
cr_ns core_waited(const struct core_task *t, cr_ns now);

/** Age at which a frame of @t, released when it arrives, gets too old where
 * core_config.max_age is @max_age; CR_NEVER: none does. Pure. */
cr_ns core_age_limit(cr_ns max_age, const struct cr_task *t);

/* --- events of one run queue; its lock held, @now never goes back --- */

/** A frame woke idle @t: make its oldest frame the job and enqueue it. False:
 * nothing waits after all. */
bool core_release(struct core *c, struct core_task *t, cr_ns now);

/**
 * Choose, and take out of its backlog, what cpu[@cpu] of @rq runs next. Jobs
 * whose frames are gone or too old are taken from the policy again on the way.
 * NULL: nothing for this CPU.
 */
struct core_task *core_pick(struct core *c, struct cr_rq *rq, unsigned cpu,
			    cr_ns now);

/** The task of cpu[@cpu] leaves it after @ran ns of service; returns it. Call
 * core_again() for it (in the simulator: after all stops of the instant), or
 * core_del(). */
struct core_task *core_stop(struct core *c, struct cr_rq *rq, unsigned cpu,
			    cr_ns ran, enum cr_stop why, cr_ns now);

/** After core_stop(): enqueue the rest of the job, or the next one. False:
 * nothing waits, the task sleeps. */
bool core_again(struct core *c, struct core_task *t, cr_ns now);

/** Is the policy's tick due, and if so, deliver it. */
bool core_tick(struct core *c, struct cr_rq *rq, cr_ns now);

/** Move a queued task from @from to @to for its idle cpu[@cpu], if the policy
 * steals. Both locks held. The task is queued in @to then; NULL: none. */
struct core_task *core_steal(struct core *c, struct cr_rq *from,
			     struct cr_rq *to, unsigned cpu, cr_ns now);

/**
 * CPUs of @rq that should pick now, as far as @idle (rq->cpu[] indexes) has
 * them: kicked by the policy, or as many as tasks were enqueued and may run
 * there since the last call. They are taken out of @idle and put in @wake;
 * kicks of busy CPUs are forgotten. For drivers that do not preempt: one that
 * does reads rq->kick, and lets every idle CPU pick at every instant.
 * Returns how many tasks found no idle CPU.
 */
unsigned core_wakes(struct core *c, struct cr_rq *rq, struct cr_cpus *idle,
		    struct cr_cpus *wake);

/** Let as many CPUs as tasks wait on @rq pick again: see core_wakes(). Lock of
 * @rq held. */
void core_relook(struct core *c, struct cr_rq *rq);

/** The counts of core_pick() in one run queue; under its lock. */
struct core_counts {
	uint64_t picks;	    /**< jobs handed out                              */
	uint64_t gone;	    /**< jobs whose frame was dropped meanwhile       */
	uint64_t expired;   /**< jobs dropped because too old                 */
	uint64_t shed;	    /**< jobs shed by core_config.shed                */
	uint64_t given_up;  /**< jobs that the policy gave up  */
	uint64_t concealed; /**< jobs too old, but handed out (concealed)     */
	uint64_t faults;    /**< times its policy broke the contract         */
};
struct core_counts core_counts(const struct core *c, const struct cr_rq *rq);

/** Load that the guard admits up to, over all CPUs; constant. */
int64_t core_bound_ppm(const struct core *c);

/** Tasks that belong to @rq; under its lock. */
unsigned core_ntasks(const struct core *c, const struct cr_rq *rq);

/** The promise of @t, which is added; never without a rule. Lock of its rq
 * held. */
void core_promise(const struct core_task *t, struct cr_promise *p);

/** Numbers about @t, which is added: what its policy explains and, of one that
 * makes promises, whether it is in time. Lock of its rq held. */
unsigned core_explain(const struct core_task *t, struct cr_kv *kv,
		      unsigned max);

/* --- policies that break the contract (core_guard.c) --- */

enum { CORE_FAULT_KV = 12 };

/** A breach of the contract by a policy, and its words about the task. */
struct core_fault {
	const char *policy, *callback, *what; /**< static text            */
	unsigned rq;
	int64_t cpu;  /**< engine number; -1: none                        */
	int64_t task; /**< id; -1: none                                   */
	unsigned nkv; /**< of kv[], from explain()                        */
	struct cr_kv kv[CORE_FAULT_KV];
};

/** Is there a fault to take? Under the lock of @rq. */
bool core_faulty(const struct core *c, const struct cr_rq *rq);

/**
 * The fault of @rq's policy that nobody has asked for yet, once. By then
 * cr_sched_fallback serves that run queue, with every task and job it had;
 * core_switch_commit() makes it the policy of all. Under the lock of @rq.
 */
bool core_take_fault(struct core *c, const struct cr_rq *rq,
		     struct core_fault *f);

/**
 * Blame the policy for leaving @t waiting while CPUs had nothing to do. No
 * single answer of pick() shows that, so a watchdog has to call this. As with
 * the faults that the core finds, another policy takes the run queue over.
 * Returns false if @t does not wait, or if that has happened already. Lock of
 * its rq held.
 */
bool core_blame_policy(struct core *c, struct core_task *t, cr_ns now);

/** "policy=edf callback=pick what=\"...\" rq=0 task=3 deadline_ns=20": for
 * people. */
void core_fault_text(const struct core_fault *f, char *buf, size_t size);
/** Of that what the policy says about the task, "deadline_ns=20": whoever logs
 * a fault has the rest as values. */
void core_fault_said(const struct core_fault *f, char *buf, size_t size);
/** Does another stand in for the policy of some run queue? All locks held. */
bool core_replaced(const struct core *c);

/* --- replacing the policy --- */

struct core_switch;

/**
 * Get ready to replace the policy: parse options, allocate for up to @room
 * tasks. No lock needed. Returns 0 and sets *@sw, or -EINVAL, -ENOMEM with @e.
 */
int core_switch_prepare(struct core_switch **sw, struct core *c, unsigned room,
			const struct cr_sched_ops *ops, const char *opts,
			struct cr_err *e);

/**
 * Replace it: all or nothing. All locks held, @now not before any of them.
 * Returns 0; -ENOSPC, -EINVAL (the new policy refuses a task), -EAGAIN (more
 * than @room tasks) or what rq_init() said, with @e, and then nothing has
 * changed.
 */
int core_switch_commit(struct core_switch *sw, cr_ns now, struct cr_err *e);

/** Free what is not in use: the former policy's memory, or all after a
 * failure. No lock needed. NULL is fine. */
void core_switch_finish(struct core_switch *sw);

#endif
