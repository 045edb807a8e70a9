/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread that measures, and who waits for it.
 *
 * The queue is control's. With the thread it shares one place, under the lock:
 * control puts a part there (WANTED), the thread takes it (BUSY) and leaves the
 * value (DONE), control takes that (EMPTY).
 */
#define _GNU_SOURCE /* gettid, pthread_cond_clockwait */
#include "node/measuring.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"
#include "observe/log.h"

enum {
	/* behind the rest, but not so far that a busy machine keeps a caller
	 * waiting for seconds */
	NICE = 5,
	PATIENCE_S = 2 /* for a codec, which is asked for a frame */
};

enum place { EMPTY, WANTED, BUSY, DONE };

TAILQ_HEAD(waits, node_cost_wait);

/* A part to be measured; the first of the queue is with the thread. */
struct cost_job {
	TAILQ_ENTRY(cost_job) link;
	struct cost_part part;
	struct waits waits;
};

struct measuring {
	struct costs *costs;
	struct event *done, *notify;
	TAILQ_HEAD(, cost_job) jobs;
	struct waits ready;
	unsigned count;

	atomic_bool stop; /* relaxed: the thread looks now and then */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* under lock */
	enum place place;
	bool quit, gone;
	bool left; /* behind, with the thread, which frees it */
	struct cost_part part;
	struct cost_value value;
	int err;
	struct cr_err why;
};

/* --- the thread --- */

static void destroy(struct measuring *m)
{
	(void)pthread_cond_destroy(&m->changed);
	(void)pthread_mutex_destroy(&m->lock);
	free(m);
}

/* False: there is no more, and @m is not the thread's any more. Else m->part
 * is the thread's. */
static bool take_wanted(struct measuring *m)
{
	bool more, left;

	(void)pthread_mutex_lock(&m->lock);
	while (!m->quit && m->place != WANTED)
		(void)pthread_cond_wait(&m->changed, &m->lock);
	more = !m->quit;
	if (more)
		m->place = BUSY;
	else
		m->gone = true;
	/* last: a thread that was asked to quit */
	left = !more && m->left;
	(void)pthread_cond_broadcast(&m->changed);
	(void)pthread_mutex_unlock(&m->lock);
	if (left)
		destroy(m);
	return more;
}

static void *run_measuring(void *arg)
{
	struct measuring *m = arg;

	/* calls come first: what is asked for here may wait */
	(void)setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
	thread_long_turns();
	while (take_wanted(m)) {
		struct cost_value v = { 0 };
		struct cr_err why = { "" };
		int err = cost_part_measure(&m->part, &m->stop, &v, &why);

		(void)pthread_mutex_lock(&m->lock);
		m->err = err;
		m->value = v;
		m->why = why;
		m->place = DONE;
		if (!m->quit) /* else there may be no event any more */
			event_active(m->done, 0, 0);
		(void)pthread_mutex_unlock(&m->lock);
	}
	return NULL;
}

/* --- control --- */

