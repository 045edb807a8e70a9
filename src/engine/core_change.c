/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What changes under tasks that have joined: the terms of one, and the policy
 * of all.
 *
 * A change is done, or it has not happened. A policy is pure: all it knows lies
 * in the private areas of tasks and run queues. So these are put aside, with
 * the states of the tasks, and put back byte by byte (their addresses stay, and
 * pointers between them stay good) where a task is refused.
 *
 * Other terms for a task that is added: it leaves its policy and joins again.
 *
 *   leave:  stop(DROP) if it runs, or dequeue(), then task_del()
 *   admit:  as if it had never been there
 *   join:   task_add(), then enqueue(MIGRATE) of the job it had
 *
 * Running jobs go on, and no job is given up: stop() only shows the
 * policy that it need not reckon with the task any more, and it hears of it
 * again as after a replacement (see cr/sched.h). Only the task's run queue is
 * put aside, with its private area: others the policy cannot reach.
 *
 * Another policy: its private areas take the place of the old ones, and every
 * task joins it, those that run first (they cannot move to another run queue).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/core.h"
#include "engine/core_state.h"

/* --- putting aside and back --- */

/* A task as it was. */
struct saved_task {
	struct core_task *t;
	struct cr_rq *rq;
	struct cr_cpu cpu; /* that it runs on */
	enum cr_state state;
	bool foreign;
	cr_ns slice, ran;
	alignas(max_align_t) unsigned char priv[CR_TASK_PRIV];
};

struct saved_rq {
	struct cr_rq *at;
	struct cr_rq rq;
	unsigned fresh;
	struct cr_cpus fresh_cpus;
};

/* Zero, then aside_init(). */
struct aside {
	struct core *core;
	unsigned room, ntasks, nrq;
	struct saved_task *task; /* [room] */
	struct saved_rq *rq;	 /* [core's nrq] */
	unsigned char *priv;	 /* of rq[0]; NULL: stays in place */
};

/* For up to @room tasks, and a run queue's private area of @priv bytes. */
static int aside_init(struct aside *s, struct core *c, unsigned room,
		      size_t priv)
{
	s->core = c;
	s->room = room;
	s->task = calloc(room ? room : 1, sizeof(*s->task));
	s->rq = calloc(c->sched.nrq, sizeof(*s->rq));
	if (priv)
		s->priv = calloc(1, priv);
	return s->task && s->rq && (s->priv || !priv) ? 0 : -ENOMEM;
}

static void aside_fini(struct aside *s)
{
	free(s->task);
	free(s->rq);
	free(s->priv);
}

static struct saved_task *save_task(struct aside *s, struct core_task *t)
{
	struct saved_task *saved = &s->task[s->ntasks++];

	saved->t = t;
	saved->rq = t->task.rq;
	saved->state = t->task.state;
	saved->foreign = t->foreign;
	saved->slice = t->task.slice;
	saved->ran = t->task.job.ran;
	if (saved->state == CR_RUNNING)
		saved->cpu = t->task.rq->cpu[t->task.cpu];
	memcpy(saved->priv, t->task.priv, t->task.rq->sched->ops->task_size);
	return saved;
}

static void save_rq(struct aside *s, struct cr_rq *rq)
{
	const struct core_rq *a = aux_of(s->core, rq);

	s->rq[s->nrq++] = (struct saved_rq){ .at = rq,
					     .rq = *rq,
					     .fresh = a->fresh,
					     .fresh_cpus = a->fresh_cpus };
	if (s->priv && rq->sched->ops->rq_size)
		memcpy(s->priv, rq->priv, rq->sched->ops->rq_size);
}

/* On its CPU, if it was on one; the turn goes on as it was begun. */
static void back_on_cpu(const struct saved_task *saved)
{
	struct cr_task *t = &saved->t->task;

	t->state = saved->state;
	t->job.ran = saved->ran;
	if (saved->state == CR_RUNNING)
		saved->rq->cpu[t->cpu] = saved->cpu;
}

