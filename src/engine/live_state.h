/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the live driver; for src/engine/live*.c only.
 */
#ifndef ENGINE_LIVE_STATE_H
#define ENGINE_LIVE_STATE_H

#include <pthread.h>
#include <stdalign.h>

#include "base/assert.h"
#include "base/clock.h"
#include "engine/live.h"
#include "engine/meter.h"

/* --- what a driver implements: one row for each, in live_workers.c and
 * live_kernel.c. The engine itself (live.c) keeps the core, its run queues with
 * their locks, and the places: CPUs with counters, live->worker[]. A driver has
 * the threads. --- */

/** Thread rules are those of the functions of live.h that call these. */
struct live_ops {
	struct live_driver driver;
	/** Places and run queues are there: start. 0, or -errno with @e; @warn:
	 * what was not granted. After a failure stop() and close() follow. */
	int (*open)(struct live *l, struct cr_err *warn, struct cr_err *e);
	/** End the threads and join them, except those that are detached. */
	void (*stop)(struct live *l);
	/** Free what open() made. May be NULL. */
	void (*close)(struct live *l);

	/** @t has joined the core. 0; or -errno with @v: it has to leave. May
	 * be NULL. */
	int (*added)(struct live *l, struct live_task *t, struct cr_verdict *v);
	void (*remove)(struct live *l, struct live_task *t);
	void (*release)(struct live *l, struct live_task *const *tasks,
			unsigned n);
};

extern const struct live_ops live_workers_ops;
extern const struct live_ops live_kernel_ops;

/** A run queue with its lock, and which of its workers are idle. */
struct live_rq {
	alignas(64) pthread_mutex_t lock;
	/* under the lock */
	struct cr_rq *rq;
	struct cr_cpus idle; /**< rq->cpu[] indexes: idle, not yet woken    */
	int tick_waiter;     /**< idle index that waits for until; -1: none */
	cr_ns until; /**< CR_NEVER without a tick waiter                 */
	bool stopping;
	/** For workers that steal and threads that wake them: written under the
	 * lock, read without. Sequentially consistent: a thread that enqueues
	 * stores queued and then reads n_idle; a worker that goes idle stores
	 * n_idle and then reads queued. */
	atomic_uint queued, n_idle;
};

/**
 * A thread at a worker's place. Nearly always the place's one and only:
 *
 *           run() for too long,             run() returns
 *           live_detach()                   after all
 *   at work -------------------> detached ---------------> over --> joined and
 *      ^                         place: vacant                      freed:
 *      +-- live_start_worker() -------+                    live_join_detached()
 */
struct live_thread {
	struct live_worker *place;
	pthread_t id;
	clockid_t cpu_clock;
	int tid;	    /**< the kernel's name; place->home->lock       */
	struct meter meter; /**< the thread's own */
	bool detached;	    /**< place->home->lock: the place is another's  */
	/** Release, pairs with live_join_detached(): it touches the engine no
	 * more. */
	atomic_bool over;
	struct live_thread *next; /**< control: among the detached         */
};

/** A worker: the place of a thread at a CPU of the engine. */
struct live_worker {
	alignas(64) struct live *live;
	struct live_rq *home;
	unsigned cpu;	/**< engine number                     */
	unsigned index; /**< in home->rq->cpu[]                */
	int pin;	/**< OS CPU, or -1                     */
	/* control */
	struct live_thread *thread; /**< NULL: vacant                      */
	_Atomic cr_ns past_cpu;	    /**< CPU time of those detached    */
	pthread_cond_t wake;	    /**< with home->lock            */
	/** Taken out of home->idle: look for work. Written under home->lock;
	 * a polling worker reads it without (acquire, pairs with
	 * wake_worker()). */
	atomic_bool woken;
	/* written by the thread at work, read by any thread (relaxed: only
	 * counts) */
	_Atomic cr_ns busy;
	atomic_ullong jobs, picks, drops, wakeups, steals;
};

/** The client's backlog with the sleep protocol around it: the core's. */
struct live_backlog {
	struct core_backlog core;
	struct core_backlog client;
};

struct live {
	struct live_config cfg;
	const struct live_ops *ops;
	struct core *core;
	cr_ns switched; /* control thread: the policy was replaced at that time
			 */
	struct live_backlog backlog;
	unsigned nrq, nworkers;
	struct live_rq *rq;	      /**< [nrq]           */
	struct live_worker *worker;   /**< [cfg.core.ncpu] */
	struct live_thread *detached; /**< control */
	struct live_servers *servers; /**< live_kernel.c's, else NULL */
	int64_t kernel_option;	      /**< of the kernel's scheduler  */
};

/** The workers to wake, and how, after the lock has been released. */
struct live_wakes {
	struct cr_cpus cpus; /**< indexes in the run queue            */
	unsigned surplus;    /**< tasks no idle worker here can take  */
	bool faulty;	     /**< the policy broke the contract       */
};

/** Take idle workers out of @q->idle for what has happened; @ticks: one also
 * for a tick that comes before its waiter's time. Lock held. */
void live_settle(struct live *l, struct live_rq *q, bool ticks,
		 struct live_wakes *w);

/** Signal them; no lock held. */
void live_signal(struct live *l, struct live_rq *q, const struct live_wakes *w);

/** Settle what has happened, unlock @q, and signal. */
void live_unlock(struct live *l, struct live_rq *q);

/** Start a thread at the vacant place @w. 0, or -errno with @e. */
int live_start_thread(struct live_worker *w, struct cr_err *e);

/** All run queues' locks, in their order. */
void live_lock_all(struct live *l);
void live_unlock_all(struct live *l);

/** Index of the run queue of @t; certain under that one's lock. */
static inline unsigned live_home_of(struct live_task *t)
{
	return atomic_load_explicit(&t->core.home, memory_order_relaxed);
}

/** The run queue of @t, locked. */
struct live_rq *live_lock_home(struct live *l, struct live_task *t);

#endif
