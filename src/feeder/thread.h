/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The feeder's threads: signals stay with the main thread, a CPU may be named.
 */
#ifndef FEEDER_THREAD_H
#define FEEDER_THREAD_H

#include <pthread.h>

/** Start @run(@arg) with all signals blocked, pinned to @cpu unless it is -1.
 * 0, or -errno (-EINVAL: no such CPU). */
int thread_start(pthread_t *t, void *(*run)(void *), void *arg, int cpu);

/** Pin the calling thread. 0 or -errno. */
int thread_pin(int cpu);

/** The calling thread, and those it starts from now on, outrank all threads
 * without real-time priority, and those of codec-runner's baselines unless they
 * ask for more than 90 or are of SCHED_DEADLINE (kernel:deadline), which comes
 * before every priority. 0 or -errno (-EPERM: CAP_SYS_NICE is missing). */
int thread_realtime(void);

#endif