static void put_back(struct aside *s)
{
	/* all of a run queue that changes; the rest is read without its lock */
	for (unsigned i = 0; i < s->nrq; i++) {
		const struct saved_rq *saved = &s->rq[i];
		struct cr_rq *rq = saved->at;
		struct core_rq *a = aux_of(s->core, rq);

		rq->sched = saved->rq.sched;
		rq->priv = saved->rq.priv;
		rq->nqueued = saved->rq.nqueued;
		rq->load_ppm = saved->rq.load_ppm;
		rq->next_tick = saved->rq.next_tick;
		rq->kick = saved->rq.kick;
		a->fresh = saved->fresh;
		a->fresh_cpus = saved->fresh_cpus;
		if (s->priv && rq->sched->ops->rq_size)
			memcpy(rq->priv, s->priv, rq->sched->ops->rq_size);
		TAILQ_INIT(&a->tasks);
		a->ntasks = 0;
	}
	for (unsigned i = 0; i < s->ntasks; i++) {
		const struct saved_task *saved = &s->task[i];
		struct core_task *t = saved->t;

		t->task.rq = saved->rq;
		atomic_store_explicit(&t->home, saved->rq->id,
				      memory_order_relaxed);
		t->task.slice = saved->slice;
		t->foreign = saved->foreign;
		memcpy(t->task.priv, saved->priv,
		       saved->rq->sched->ops->task_size);
		back_on_cpu(saved);
		TAILQ_INSERT_TAIL(&aux_of(s->core, saved->rq)->tasks, t, link);
		aux_of(s->core, saved->rq)->ntasks++;
	}
}

static void advance_all(struct core *c, cr_ns now)
{
	for (unsigned i = 0; i < c->sched.nrq; i++)
		(void)core_advance(c, &c->rq[i], now);
}

/* --- other terms --- */

struct core_change {
	struct aside aside;
	unsigned flags;
};

int core_change_prepare(struct core_change **out, struct core *c, unsigned room,
			unsigned flags)
{
	struct core_change *ch = calloc(1, sizeof(*ch));
	size_t priv = c->policy.ops->rq_size > c->spare_policy.ops->rq_size
			      ? c->policy.ops->rq_size
			      : c->spare_policy.ops->rq_size;

	if (!ch)
		return -ENOMEM;
	ch->flags = flags;
	if (aside_init(&ch->aside, c, room, priv)) {
		core_change_finish(ch);
		return -ENOMEM;
	}
	*out = ch;
	return 0;
}

void core_change_finish(struct core_change *ch)
{
	if (ch)
		aside_fini(&ch->aside);
	free(ch);
}

/* The policy forgets the task. */
static void leave_policy(struct core *c, const struct saved_task *was,
			 cr_ns now)
{
	struct core_task *t = was->t;
	struct cr_rq *rq = was->rq;
	const struct cr_sched_ops *ops = rq->sched->ops;
	cr_ns ran = now - was->cpu.since;

	if (was->state == CR_QUEUED) {
		ops->dequeue(rq, &t->task, now);
		rq->nqueued--;
	}
	t->task.state = CR_IDLE;
	if (was->state == CR_RUNNING) {
		rq->cpu[t->task.cpu].running = NULL;
		t->task.job.ran += ran;
		if (!was->foreign)
			ops->stop(rq, (unsigned)t->task.cpu, &t->task, ran,
				  CR_STOP_DROP, now);
	}
	core_check(c, rq);
	if (ops->task_del)
		ops->task_del(rq, &t->task, now);
	core_part(c, t);
	core_check(c, rq);
}

/* The job that waits goes by the new terms, too. That of a running task is
 * being read by whoever runs it; best effort has no deadline when it comes
 * back; and one that the rate-based model has put later than the relative
 * deadline stays: it hangs on the jobs before. @before: relative deadline. */
static void set_job(struct core_task *t, enum cr_class cls, cr_ns before)
{
	struct cr_job *job = &t->task.job;

	job->cost = t->task.cost.mean;
	if (t->task.cls == CR_BE)
		job->deadline = CR_NEVER;
	else if (cls == CR_BE ||
		 job->deadline == cr_ns_add(job->eligible, before))
		job->deadline = cr_ns_add(job->eligible, t->task.rel_deadline);
}

