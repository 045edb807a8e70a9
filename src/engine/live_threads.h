/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live driver under a scheduler of the kernel: a thread for every task in
 * place of the workers; for src/engine/live*.c only.
 *
 * A thread serves its task's frames oldest first, gives way after each
 * (sched_yield(), thesis 6.2) and sleeps when none waits. What giving way means
 * is the kernel's affair: under SCHED_DEADLINE it ends the budget of a period.
 * To the core the tasks are always idle: it admits, adds and deletes them.
 *
 *   threads_start -> parameters -> [ sleep -> frame -> yield ]* -> threads_end
 *     -> core_del() cancels what waits -> client.gone() -> joined by control
 */
#ifndef ENGINE_LIVE_THREADS_H
#define ENGINE_LIVE_THREADS_H

#include "engine/live_state.h"

struct live_threads;

/** Try the privilege on a thread of its own, and get ready: l->threads. 0, or
 * -errno with @e (-EPERM: the privilege, and how to get it). */
int threads_open(struct live *l, struct cr_err *e);
/** Wait for all threads; threads_end() must have ended all. */
void threads_stop(struct live *l);
void threads_close(struct live *l); /**< after threads_stop() */

/** A thread for @t, which the core has. 0; -ENOSPC or -EINVAL with @v, and then
 * there is none. Control thread. */
int threads_start(struct live *l, struct live_task *t, struct cr_verdict *v);

/** Let the thread of @t end. Control thread or an RCU callback. */
void threads_end(struct live *l, struct live_task *t);

/** Wake the threads of tasks with new frames. Any thread. */
void threads_wake(struct live_task *const *tasks, unsigned n);

#endif
