/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rounds of work: the caller lays one out under the lock, all take pieces of
 * it by an atomic count, the last thread to be done wakes the caller.
 */
#include "sim/pool.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

struct pool {
	pthread_mutex_t lock;
	pthread_cond_t begin, end;
	/* under the lock; the round's work is read by threads in that round */
	unsigned round, busy; /* threads that have not ended the round */
	bool over;
	void (*work)(void *arg, unsigned i);
	void *arg;
	unsigned pieces;
	/* relaxed: it only deals out numbers, the lock orders the work */
	atomic_uint next;
	unsigned nthreads;
	pthread_t thread[]; /* [nthreads], all but the caller */
};

static void take_pool_part(struct pool *p)
{
	unsigned i;

	while ((i = atomic_fetch_add_explicit(
			&p->next, 1, memory_order_relaxed)) < p->pieces)
		p->work(p->arg, i);
}

static void *work_in(void *arg)
{
	struct pool *p = arg;
	unsigned seen = 0;

	(void)pthread_mutex_lock(&p->lock);
	for (;;) {
		while (p->round == seen && !p->over)
			(void)pthread_cond_wait(&p->begin, &p->lock);
		if (p->over)
			break;
		seen = p->round;
		(void)pthread_mutex_unlock(&p->lock);
		take_pool_part(p);
		(void)pthread_mutex_lock(&p->lock);
		if (!--p->busy)
			(void)pthread_cond_signal(&p->end);
	}
	(void)pthread_mutex_unlock(&p->lock);
	return NULL;
}

int pool_open(struct pool **out, unsigned threads)
{
	struct pool *p =
		calloc(1, sizeof(*p) + (threads - 1) * sizeof(p->thread[0]));
	sigset_t all, before;
	int rc = 0;

	if (!p)
		return -ENOMEM;
	(void)pthread_mutex_init(&p->lock, NULL);
	(void)pthread_cond_init(&p->begin, NULL);
	(void)pthread_cond_init(&p->end, NULL);
	/* with all signals blocked, which the threads inherit */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_BLOCK, &all, &before);
	while (p->nthreads < threads - 1 && !rc) {
		rc = -pthread_create(&p->thread[p->nthreads], NULL, work_in, p);
		p->nthreads += !rc;
	}
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc) {
		pool_close(p);
		return rc;
	}
	*out = p;
	return 0;
}

void pool_close(struct pool *p)
{
	if (!p)
		return;
	(void)pthread_mutex_lock(&p->lock);
	p->over = true;
	(void)pthread_cond_broadcast(&p->begin);
	(void)pthread_mutex_unlock(&p->lock);
	for (unsigned i = 0; i < p->nthreads; i++)
		(void)pthread_join(p->thread[i], NULL);
	(void)pthread_cond_destroy(&p->begin);
	(void)pthread_cond_destroy(&p->end);
	(void)pthread_mutex_destroy(&p->lock);
	free(p);
}

void pool_run(struct pool *p, unsigned n, void (*work)(void *arg, unsigned i),
	      void *arg)
{
	(void)pthread_mutex_lock(&p->lock);
	p->work = work;
	p->arg = arg;
	p->pieces = n;
	atomic_store_explicit(&p->next, 0, memory_order_relaxed);
	p->busy = p->nthreads;
	p->round++;
	if (p->nthreads)
		(void)pthread_cond_broadcast(&p->begin);
	(void)pthread_mutex_unlock(&p->lock);
	take_pool_part(p);
	(void)pthread_mutex_lock(&p->lock);
	while (p->busy)
		(void)pthread_cond_wait(&p->end, &p->lock);
	(void)pthread_mutex_unlock(&p->lock);
}