static void rejoin(struct core *c, const struct saved_task *was,
		   const struct core_terms *to, unsigned rq, cr_ns now)
{
	struct core_task *t = was->t;
	enum cr_class cls = t->task.cls;
	cr_ns before = t->task.rel_deadline;

	core_set_terms(&t->task, to);
	t->load_ppm = core_load_of(&t->task);
	if (was->state == CR_QUEUED)
		set_job(t, cls, before);
	else
		back_on_cpu(was);
	t->foreign = was->state == CR_RUNNING;
	core_join(c, t, &c->rq[rq], now);
	if (was->state == CR_QUEUED)
		core_enqueue(c, t, CR_ENQ_MIGRATE, now);
}

/* More jobs in some window? The largest job is cr_task_worst()'s. */
static bool promises_more(const struct cr_contract *was,
			  const struct cr_contract *is)
{
	return is->jobs > was->jobs || is->burst > was->burst ||
	       (__int128)is->jobs * was->per > (__int128)was->jobs * is->per ||
	       (was->peak_jobs_per_sec &&
		(!is->peak_jobs_per_sec ||
		 is->peak_jobs_per_sec > was->peak_jobs_per_sec));
}

static bool asks_for_more(const struct cr_task *was, const struct cr_task *is)
{
	return is->cls < was->cls || is->period < was->period ||
	       is->rel_deadline < was->rel_deadline ||
	       is->cost.mean > was->cost.mean ||
	       cr_task_worst(is) > cr_task_worst(was) ||
	       promises_more(&was->contract, &is->contract);
}

bool core_asks_for_more(const struct core_terms *was,
			const struct core_terms *is)
{
	struct cr_task a = { 0 }, b = { 0 };

	core_set_terms(&a, was);
	core_set_terms(&b, is);
	return asks_for_more(&a, &b);
}

/* Admit it where it is, if it fits there, else anywhere; a running task cannot
 * move. */
static int admit_new_terms(const struct core_change *ch,
			   const struct saved_task *was,
			   const struct core_terms *to, struct cr_verdict *v)
{
	const struct core *c = ch->aside.core;
	const struct cr_task *t = &was->t->task;
	struct cr_task as = { .id = t->id, .period = t->period, .cpu = -1 };
	int rc;

	core_set_terms(&as, to);
	as.cpus = core_within(was->rq, &t->cpus);
	rc = core_admit(c, &as, v);
	if (rc == -ENOSPC && was->state != CR_RUNNING &&
	    !(ch->flags & CORE_CHANGE_STAY)) {
		as.cpus = t->cpus;
		rc = core_admit(c, &as, v);
	}
	if (rc == -ENOSPC && !asks_for_more(t, &as))
		return (int)was->rq->id;
	return rc;
}

int core_change(struct core_change *ch, struct core_task *t,
		const struct core_terms *to, cr_ns now, struct cr_verdict *v)
{
	struct aside *s = &ch->aside;
	struct core *c = s->core;
	struct cr_rq *home = t->task.rq;
	const struct saved_task *was = NULL, *saved;
	struct core_task *other;
	int rc;

	if (aux_of(c, home)->ntasks > s->room)
		return -EAGAIN;
	advance_all(c, now);
	save_rq(s, home);
	TAILQ_FOREACH (other, &aux_of(c, home)->tasks, link) {
		saved = save_task(s, other);
		if (other == t)
			was = saved;
	}
	CR_ASSERT(was);
	leave_policy(c, was, now);
	rc = admit_new_terms(ch, was, to, v);
	if (rc >= 0) {
		rejoin(c, was, to, (unsigned)rc, now);
		return 0;
	}
	if (rc == -ENOSPC && ch->flags & CORE_CHANGE_FORCE) {
		rejoin(c, was, to, home->id, now);
		return 1;
	}
	put_back(s);
	return rc;
}

