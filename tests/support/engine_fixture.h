/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A live engine whose tasks are sources (engine_source.h): their run() takes as
 * long as the test wants, and what the client is called for is counted.
 */
#ifndef TESTS_ENGINE_FIXTURE_H
#define TESTS_ENGINE_FIXTURE_H

#include <sched.h>
#include <stdlib.h>

#include "base/clock.h"
#include "cmocka_cr.h"
#include "engine/live.h"
#include "engine_source.h"

enum { ENGINE_TASKS_MAX = 64 };

struct engine_fixture {
	struct live *live;
	struct source *s; /* [tasks] */
	unsigned tasks;	  /* up to ENGINE_TASKS_MAX */
	uint64_t joined;  /* bit i: task i is in the engine, or to leave it */
	_Atomic uint64_t hold; /* run() of task i waits while bit i is set */
	unsigned spin;	       /* iterations of work in run() */
	atomic_uint started;   /* bit i: a thread was up with the number i */
	atomic_uint up, down, backs, faults;
	atomic_bool keep; /* may_detach() says no */
};

static inline void engine_run(void *arg, struct live_task *t,
			      const struct live_run *r)
{
	struct engine_fixture *f = arg;
	struct source *s = source_of(&t->core);
	uint64_t seq = t->core.task.job.seq;

	/* a task never runs twice at once, and its frames are in order */
	assert_int_equal(atomic_exchange(&s->running, 1), 0);
	assert_true(seq >= atomic_load(&s->last_seq));
	atomic_store(&s->last_seq, seq + 1);
	while (atomic_load(&f->hold) >> (s - f->s) & 1)
		(void)sched_yield();
	for (unsigned i = 0; i < f->spin; i++)
		__asm__ volatile("" ::: "memory");
	atomic_fetch_add(&s->expired, r->expired);
	atomic_store(&s->running, 0);
	atomic_fetch_add(&s->done, 1);
}

static inline void engine_gone(void *arg, struct live_task *t)
{
	(void)arg;
	assert_int_equal(atomic_exchange(&source_of(&t->core)->gone, 1), 0);
}

static inline void engine_up(void *arg, unsigned number)
{
	struct engine_fixture *f = arg;

	atomic_fetch_or(&f->started, 1u << number);
	atomic_fetch_add(&f->up, 1);
}

static inline void engine_down(void *arg, unsigned number)
{
	(void)number;
	atomic_fetch_add(&((struct engine_fixture *)arg)->down, 1);
}

static inline bool engine_may_detach(void *arg, struct live_task *t,
				     unsigned worker)
{
	struct engine_fixture *f = arg;

	assert_true(atomic_load(&source_of(&t->core)->running));
	assert_true(worker < live_nworkers(f->live));
	return !atomic_load(&f->keep);
}

static inline void engine_returned(void *arg, struct live_task *t)
{
	struct engine_fixture *f = arg;

	atomic_fetch_add(&f->backs, 1);
	live_remove(f->live, t);
}

static inline void engine_faulty(void *arg, const struct core_fault *fault)
{
	(void)fault;
	atomic_fetch_add(&((struct engine_fixture *)arg)->faults, 1);
}

/** Begin a fixture with @tasks; what engine_open() takes, for the test to
 * change before. */
static inline struct live_config engine_config(struct engine_fixture *f,
					       unsigned tasks,
					       const struct cr_sched_ops *ops,
					       unsigned workers)
{
	*f = (struct engine_fixture){ .tasks = tasks,
				      .s = calloc(tasks, sizeof(*f->s)) };
	assert_true(f->s && tasks <= ENGINE_TASKS_MAX);
	for (unsigned i = 0; i < tasks; i++) {
		source_init(&f->s[i], i, SOURCE_SLOTS, workers);
		f->s[i].gone = 1;
	}
	return (struct live_config){
		.core = { .ops = ops, .ncpu = workers },
		.client = { .backlog = source_backlog,
			    .run = engine_run,
			    .gone = engine_gone,
			    .worker_up = engine_up,
			    .worker_down = engine_down,
			    .may_detach = engine_may_detach,
			    .returned = engine_returned,
			    .faulty = engine_faulty,
			    .arg = f },
	};
}

