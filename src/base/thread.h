/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that get no signals: those are for the threads that wait for them.
 * They may be pinned to a CPU, and be asked to stop.
 */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "cr/error.h"

/** pthread_create() with all signals blocked in the new thread. 0 or -errno. */
int thread_create(pthread_t *t, const pthread_attr_t *attr,
		  void *(*run)(void *), void *arg);

/** Fail with @err (of a thread that did not start): @what has none. The text
 * has the limits and how to raise them. Returns @err. */
int thread_fail(struct cr_err *e, int err, const char *what);

/** A thread that goes on until it is asked to stop. Zero is none. */
struct thread {
	pthread_t id;
	bool running;	  /**< of who starts and stops it             */
	atomic_bool stop; /**< release, pairs with thread_must_stop() */
};

/** Start @run(@arg) with all signals blocked, pinned to @cpu unless it is -1.
 * 0, or -errno (-EINVAL: no such CPU): then it does not run. */
int thread_start(struct thread *t, void *(*run)(void *), void *arg, int cpu);

/** Stop @t and wait for its end; nothing when it does not run. */
void thread_stop(struct thread *t);

/** Shall @t end? That thread. */
static inline bool thread_must_stop(const struct thread *t)
{
	return atomic_load_explicit(&t->stop, memory_order_acquire);
}

/** The calling thread lets those that wake on its CPU go first: it asks for
 * turns of 20 ms, and from Linux 6.12 on a thread whose turn is shorter, as all
 * are that do not ask, need not wait for the end of a longer one. Its share of
 * the CPU is the same, and threads that it starts are as others. Nothing
 * happens on an older kernel, or if it has real-time priority or a niceness
 * below 0. */
void thread_long_turns(void);

/** The calling thread, and those it starts from now on, outrank all threads
 * without real-time priority, and those of codec-runner's baselines unless they
 * ask for more than 90 or are of SCHED_DEADLINE (kernel:deadline), which comes
 * before every priority. 0 or -errno (-EPERM: CAP_SYS_NICE is missing). */
int thread_realtime(void);

/** A lock between threads of different priority: who has it gets that of who
 * waits for it. On a kernel that cannot do this it is an ordinary one. */
void thread_lock_init(pthread_mutex_t *lock);

#endif