/* --- another policy --- */

struct core_switch {
	struct aside aside;
	struct core_policy policy; /* the new one; after success the old */
};

int core_switch_prepare(struct core_switch **out, struct core *c, unsigned room,
			const struct cr_sched_ops *ops, const char *opts,
			struct cr_err *e)
{
	struct core_switch *sw = calloc(1, sizeof(*sw));
	int rc;

	if (!sw)
		return cr_fail(e, -ENOMEM, "out of memory");
	rc = aside_init(&sw->aside, c, room, 0);
	if (rc)
		(void)cr_fail(e, rc, "out of memory for %u tasks", room);
	else
		rc = core_policy_init(&sw->policy, c->sched.nrq, ops, opts, e);
	if (rc) {
		core_switch_finish(sw);
		return rc;
	}
	*out = sw;
	return 0;
}

/* All tasks leave their run queues, in the order in which they are to join. */
static void empty_queues(struct aside *s)
{
	struct core_tasks all = TAILQ_HEAD_INITIALIZER(all);
	struct core *c = s->core;
	struct core_task *t;
	unsigned n = 0;

	for (unsigned i = 0; i < c->sched.nrq; i++) {
		struct core_rq *a = &c->aux[i];

		save_rq(s, &c->rq[i]);
		TAILQ_CONCAT(&all, &a->tasks, link);
		n += a->ntasks;
		a->ntasks = a->fresh = 0;
		c->rq[i].nqueued = 0;
		c->rq[i].load_ppm = 0;
	}
	core_sort(&all, n);
	TAILQ_FOREACH (t, &all, link) {
		(void)save_task(s, t);
		if (t->task.state == CR_QUEUED)
			t->task.state = CR_IDLE;
	}
}

static int join_saved(struct core *c, const struct saved_task *was, cr_ns now,
		      struct cr_err *e)
{
	struct cr_verdict v;
	char why[256];
	int rc = (int)was->rq->id;

	/* the guard's sums do not change: nobody needs to move for it */
	if (c->sched.ops->admit) {
		struct cr_task *t = &was->t->task;
		const struct cr_cpus all = t->cpus;

		/* one that runs stays where it is: that is where it must fit */
		if (was->state == CR_RUNNING)
			t->cpus = core_within(was->rq, &all);
		rc = core_admit(c, t, &v);
		t->cpus = all;
	}
	if (rc < 0) {
		core_refusal(c, rc, &v, why, sizeof(why));
		return cr_fail(e, rc, "task %u: %s", was->t->task.id, why);
	}
	was->t->foreign = was->state == CR_RUNNING;
	core_join(c, was->t, &c->rq[rc], now);
	return 0;
}

int core_switch_commit(struct core_switch *sw, cr_ns now, struct cr_err *e)
{
	struct aside *s = &sw->aside;
	struct core *c = s->core;
	struct core_policy old = c->policy;
	unsigned n = 0;
	int rc;

	for (unsigned i = 0; i < c->sched.nrq; i++)
		n += c->aux[i].ntasks;
	if (n > s->room)
		return cr_fail(e, -EAGAIN,
			       "%u tasks have come since the switch began",
			       n - s->room);
	advance_all(c, now);
	empty_queues(s);
	rc = core_policy_start(c, &sw->policy, e);
	for (unsigned i = 0; i < n && !rc; i++)
		rc = join_saved(c, &s->task[i], now, e);
	if (rc) {
		put_back(s);
		c->policy = old;
		c->sched.ops = old.ops;
		c->sched.opts = old.opts;
		return rc;
	}
	for (unsigned i = 0; i < n; i++)
		if (s->task[i].state == CR_QUEUED)
			core_enqueue(c, s->task[i].t, CR_ENQ_MIGRATE, now);
	sw->policy = old;
	return 0;
}

void core_switch_finish(struct core_switch *sw)
{
	if (!sw)
		return;
	core_policy_fini(&sw->policy, sw->aside.core->sched.nrq);
	aside_fini(&sw->aside);
	free(sw);
}
