/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads without signals, pinned or real-time where that is asked for.
 */
#define _GNU_SOURCE
#include "base/thread.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cr/time.h"

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

int thread_fail(struct cr_err *e, int err, const char *what)
{
	if (err != -EAGAIN)
		return cr_fail(e, err, "no thread for %s: %s", what,
			       strerror(-err));
	return cr_fail(e, err,
		       "no thread for %s: a limit of threads (RLIMIT_NPROC: "
		       "ulimit -u; TasksMax= of systemd; kernel.threads-max) "
		       "or of memory (RLIMIT_AS) is reached",
		       what);
}

int thread_realtime(void)
{
	const struct sched_param high = { .sched_priority = 90 };

	return sched_setscheduler(0, SCHED_FIFO, &high) ? -errno : 0;
}

/* Of sched_setattr(2), which glibc has had since 2.41 only. */
struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period; /* ns */
};
#define RESET_ON_FORK 0x01u

void thread_long_turns(void)
{
	struct attributes a = { .size = sizeof(a) };

	/* the flag below takes a niceness below 0 from threads that it starts
	 */
	if (syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0) ||
	    a.policy != SCHED_OTHER || a.nice < 0)
		return;
	a.size = sizeof(a);
	a.flags = RESET_ON_FORK;
	a.runtime = 20 * CR_MS;
	(void)syscall(SYS_sched_setattr, 0, &a, 0);
}

int thread_start(struct thread *t, void *(*run)(void *), void *arg, int cpu)
{
	pthread_attr_t attr;
	cpu_set_t set;
	int rc = -pthread_attr_init(&attr);

	if (rc)
		return rc;
	if (cpu < -1 || cpu >= CPU_SETSIZE)
		rc = -EINVAL;
	if (!rc && cpu != -1) {
		CPU_ZERO(&set);
		CPU_SET((unsigned)cpu, &set);
		rc = -pthread_attr_setaffinity_np(&attr, sizeof(set), &set);
	}
	if (!rc)
		rc = thread_create(&t->id, &attr, run, arg);
	(void)pthread_attr_destroy(&attr);
	if (!rc)
		t->running = true;
	return rc;
}

void thread_stop(struct thread *t)
{
	if (!t->running)
		return;
	atomic_store_explicit(&t->stop, true, memory_order_release);
	(void)pthread_join(t->id, NULL);
	t->running = false;
}

void thread_lock_init(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attr;

	(void)pthread_mutexattr_init(&attr);
	(void)pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	if (pthread_mutex_init(lock, &attr))
		(void)pthread_mutex_init(lock, NULL);
	(void)pthread_mutexattr_destroy(&attr);
}
