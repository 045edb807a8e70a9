/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rounds of work: the caller lays one out under the lock, all take pieces of
 * it by an atomic count, the last hand to be done wakes the caller.
 */
#include "sim/crew.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

struct crew {
	pthread_mutex_t lock;
	pthread_cond_t begin, end;
	/* under the lock; the round's work is read by hands in that round */
	unsigned round, busy; /* hands that have not ended the round */
	bool over;
	void (*work)(void *arg, unsigned i);
	void *arg;
	unsigned pieces;
	/* relaxed: it only deals out numbers, the lock orders the work */
	atomic_uint next;
	unsigned nhands;
	pthread_t hand[]; /* [nhands], all but the caller */
};

static void take_part(struct crew *c)
{
	unsigned i;

	while ((i = atomic_fetch_add_explicit(
			&c->next, 1, memory_order_relaxed)) < c->pieces)
		c->work(c->arg, i);
}

static void *be_hand(void *arg)
{
	struct crew *c = arg;
	unsigned seen = 0;

	(void)pthread_mutex_lock(&c->lock);
	for (;;) {
		while (c->round == seen && !c->over)
			(void)pthread_cond_wait(&c->begin, &c->lock);
		if (c->over)
			break;
		seen = c->round;
		(void)pthread_mutex_unlock(&c->lock);
		take_part(c);
		(void)pthread_mutex_lock(&c->lock);
		if (!--c->busy)
			(void)pthread_cond_signal(&c->end);
	}
	(void)pthread_mutex_unlock(&c->lock);
	return NULL;
}

/* With all signals blocked, which the hands inherit. */
static int start_hands(struct crew *c, unsigned n)
{
	sigset_t all, before;
	int rc = 0;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_BLOCK, &all, &before);
	while (c->nhands < n && !rc) {
		rc = -pthread_create(&c->hand[c->nhands], NULL, be_hand, c);
		c->nhands += !rc;
	}
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

int crew_open(struct crew **out, unsigned threads)
{
	struct crew *c =
		calloc(1, sizeof(*c) + (threads - 1) * sizeof(c->hand[0]));
	int rc;

	if (!c)
		return -ENOMEM;
	(void)pthread_mutex_init(&c->lock, NULL);
	(void)pthread_cond_init(&c->begin, NULL);
	(void)pthread_cond_init(&c->end, NULL);
	rc = start_hands(c, threads - 1);
	if (rc) {
		crew_close(c);
		return rc;
	}
	*out = c;
	return 0;
}

void crew_close(struct crew *c)
{
	if (!c)
		return;
	(void)pthread_mutex_lock(&c->lock);
	c->over = true;
	(void)pthread_cond_broadcast(&c->begin);
	(void)pthread_mutex_unlock(&c->lock);
	for (unsigned i = 0; i < c->nhands; i++)
		(void)pthread_join(c->hand[i], NULL);
	(void)pthread_cond_destroy(&c->begin);
	(void)pthread_cond_destroy(&c->end);
	(void)pthread_mutex_destroy(&c->lock);
	free(c);
}

void crew_run(struct crew *c, unsigned n, void (*work)(void *arg, unsigned i),
	      void *arg)
{
	(void)pthread_mutex_lock(&c->lock);
	c->work = work;
	c->arg = arg;
	c->pieces = n;
	atomic_store_explicit(&c->next, 0, memory_order_relaxed);
	c->busy = c->nhands;
	c->round++;
	if (c->nhands)
		(void)pthread_cond_broadcast(&c->begin);
	(void)pthread_mutex_unlock(&c->lock);
	take_part(c);
	(void)pthread_mutex_lock(&c->lock);
	while (c->busy)
		(void)pthread_cond_wait(&c->end, &c->lock);
	(void)pthread_mutex_unlock(&c->lock);
}
