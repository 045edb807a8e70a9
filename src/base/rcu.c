/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deferred work, and the thread that does it.
 *
 * liburcu's own (call_rcu()) makes its thread at the first use and aborts when
 * there is none to be had; so does its rcu_barrier() without memory. This one
 * is made at the start, and then needs nothing any more: what is deferred
 * brings the memory that it is put on a list with.
 */
#define _GNU_SOURCE /* pthread_cond_clockwait() */
#include "base/rcu.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <time.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/thread.h"
#include "cr/time.h"

char rcu_order;

/* A grace period interrupts every CPU that has a reader: what comes within this
 * time shares one, unless somebody waits for it. */
#define GATHER (10 * CR_MS)

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed, all_done;
	pthread_t thread;
	/* under lock */
	bool runs, quit;
	unsigned waiting; /* in rcu_done() */
	uint64_t deferred, done;
	struct rcu_later *first, **last;
} rcu = { .lock = PTHREAD_MUTEX_INITIALIZER,
	  .changed = PTHREAD_COND_INITIALIZER,
	  .all_done = PTHREAD_COND_INITIALIZER,
	  .last = &rcu.first };

/* Lock held. NULL: there will be no more. */
static struct rcu_later *take_later(void)
{
	struct rcu_later *list;

	while (!rcu.first && !rcu.quit)
		(void)pthread_cond_wait(&rcu.changed, &rcu.lock);
	if (rcu.first) {
		cr_ns end = clock_now() + GATHER;
		struct timespec until = { .tv_sec = (time_t)(end / CR_SEC),
					  .tv_nsec = (long)(end % CR_SEC) };

		/* By a clock that nobody steps: else it could take hours. */
		while (!rcu.waiting && !rcu.quit &&
		       !pthread_cond_clockwait(&rcu.changed, &rcu.lock,
					       CLOCK_MONOTONIC, &until))
			;
	}
	list = rcu.first;
	rcu.first = NULL;
	rcu.last = &rcu.first;
	return list;
}

static void *run_deferred(void *arg)
{
	struct rcu_later *list;

	(void)arg;
	rcu_register_thread();
	(void)pthread_mutex_lock(&rcu.lock);
	while ((list = take_later())) {
		uint64_t n = 0;

		(void)pthread_mutex_unlock(&rcu.lock);
		synchronize_rcu();
		for (struct rcu_later *next; list; list = next, n++) {
			next = list->next;
			list->then(list);
		}
		(void)pthread_mutex_lock(&rcu.lock);
		rcu.done += n;
		(void)pthread_cond_broadcast(&rcu.all_done);
	}
	(void)pthread_mutex_unlock(&rcu.lock);
	rcu_unregister_thread();
	return NULL;
}

int rcu_start(struct cr_err *e)
{
	int err = 0;

	(void)pthread_mutex_lock(&rcu.lock);
	if (!rcu.runs)
		err = thread_create(&rcu.thread, NULL, run_deferred, NULL);
	if (!err)
		rcu.runs = true;
	(void)pthread_mutex_unlock(&rcu.lock);
	return err ? thread_fail(e, err, "the thread that frees calls") : 0;
}

void rcu_defer(struct rcu_later *later, void (*then)(struct rcu_later *later))
{
	rcu_happened();
	later->next = NULL;
	later->then = then;
	(void)pthread_mutex_lock(&rcu.lock);
	CR_ASSERT(rcu.runs);
	*rcu.last = later;
	rcu.last = &later->next;
	rcu.deferred++;
	(void)pthread_cond_signal(&rcu.changed);
	(void)pthread_mutex_unlock(&rcu.lock);
}

void rcu_done(void)
{
	uint64_t all;

	(void)pthread_mutex_lock(&rcu.lock);
	all = rcu.deferred;
	rcu.waiting++;
	(void)pthread_cond_signal(&rcu.changed);
	while (rcu.done < all)
		(void)pthread_cond_wait(&rcu.all_done, &rcu.lock);
	rcu.waiting--;
	(void)pthread_mutex_unlock(&rcu.lock);
}

void rcu_stop(void)
{
	bool ran;

	(void)pthread_mutex_lock(&rcu.lock);
	ran = rcu.runs;
	rcu.quit = true;
	(void)pthread_cond_signal(&rcu.changed);
	(void)pthread_mutex_unlock(&rcu.lock);
	if (ran)
		(void)pthread_join(rcu.thread, NULL);
	rcu.runs = rcu.quit = false;
}
