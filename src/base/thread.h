/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that get no signals: those are for the threads that wait for them.
 */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>

/** pthread_create() with all signals blocked in the new thread. 0 or -errno. */
int thread_create(pthread_t *t, const pthread_attr_t *attr,
		  void *(*run)(void *), void *arg);

#endif