/* Give the first job to the thread, if it has nothing to do. */
static void hand_part_over(struct measuring *m)
{
	const struct cost_job *job = TAILQ_FIRST(&m->jobs);

	(void)pthread_mutex_lock(&m->lock);
	if (job && m->place == EMPTY) {
		/* It takes a job that was removed for the first one still.
		 * NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
		m->part = job->part;
		m->place = WANTED;
		(void)pthread_cond_broadcast(&m->changed);
	}
	(void)pthread_mutex_unlock(&m->lock);
}

static struct cost_job *job_for(struct measuring *m,
				const struct cost_part *part)
{
	struct cost_job *job;

	TAILQ_FOREACH (job, &m->jobs, link)
		if (cost_part_same(&job->part, part))
			return job;
	job = malloc(sizeof(*job));
	if (!job)
		return NULL;
	job->part = *part;
	TAILQ_INIT(&job->waits);
	TAILQ_INSERT_TAIL(&m->jobs, job, link);
	return job;
}

/* Timer: an event made active would come before what can be read. */
static void soon(struct measuring *m)
{
	const struct timeval now = { 0, 0 };

	if (!TAILQ_EMPTY(&m->ready))
		(void)evtimer_add(m->notify, &now);
}

int measuring_ask(struct measuring *m, const struct cost_part *part,
		  struct node_cost_wait *w, struct cr_err *e)
{
	struct cost_job *job = job_for(m, part);

	if (!job)
		return cr_fail(e, -ENOMEM, "out of memory");
	if (w) {
		w->job = job;
		w->err = 0;
		TAILQ_INSERT_TAIL(&job->waits, w, link);
	}
	hand_part_over(m);
	return 0;
}

/* Is all known that @w needs? 0; -EAGAIN: not @missing; -ENOMEM with @e. */
static int find_needs(const struct measuring *m, const struct node_cost_wait *w,
		      struct cost_part *missing, struct cr_err *e)
{
	struct cost_entry *entry;
	int err = 0;

	for (unsigned i = 0; i < w->n && !err; i++)
		err = costs_find(m->costs, &w->need[i].media, w->need[i].period,
				 &entry, missing, e);
	return err;
}

int measuring_begin(struct measuring *m, struct node_cost_wait *w,
		    struct cr_err *e)
{
	struct cost_part missing;
	int err = find_needs(m, w, &missing, e);

	w->job = NULL;
	w->err = 0;
	if (err == -EAGAIN)
		return measuring_ask(m, &missing, w, e);
	if (err)
		return err;
	TAILQ_INSERT_TAIL(&m->ready, w, link);
	soon(m);
	return 0;
}

void measuring_forget(struct measuring *m, struct node_cost_wait *w)
{
	if (w->job)
		TAILQ_REMOVE(&w->job->waits, w, link);
	else
		TAILQ_REMOVE(&m->ready, w, link);
	w->job = NULL;
}

static void on_done(evutil_socket_t fd, short what, void *arg)
{
	struct measuring *m = arg;
	struct cost_value v;
	struct cr_err why;
	int err;
	struct cost_job *job;
	struct node_cost_wait *w;

	(void)fd, (void)what;
	(void)pthread_mutex_lock(&m->lock);
	v = m->value;
	err = m->err;
	why = m->why;
	m->place = EMPTY;
	(void)pthread_mutex_unlock(&m->lock);
	if (!err && costs_put(m->costs, &m->part, &v))
		err = cr_fail(&why, -ENOMEM, "out of memory");
	m->count++;
	/* All who waited for @job are ready: with the value in the book, or
	 * @err. */
	job = TAILQ_FIRST(&m->jobs);
	while ((w = TAILQ_FIRST(&job->waits))) {
		TAILQ_REMOVE(&job->waits, w, link);
		w->job = NULL;
		w->err = err;
		w->why = why;
		TAILQ_INSERT_TAIL(&m->ready, w, link);
	}
	TAILQ_REMOVE(&m->jobs, job, link);
	free(job);
	hand_part_over(m);
	soon(m);
}

static void on_notify(evutil_socket_t fd, short what, void *arg)
{
	struct measuring *m = arg;
	struct node_cost_wait *w = TAILQ_FIRST(&m->ready);
	struct cost_part missing;
	int err;

	(void)fd, (void)what;
	if (!w)
		return;
	TAILQ_REMOVE(&m->ready, w, link);
	soon(m);
	err = w->err;
	if (!err)
		err = find_needs(m, w, &missing, &w->why);
	if (err == -EAGAIN)
		err = measuring_ask(m, &missing, w, &w->why);
	if (err || !w->job)
		w->done(w->arg, err, &w->why);
}

unsigned measuring_count(const struct measuring *m)
{
	return m->count;
}

static int open_measuring_parts(struct measuring *m, struct event_base *base,
				struct cr_err *e)
{
	int err;

	m->done = event_new(base, -1, 0, on_done, m);
	m->notify = evtimer_new(base, on_notify, m);
	if (!m->done || !m->notify)
		return cr_fail(e, -ENOMEM, "out of memory for events");
	err = thread_create(&m->thread, NULL, run_measuring, m);
	return err ? thread_fail(e, err, "measuring costs") : 0;
}

static void free_measuring(struct measuring *m)
{
	struct cost_job *job;

	if (m->done)
		event_free(m->done);
	if (m->notify)
		event_free(m->notify);
	m->done = m->notify = NULL;
	while ((job = TAILQ_FIRST(&m->jobs))) {
		TAILQ_REMOVE(&m->jobs, job, link);
		free(job);
	}
}

int measuring_open(struct measuring **out, struct event_base *base,
		   struct costs *costs, struct cr_err *e)
{
	struct measuring *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return cr_fail(e, -ENOMEM, "out of memory");
	m->costs = costs;
	TAILQ_INIT(&m->jobs);
	TAILQ_INIT(&m->ready);
	(void)pthread_mutex_init(&m->lock, NULL);
	(void)pthread_cond_init(&m->changed, NULL);
	err = open_measuring_parts(m, base, e);
	if (err) {
		free_measuring(m);
		destroy(m);
		return err;
	}
	*out = m;
	return 0;
}

void measuring_close(struct measuring *m)
{
	const char *codec;
	pthread_t thread;
	struct timespec until;
	bool gone;

	if (!m)
		return;
	codec = m->part.use.codec ? m->part.use.codec->name : "resample";
	thread = m->thread;
	atomic_store_explicit(&m->stop, true, memory_order_relaxed);
	/* wait until the thread has ended, but not for ever: it is left behind
	 * then, with @m */
	(void)clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += PATIENCE_S;
	(void)pthread_mutex_lock(&m->lock);
	m->quit = true;
	free_measuring(m);
	(void)pthread_cond_broadcast(&m->changed);
	while (!m->gone && !pthread_cond_clockwait(&m->changed, &m->lock,
						   CLOCK_MONOTONIC, &until))
		;
	gone = m->gone;
	m->left = !gone;
	(void)pthread_mutex_unlock(&m->lock);
	if (gone) {
		(void)pthread_join(thread, NULL);
		destroy(m);
		return;
	}
	log_event(LOG_ERROR, "measuring-stuck", LOG_WORD("codec", codec));
	(void)pthread_detach(thread);
}