/** The answer of live_add() to task @i, and @v. */
static inline int engine_add(struct engine_fixture *f, unsigned i,
			     struct cr_verdict *v)
{
	int rc;

	atomic_store(&f->s[i].gone, 0);
	rc = live_add(f->live, &f->s[i].task, v);
	if (rc)
		atomic_store(&f->s[i].gone, 1);
	else
		f->joined |= UINT64_C(1) << i;
	return rc;
}

static inline void engine_join(struct engine_fixture *f, unsigned i)
{
	struct cr_verdict v = { 0 };

	assert_int_equal(engine_add(f, i, &v), 0);
}

static inline void engine_open(struct engine_fixture *f,
			       const struct live_config *cfg)
{
	struct cr_err e = { "" };

	if (live_open(&f->live, cfg, NULL, &e))
		fail_msg("%s", e.text);
	for (unsigned i = 0; i < f->tasks; i++)
		engine_join(f, i);
}

static inline void engine_start(struct engine_fixture *f, unsigned tasks,
				const struct cr_sched_ops *ops,
				unsigned workers)
{
	const struct live_config cfg = engine_config(f, tasks, ops, workers);

	engine_open(f, &cfg);
}

/** Task @i leaves as soon as it can. */
static inline void engine_remove(struct engine_fixture *f, unsigned i)
{
	f->joined &= ~(UINT64_C(1) << i);
	live_remove(f->live, &f->s[i].task);
}

static inline void engine_wait_gone(struct engine_fixture *f, unsigned i)
{
	while (!atomic_load(&f->s[i].gone)) /* or the test's time-out */
		(void)sched_yield();
}

static inline void engine_leave(struct engine_fixture *f, unsigned i)
{
	engine_remove(f, i);
	engine_wait_gone(f, i);
}

static inline void engine_remove_all(struct engine_fixture *f)
{
	for (unsigned i = 0; i < f->tasks; i++)
		if (f->joined >> i & 1)
			engine_remove(f, i);
	for (unsigned i = 0; i < f->tasks; i++)
		engine_wait_gone(f, i);
}

static inline void engine_close(struct engine_fixture *f)
{
	engine_remove_all(f);
	/* a detached thread may have given its task back and not have ended */
	while (live_stop(f->live))
		(void)sched_yield();
	live_close(f->live);
	assert_int_equal(f->up, f->down);
	free(f->s);
}

/** A frame comes for task @i. */
static inline void engine_frame(struct engine_fixture *f, unsigned i)
{
	struct live_task *t = &f->s[i].task;

	(void)source_push(&f->s[i], clock_now());
	if (live_task_wake(t))
		live_release(f->live, &t, 1);
}

static inline void engine_wait_running(struct engine_fixture *f, unsigned i)
{
	while (!atomic_load(&f->s[i].running))
		(void)sched_yield();
}

/** Until @n frames of task @i were done, and no more. */
static inline void engine_wait_done(struct engine_fixture *f, unsigned i,
				    uint64_t n)
{
	while (atomic_load(&f->s[i].done) < n)
		(void)sched_yield();
	assert_int_equal(atomic_load(&f->s[i].done), n);
}

/** Until task @i and the worker that it is for have nothing to do. */
static inline void engine_wait_idle(struct engine_fixture *f, unsigned i)
{
	struct live_task_look look;

	do
		live_look_task(f->live, &f->s[i].task, &look);
	while (look.state != CR_IDLE || !look.idle);
}

/** A frame of task @i, whose run() does not return before it is let go. */
static inline void engine_get_stuck(struct engine_fixture *f, unsigned i)
{
	atomic_fetch_or(&f->hold, UINT64_C(1) << i);
	engine_frame(f, i);
	engine_wait_running(f, i);
}

#endif
