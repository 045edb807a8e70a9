/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recovery from what does not advance, for a client of a live engine:
 *
 *   a worker is stuck    in one job for longer than the limit. A thread cannot
 *                        be killed, for it may hold the C library's locks: it
 *                        loses its place, not its life. Its task is over.
 *   a task is stalled    it is released once more and idle workers look again;
 *                        if that does not help, its policy is to blame, and
 *                        another one takes over (engine/core_guard.c)
 *
 * A worker that is stuck, step by step:
 *
 *   recovery_round()       it is found. Without a spare context nothing is
 *                          done but found() with RECOVERY_NO_SPARE.
 *   live_detach()          under the run queue's lock the engine asks
 *                          live_client.may_detach(); the thread is detached,
 *                          the place is vacant, the task is idle for good
 *   found(), rescue()      what the thread had ready for others leaves, while
 *                          no other one serves them
 *   live_start_worker()    a new thread at the place, with the spare context
 *   over()                 the client ends the task
 *     ...
 *   run() returns          on the detached thread: live_client.returned(), then
 *                          recovery_leave_slot(): its context is a spare again
 *   recovery_round()       it is joined
 *
 *            recovery_take_slot()          live_detach() recovery_leave_slot()
 *   context  ------------>  at a place ----> a stuck thread's ----> a spare
 *   thread                  at work    ----> detached         ----> joined
 *   task                    runs       ----> hung             ----> returned
 *
 * A detached thread touches its context and its task, and of the engine
 * only the run queue's lock, to learn that it is detached.
 *
 * Thread rule: everything is the control thread's, but recovery_take_slot() and
 * recovery_leave_slot(), which are of the threads themselves. The caller holds
 * no lock, and no client function is called with one held. Run queues' locks
 * are taken inside, one at a time.
 */
#ifndef RECOVERY_RECOVERY_H
#define RECOVERY_RECOVERY_H

#include <stdbool.h>
#include <stdint.h>

#include "cr/sched.h"
#include "engine/live.h"

/*
 * Whether a thread advances is a pure function of looks and times.
 *
 * A task is judged by what its run queue did meanwhile. Work that waits because
 * higher classes or an overload keep every worker busy waits rightly, however
 * long; work that waits while a worker has nothing to do was forgotten:
 *
 *   the task          the workers there        finding
 *   sleeps, frames in its ring                 STALLED: a wake-up was lost
 *   is queued         were idle at every look  STALLED, then FORGOTTEN
 *   is queued         were busy all along      STARVED: nothing is done
 *   runs              -                        the worker's matter
 *
 * Time is what the watchdog has seen pass: when the process or the machine
 * stands still, it is no task's fault.
 */

/** The watchdog's clock. Fill in limit. */
struct watchdog {
	cr_ns limit; /**< a worker that does not advance for this time is found
		      */
	cr_ns last, step;
};

/** The interval between two looks, for @limit. */
cr_ns watchdog_interval(cr_ns limit);

/** A round of looks begins at @now. */
void watchdog_begin(struct watchdog *w, cr_ns now);

/** The watchdog's memory of a worker. Zero: nothing. */
struct watch_worker {
	cr_ns picked, age, cpu;
	bool known;    /**< age and cpu are of this job       */
	bool reported; /**< the caller's, until its next job */
};

/** Has it been in one job since the last look? @at_work: in the one that it
 * picked at @picked. */
bool watch_worker_suspect(struct watch_worker *w, bool at_work, cr_ns picked);

/**
 * Is it stuck? Such a suspect has had a CPU for @cpu ns in its life; @runnable:
 * it has one or waits for one. A codec that sleeps ages by the clock, one that
 * loops by the time that it loops: waiting for a CPU is the machine's matter.
 */
bool watch_worker(struct watch_worker *w, const struct watchdog *dog,
		  bool runnable, cr_ns cpu);

enum watch_finding {
	WATCH_FINE,
	WATCH_STARVED,	/**< waits, but nobody had time for it           */
	WATCH_STALLED,	/**< wake it, and its observer */
	WATCH_FORGOTTEN /**< that did not help: the policy has lost it   */
};

/** The watchdog's memory of a task. Zero: nothing. */
struct watch_task {
	uint64_t done; /**< frames that were dealt with, by any outcome */
	cr_ns release;
	uint64_t idles;
	cr_ns age, starving;
	enum cr_state state;
	bool known, woken;
};

/** A look from outside, which costs no lock: does it call for another one?
 * @waiting: frames wait in its backlog; @done: frames that were dealt with. */
bool watch_task_suspect(struct watch_task *c, bool waiting, uint64_t done);

