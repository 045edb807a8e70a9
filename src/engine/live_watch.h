/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the live engine offers to src/recovery: what tasks and workers are at,
 * and what can be done when they do not advance. When to do it is decided
 * there. Control thread only; has no effect under a driver that says so
 * (live_driver.watched).
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
 * asked first (client.may_detach), under the same lock.
 */
#ifndef ENGINE_LIVE_WATCH_H
#define ENGINE_LIVE_WATCH_H

#include "engine/live.h"

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

/** What a worker is at. False: nothing. */
struct live_worker_look {
	struct live_task *task;
	cr_ns picked; /**< when: names the job */
};
bool live_look_worker(struct live *l, unsigned worker,
		      struct live_worker_look *look);

/** What the kernel makes of the thread at a worker's place. */
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
