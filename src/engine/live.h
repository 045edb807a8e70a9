/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live engine: the core under threads, a lock per run queue and a clock. It
 * contains no scheduling logic and knows no codec: what a job does is the
 * client's run(). A driver has the threads. The scheduler that the engine is
 * opened with decides which driver that is:
 *
 *   workers          pinned threads. Each makes one lock round per job: it
 *                    stops the previous and picks the next. Idle workers sleep
 *                    (or poll, by option) and are woken by live_release().
 *   kernel threads   one for each task, under a scheduler of the kernel
 */
#ifndef ENGINE_LIVE_H
#define ENGINE_LIVE_H

#include <stdatomic.h>

#include "engine/core.h"
#include "engine/scheduler.h"

struct live;
struct live_server;

/** A task under the live driver. Embed it; zero before live_add(). */
struct live_task {
	struct core_task core;
	/** 1 while the task is queued, running, or about to be released.
	 * Exchanged by the receiver after it has pushed a frame, cleared by
	 * the worker before it looks at the backlog a last time. */
	atomic_bool active;
	bool leaving;  /**< live_remove() was called; under the rq lock */
	bool detached; /**< a detached thread has it; under the rq lock */
	struct live_server *server; /**< the driver of kernel threads'   */
	const void *kind; /**< the client's: what embeds it; constant */
};

/** The live task that the core knows as @t. */
static inline struct live_task *live_task_of(struct core_task *t)
{
	return CR_CONTAINER_OF(t, struct live_task, core);
}

/** The worker's knowledge of the job that it runs. */
struct live_run {
	unsigned worker; /**< engine CPU that serves it                  */
	cr_ns picked;	 /**< when it was chosen                         */
	cr_ns cpu;	 /**< thread CPU time then; 0: not read          */
	cr_ns charged;	 /**< for the job before it, by the same thread; 0:
			      there was none, or its thread serves one task */
	bool expired;	 /**< too old: conceal instead of transcoding    */
};

/** The part of @run->charged that a trace has. */
static inline uint32_t live_charged_before(const struct live_run *run)
{
	return run->charged <= CR_TRACE_CHARGE_MAX ? (uint32_t)run->charged : 0;
}

/** The client: it owns the tasks and does the work. */
struct live_client {
	struct core_backlog backlog;
	/** Do the claimed job of @t; called on its worker, no lock held. The
	 * job is t->core.task.job. Must send its output before it returns,
	 * unless idle() and before_move() send what waits. */
	void (*run)(void *arg, struct live_task *t, const struct live_run *run);
	/** @t has left the engine after live_remove(); free it. Called with no
	 * lock held, on a worker or on the thread that called live_remove(). */
	void (*gone)(void *arg, struct live_task *t);
	/** The worker has nothing to do and is about to wait; no lock held. May
	 * be NULL. */
	void (*idle)(void *arg, unsigned worker);
	/** Thread @worker starts: name it, prepare buffers. It is the thread
	 * of the worker with that number, or of a task
	 * (live_config.max_threads). May be NULL. */
	void (*worker_up)(void *arg, unsigned worker);
	/** The same thread, before it ends. May be NULL. */
	void (*worker_down)(void *arg, unsigned worker);
	/** live_detach() is about to take the place of @worker from the thread
	 * that runs @t. False: let it go on, it is about to end. Under the rq
	 * lock: decide at once, and wait for no other lock. NULL: always true.
	 */
	bool (*may_detach)(void *arg, struct live_task *t, unsigned worker);
	/** The detached thread that had @t has let go of it. Meanwhile @t was
	 * to leave, so call live_remove() once more. On that thread, no lock
	 * held. A client that calls live_detach() needs this. */
	void (*returned)(void *arg, struct live_task *t);
	/** The policy broke its contract; another stands in for it on that run
	 * queue, and live_recover() should follow. Any thread, no lock held.
	 * May be NULL. */
	void (*faulty)(void *arg, const struct core_fault *fault);
	/** Tasks may be about to move to other run queues, so that other
	 * workers run their next jobs: what workers keep of the jobs before
	 * has to leave. Control thread, no lock held. May be NULL. */
	void (*before_move)(void *arg);
	/** They have moved, if before_move() came, and the policy may be
	 * another. Control thread, no lock held. May be NULL. */
	void (*after_move)(void *arg);
	void *arg;
};

/** The properties of a driver. Constant. */
struct live_driver {
	const char *name;
	/** A thread for each task, up to live_config.max_threads, and
	 * worker_up() gets its number; else one for each worker. */
	bool thread_per_task;
	/** Threads have the priorities that the kernel's scheduler gives them:
	 * a receiver that is not to starve needs the highest. */
	bool kernel_priorities;
	/** The functions for src/recovery have an effect. */
	bool watched;
	/** A thread does the jobs of many tasks: what they leave to be sent can
	 * leave together. */
	bool shares;
};

/** The driver that an engine under @s has. */
const struct live_driver *live_driver_for(const struct scheduler *s);