/** A look into the engine (see live_look_task()). */
struct watch_look {
	cr_ns now;
	enum cr_state state;
	cr_ns release, eligible;
	bool idle;
	uint64_t idles;
};
enum watch_finding watch_task(struct watch_task *c, const struct watchdog *dog,
			      const struct watch_look *look);

struct recovery;

/** The context of a thread. Embed it, zeroed. A stuck thread keeps its own;
 * none is freed before recovery_close(). */
struct recovery_context {
	atomic_bool busy; /**< a thread has it, or is about to */
	atomic_bool used; /**< a thread has had it             */
};

enum recovery_event {
	RECOVERY_STUCK,	   /**< worker, task, since: detached               */
	RECOVERY_NO_SPARE, /**< worker, err: stuck, but all spares are, too */
	RECOVERY_VACANT,   /**< worker, why: no thread starts there         */
	RECOVERY_STALLED,  /**< task, state: woken                          */
	RECOVERY_FORGOTTEN /**< task, why: the policy, which was replaced   */
};

/** A finding. The members that an event has no use for are 0. */
struct recovery_finding {
	enum recovery_event event;
	unsigned worker;
	struct live_task *task;
	cr_ns since; /**< when the worker took the job         */
	enum cr_state state;
	int err; /**< -EAGAIN: no spare is left; or -ENOMEM    */
	const char *why;
};

struct recovery_client {
	/** A new context; NULL: no memory. */
	struct recovery_context *(*context_new)(void *arg);
	void (*context_free)(void *arg, struct recovery_context *c);
	/** @c is for the thread that starts next at @place. @before: what the
	 * one before there works with, or NULL. */
	void (*context_for)(void *arg, struct recovery_context *c,
			    unsigned place,
			    const struct recovery_context *before);
	/** Send what the detached thread with context @stuck had ready when
	 * @task hung. */
	void (*rescue)(void *arg, struct recovery_context *stuck,
		       struct live_task *task);
	/** @task hangs: end it. It is not freed before the thread is back. */
	void (*over)(void *arg, struct live_task *task);
	/** Report it. */
	void (*found)(void *arg, const struct recovery_finding *f);
	void *arg;
};

struct recovery_config {
	unsigned places;  /**< threads of the engine at a time             */
	unsigned workers; /**< of them, workers: the first ones            */
	unsigned spares;  /**< threads that may be stuck at a time, besides */
	cr_ns limit;	  /**< 0: nothing is watched, before recovery_end() */
	struct recovery_client client;
};

/** Make a context for each place, before the engine is opened. 0 or -ENOMEM. */
int recovery_open(struct recovery **r, const struct recovery_config *cfg);
/** Free, when no thread has a context any more. NULL is fine. */
void recovery_close(struct recovery *r);

/** The engine whose workers are watched; before the first round. */
void recovery_of(struct recovery *r, struct live *l);

/** The interval between two calls of recovery_round(); 0: none. */
cr_ns recovery_interval(const struct recovery *r);

/** Look at all workers, and help. recovery_task() for each task follows. */
void recovery_round(struct recovery *r, cr_ns now);

/** Look at @t, which has been added and not removed, and help. @waiting: frames
 * wait in its backlog; @done: frames that were dealt with, by any outcome. @w:
 * zero at first, the task's own. */
void recovery_task(struct recovery *r, struct watch_task *w,
		   struct live_task *t, bool waiting, uint64_t done);

/** The end has come: no thread is started any more, for what waits is
 * cancelled, and stuck ones need no spare. @limit: if there is none. */
void recovery_end(struct recovery *r, cr_ns limit);

/** Counts since recovery_open(). */
struct recovery_counts {
	cr_ns limit;	  /**< 0: nothing is watched                    */
	unsigned starved; /**< tasks that rightly wait, since the round */
	unsigned away;	  /**< threads that are stuck                   */
	unsigned lost;	  /**< places where nothing advances and no thread could
			       be put, at the round                     */
	uint64_t stalled, forgotten, hung;
};
struct recovery_counts recovery_counts(const struct recovery *r);

/* --- contexts --- */

/** The context of the thread at @place. Control, or that thread as it starts.
 */
struct recovery_context *recovery_context(const struct recovery *r,
					  unsigned place);

/** This thread starts at @place: its context. On that thread. */
struct recovery_context *recovery_take_slot(struct recovery *r, unsigned place);

/** The last touch of the thread that has @c. On that thread. */
void recovery_leave_slot(struct recovery_context *c);

/** Context @i, if a thread has had it; NULL: it is not there, or new. Any
 * thread. */
struct recovery_context *recovery_used(const struct recovery *r, unsigned i);
unsigned recovery_ncontexts(const struct recovery *r);

#endif
