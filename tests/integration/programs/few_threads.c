/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded: after $THREADS threads there are no more, as under a limit of
 * threads (RLIMIT_NPROC does not bind root, and TasksMax= is not ours to set).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

typedef int create(pthread_t *thread, const pthread_attr_t *attr,
		   void *(*run)(void *), void *arg);

int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
		   void *(*run)(void *), void *arg)
{
	static atomic_int made;
	const char *most = getenv("THREADS");
	create *real = (create *)dlsym(RTLD_NEXT, "pthread_create");

	if (most && atomic_fetch_add(&made, 1) >= atoi(most))
		return EAGAIN;
	return real(thread, attr, run, arg);
}