struct live_config {
	struct core_config core;
	/** The kernel's scheduler and its options, or NULL; core.ops is NULL
	 * then, which is the policy of workers. See live_choose(). */
	const struct kernel_sched *kernel;
	const char *kernel_opts;
	const unsigned
		*pin;	 /**< [core.ncpu] OS CPU numbers; NULL: not pinned */
	bool poll;	 /**< idle workers spin instead of sleeping        */
	int rt_priority; /**< SCHED_FIFO priority of workers; 0: none      */
	/** With live_driver.thread_per_task: tasks at a time, 1..; worker_up()
	 * gets the thread's number, 0..max_threads - 1. */
	unsigned max_threads;
	struct live_client client;
};

/** Let an engine opened by @cfg schedule by @s. */
static inline void live_choose(struct live_config *cfg,
			       const struct scheduler *s)
{
	cfg->core.ops = s->policy;
	cfg->core.opts = s->policy ? s->opts : NULL;
	cfg->kernel = s->kernel;
	cfg->kernel_opts = s->kernel ? s->opts : NULL;
}

/** Counters of one worker since the start. */
struct live_worker_stats {
	cr_ns busy;	  /**< inside run()                    */
	cr_ns cpu;	  /**< thread CPU time                 */
	uint64_t jobs;	  /**< run() calls                                */
	uint64_t picks;	  /**< jobs handed out by the policy              */
	uint64_t drops;	  /**< jobs met whose frame was gone, too old, shed */
	uint64_t wakeups; /**< times it had nothing to do, slept, and woke */
	uint64_t steals;  /**< jobs taken from other run queues           */
};

/**
 * Start an engine. Returns 0 and sets *@l, or -errno with @e (bad options, no
 * such CPU, no memory; -EPERM: the kernel's scheduler takes a privilege). Lost
 * privileges (real-time priority) are not fatal: the return is still 0 and
 * @warn says what was not granted.
 */
int live_open(struct live **l, const struct live_config *cfg,
	      struct cr_err *warn, struct cr_err *e);

/**
 * Stop and join the workers. NULL is fine. 0; or -EBUSY: a detached thread has
 * not come back from run(), so all that it may touch must stay. Call again, or
 * let the process end.
 */
int live_stop(struct live *l);

/** Stop, if live_stop() has not, and free. All tasks must have gone, and no
 * thread may be away. NULL is fine. */
void live_close(struct live *l);

/**
 * Admit @t and let it join. Returns 0; -ENOSPC or -EINVAL with @v filled when
 * the policy (or the capacity guard) refuses; nothing has changed then.
 * Control thread only.
 */
int live_add(struct live *l, struct live_task *t, struct cr_verdict *v);

/** The refusal of live_add() as text for a person. Control thread. */
void live_refusal(struct live *l, int code, const struct cr_verdict *v,
		  char *buf, size_t size);

/**
 * Make @t leave: a queued job is cancelled, a running one finishes, then
 * client.gone(). The caller guarantees that nobody releases @t any more.
 * Control thread or an RCU callback.
 */
void live_remove(struct live *l, struct live_task *t);

/**
 * Let @t, which has been added and not removed, go on by other terms; see
 * core_change(), which @flags are of. It moves only where it does not fit in
 * its run queue. No frame is lost. Returns 0; 1 with @v: done by
 * CORE_CHANGE_FORCE alone; -ENOSPC or -EINVAL with @v filled: refused (-EINVAL:
 * always, by a driver that changes nothing), nothing has changed; or -ENOMEM.
 * Control thread; all workers wait meanwhile (the longer the more tasks:
 * tests/bench/engine/live_change.c).
 */
int live_change(struct live *l, struct live_task *t,
		const struct core_terms *to, unsigned flags,
		struct cr_verdict *v);

/** Its producer (rx), after pushing a frame: must @t go into the release batch?
 */
static inline bool live_task_wake(struct live_task *t)
{
	return !atomic_exchange_explicit(&t->active, true,
					 memory_order_seq_cst);
}

/**
 * Release tasks for which live_task_wake() said true: one lock round per run
 * queue for the whole batch, then idle workers are woken. Any thread that no
 * worker waits for; each task has one producer.
 */
void live_release(struct live *l, struct live_task *const *tasks, unsigned n);

/**
 * Schedule by @to under live tasks; no job is lost. Returns 0, or -errno with
 * @e (unknown option; the new policy cannot take the tasks; -ENOTSUP: it takes
 * another driver, or this one changes nothing), and nothing has changed then.
 * Control thread; all workers wait meanwhile (about a microsecond per task).
 */
int live_switch_to(struct live *l, const struct scheduler *to,
		   struct cr_err *e);

/** When that happened last: the first pick at or after it is @to's. Control
 * thread. */
cr_ns live_switched_at(const struct live *l);

/** live_switch_to() the policy @ops. */
int live_switch(struct live *l, const struct cr_sched_ops *ops,
		const char *opts, struct cr_err *e);

/** Change options of the running scheduler ("quantum=5ms"). As
 * live_switch_to(). */
