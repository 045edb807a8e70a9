/* SPDX-License-Identifier: Apache-2.0 */
#include "base/thread.h"

#include <signal.h>

int thread_create(pthread_t *t, const pthread_attr_t *attr,
		  void *(*run)(void *), void *arg)
{
	sigset_t all, old;
	int rc;

	/* it inherits the mask: blocked from its first instruction */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(t, attr, run, arg);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -rc;
}