int live_tune(struct live *l, const char *opts, struct cr_err *e);

/** core_set_rules() for the frames and tasks to come. 0, or -ENOTSUP: this
 * driver's threads go by what they were started with. Control thread. */
int live_set_rules(struct live *l, const struct core_config *from);

/**
 * When another stands in for a policy that broke its contract on some run
 * queue, make that the policy of all. 1: done; 0: nothing to do; or -errno with
 * @e. Control thread.
 */
int live_recover(struct live *l, struct cr_err *e);

/** The scheduler in use (static text), and its options as "key=value,..." text.
 * Any thread. */
const char *live_scheduler(struct live *l);
void live_scheduler_opts(struct live *l, char *buf, size_t size);

/** The driver that was chosen. Any thread. */
const struct live_driver *live_driver(const struct live *l);

/** Does one thread do all jobs of a task, and those of others, until
 * client.before_move() says that they are about to move? Control thread. */
bool live_tasks_stay(struct live *l);

/** The figures of @t now (see core_explain(), core_promise()). Any thread. */
unsigned live_explain(struct live *l, struct live_task *t, struct cr_kv *kv,
		      unsigned max);
void live_promise(struct live *l, struct live_task *t, struct cr_promise *p);

unsigned live_nworkers(const struct live *l);
/** The number of workers of run queue @queue. Constant. */
unsigned live_queue_cpus(const struct live *l, unsigned queue);
/** Sum over workers of the time inside run(). Any thread, cheap. */
cr_ns live_busy(const struct live *l);
void live_worker_stats(struct live *l, unsigned worker,
		       struct live_worker_stats *out);

/** Sum over run queues: queued tasks now, load of added tasks in ppm, and the
 * bound that admission holds it to. Any thread. */
struct live_load {
	unsigned queued, tasks;
	int64_t load_ppm, bound_ppm;
	uint64_t faults; /**< times a policy broke the contract */
};
void live_load(struct live *l, struct live_load *out);

/* --- for src/recovery: what tasks and workers are at, and what can be done
 * when they do not advance. When to do it is decided there. Control thread
 * only; has no effect under a driver that says so (live_driver.watched).
 *
 * A thread that does not return from run() loses its place, not its life:
 *
 *   live_detach()         under the place's lock: the thread and its task are
 *                         detached, the CPU is free, the task is idle; the
 *                         policy knows of no job
 *   live_start_worker()   a new thread at the place, with everything a worker
 *                         has
 *   live_remove()         the task is to leave, but the detached thread has it
 *   run() returns         the thread sees detached under the place's lock, and
 *                         lets go of the task: detached no more. If it was to
 *                         leave: client.returned(), then live_remove() succeeds
 *   live_join_detached()  it has ended: joined, freed
 *
 * A task that is detached is never released: nobody clears its active. What the
 * detached thread and the new one share is the client's to keep apart; it is
 * asked first (client.may_detach), under the same lock. ---
 */

/** A task and the run queue it belongs to, at one instant. */
struct live_task_look {
	enum cr_state state;
	/** When its job was given to the policy, the last one's if it is idle:
	 * changes whenever it is released or picked. */
	cr_ns release;
	cr_ns eligible; /**< of that job */
	bool idle;	/**< a worker there has nothing to do now       */
	uint64_t idles; /**< times that one of them had nothing to do   */
};
void live_look_task(struct live *l, struct live_task *t,
		    struct live_task_look *look);

/** The job that a worker is at. False: none. */
struct live_worker_look {
	struct live_task *task;
	cr_ns picked; /**< when: names the job */
};
bool live_look_worker(struct live *l, unsigned worker,
		      struct live_worker_look *look);

/** The kernel's figures of the thread at a worker's place. */
struct live_worker_use {
	cr_ns cpu;     /**< time it has had a CPU */
	bool runnable; /**< has one or waits for one; false: it sleeps */
};
void live_look_use(struct live *l, unsigned worker,
		   struct live_worker_use *use);

/** Release @t, if it sleeps with frames waiting; wake idle workers, if it is
 * queued. No harm when nothing was lost. */
void live_wake_again(struct live *l, struct live_task *t);

/** See core_blame_policy(); client.faulty() follows. */
bool live_blame_policy(struct live *l, struct live_task *t);

/**
 * Take @worker's place from the thread that is still at @look, and its task out
 * of the schedule: the policy hears that the job was dropped and cost what was
 * expected. The thread goes on at the lowest priority; when run() returns it
 * ends. No more of the task's frames run; live_remove() it. False: it has come
 * back, or client.may_detach() says no. True: live_start_worker() should
 * follow.
 */
bool live_detach(struct live *l, unsigned worker,
		 const struct live_worker_look *look);

/** Start a thread at the place of @worker if it is vacant, unless the engine
 * stops: client.worker_up() comes on it. 0, or -errno with @e. */
int live_start_worker(struct live *l, unsigned worker, struct cr_err *e);

/** Join detached threads that have come back. Returns how many have not. */
unsigned live_join_detached(struct live *l);

#endif
