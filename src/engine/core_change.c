/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other terms for a task that is added: it leaves its policy and joins again.
 *
 *   leave:  stop(DROP) if it runs, or dequeue(), then task_del()
 *   admit:  as if it had never been there
 *   join:   task_add(), then enqueue(MIGRATE) of the job it had
 *
 * What runs goes on running, and no job is given up: stop() only tells the
 * policy that it need not reckon with the task any more, and it hears of it
 * again as after a replacement (see cr/sched.h).
 *
 * A policy that refuses must not have noticed anything. Nothing but its memory
 * can have changed (it is pure), so that of the task's run queue is put aside
 * before and put back, byte by byte; other run queues it cannot reach.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/core_state.h"

struct core_change {
	struct core *core;
	unsigned room, flags;
	unsigned char
		*task_priv; /* [room * CR_TASK_PRIV], as they are listed */
	unsigned char *rq_priv;
	/* of the run queue and the task that is changed, as they were */
	struct cr_rq rq;
	struct cr_cpu cpu; /* that it runs on */
	enum cr_state state;
	bool foreign;
	cr_ns ran;
	unsigned fresh;
	struct cr_cpus fresh_cpus;
};

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

int core_change_prepare(struct core_change **out, struct core *c, unsigned room,
			unsigned flags)
{
	struct core_change *ch = calloc(1, sizeof(*ch));
	size_t rq_size =
		larger(c->policy.ops->rq_size, c->spare_policy.ops->rq_size);

	if (!ch)
		return -ENOMEM;
	ch->core = c;
	ch->room = room;
	ch->flags = flags;
	ch->task_priv = calloc(room ? room : 1, CR_TASK_PRIV);
	ch->rq_priv = calloc(1, rq_size ? rq_size : 1);
	if (!ch->task_priv || !ch->rq_priv) {
		core_change_finish(ch);
		return -ENOMEM;
	}
	*out = ch;
	return 0;
}

void core_change_finish(struct core_change *ch)
{
	if (!ch)
		return;
	free(ch->task_priv);
	free(ch->rq_priv);
	free(ch);
}

/* --- putting aside and back --- */

static void save(struct core_change *ch, const struct core_task *t)
{
	const struct cr_rq *rq = t->task.rq;
	const struct core_rq *a = aux_of(ch->core, rq);
	const struct cr_sched_ops *ops = rq->sched->ops;
	unsigned char *to = ch->task_priv;
	const struct core_task *other;

	ch->rq = *rq;
	ch->state = t->task.state;
	ch->foreign = t->foreign;
	ch->ran = t->task.job.ran;
	ch->fresh = a->fresh;
	ch->fresh_cpus = a->fresh_cpus;
	if (ch->state == CR_RUNNING)
		ch->cpu = rq->cpu[t->task.cpu];
	if (ops->rq_size)
		memcpy(ch->rq_priv, rq->priv, ops->rq_size);
	TAILQ_FOREACH (other, &a->tasks, link) {
		memcpy(to, other->task.priv, ops->task_size);
		to += CR_TASK_PRIV;
	}
}

/* On its CPU, if it was on one; the turn goes on as it was begun. */
static void back_on_cpu(const struct core_change *ch, struct core_task *t,
			struct cr_rq *rq)
{
	t->task.state = ch->state;
	t->task.job.ran = ch->ran;
	if (ch->state == CR_RUNNING)
		rq->cpu[t->task.cpu] = ch->cpu;
}

/* All of @rq that changes; the rest is read without its lock. */
static void back_in_rq(struct cr_rq *rq, const struct cr_rq *was)
{
	rq->sched = was->sched;
	rq->priv = was->priv;
	rq->nqueued = was->nqueued;
	rq->load_ppm = was->load_ppm;
	rq->next_tick = was->next_tick;
	rq->kick = was->kick;
}

static void undo(struct core_change *ch, struct core_task *t)
{
	struct cr_rq *rq = t->task.rq;
	struct core_rq *a = aux_of(ch->core, rq);
	const struct cr_sched_ops *ops = rq->sched->ops;
	const unsigned char *from = ch->task_priv;
	struct core_task *other;

	back_in_rq(rq, &ch->rq);
	a->fresh = ch->fresh;
	a->fresh_cpus = ch->fresh_cpus;
	back_on_cpu(ch, t, rq);
	if (ops->rq_size)
		memcpy(rq->priv, ch->rq_priv, ops->rq_size);
	TAILQ_FOREACH (other, &a->tasks, link) {
		memcpy(other->task.priv, from, ops->task_size);
		from += CR_TASK_PRIV;
	}
}

/* --- leaving and joining --- */

/* The policy forgets @t, which stays in the core's list. */
static void leave(struct core_change *ch, struct core_task *t, cr_ns now)
{
	struct cr_rq *rq = t->task.rq;
	const struct cr_sched_ops *ops = rq->sched->ops;
	cr_ns ran = now - ch->cpu.since;

	t->task.state = CR_IDLE;
	if (ch->state == CR_RUNNING) {
		rq->cpu[t->task.cpu].running = NULL;
		t->task.job.ran += ran;
	}
	if (ch->state == CR_RUNNING && !ch->foreign) {
		ops->stop(rq, (unsigned)t->task.cpu, &t->task, ran,
			  CR_STOP_DROP, now);
		core_check(ch->core, rq);
	} else if (ch->state == CR_QUEUED) {
		t->task.state = CR_QUEUED;
		ops->dequeue(rq, &t->task, now);
		t->task.state = CR_IDLE;
		rq->nqueued--;
		core_check(ch->core, rq);
	}
	if (ops->task_del)
		ops->task_del(rq, &t->task, now);
	rq->load_ppm -= t->load_ppm;
	core_check(ch->core, rq);
}

void core_set_terms(struct cr_task *t, const struct core_terms *to)
{
	t->cls = to->cls;
	if (to->period)
		t->period = to->period;
	t->rel_deadline = to->rel_deadline;
	t->cost = to->cost;
	t->nice = to->nice;
	t->weight = to->weight;
	t->contract = to->contract;
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

static void rejoin(struct core_change *ch, struct core_task *t,
		   const struct core_terms *to, unsigned rq, cr_ns now)
{
	struct core *c = ch->core;
	struct core_rq *from = aux_of(c, t->task.rq);
	enum cr_class cls = t->task.cls;
	cr_ns before = t->task.rel_deadline;

	TAILQ_REMOVE(&from->tasks, t, link);
	from->ntasks--;
	core_set_terms(&t->task, to);
	t->load_ppm = core_load_of(&t->task);
	if (ch->state == CR_QUEUED)
		set_job(t, cls, before);
	else
		back_on_cpu(ch, t, t->task.rq);
	t->foreign = ch->state == CR_RUNNING;
	core_join(c, t, &c->rq[rq], now);
	if (ch->state == CR_QUEUED)
		core_enqueue(c, t, CR_ENQ_MIGRATE, now);
}

/* --- admission --- */

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

/* Where it is, if it fits there, else anywhere; a running task cannot move. */
static int admit(const struct core_change *ch, const struct core_task *t,
		 const struct core_terms *to, struct cr_verdict *v)
{
	const struct cr_rq *home = t->task.rq;
	struct cr_task as = { .id = t->task.id,
			      .period = t->task.period,
			      .cpu = -1 };
	int rc;

	core_set_terms(&as, to);
	as.cpus = core_within(home, &t->task.cpus);
	rc = core_admit(ch->core, &as, v);
	if (rc == -ENOSPC && ch->state != CR_RUNNING &&
	    !(ch->flags & CORE_CHANGE_STAY)) {
		as.cpus = t->task.cpus;
		rc = core_admit(ch->core, &as, v);
	}
	if (rc == -ENOSPC && !asks_for_more(&t->task, &as))
		return (int)home->id;
	return rc;
}

int core_change(struct core_change *ch, struct core_task *t,
		const struct core_terms *to, cr_ns now, struct cr_verdict *v)
{
	struct core *c = ch->core;
	unsigned home = t->task.rq->id;
	int rc;

	if (aux_of(c, t->task.rq)->ntasks > ch->room)
		return -EAGAIN;
	for (unsigned i = 0; i < c->sched.nrq; i++) {
		CR_ASSERT(now >= c->aux[i].now);
		c->aux[i].now = now;
	}
	save(ch, t);
	leave(ch, t, now);
	rc = admit(ch, t, to, v);
	if (rc >= 0) {
		rejoin(ch, t, to, (unsigned)rc, now);
		return 0;
	}
	if (rc == -ENOSPC && ch->flags & CORE_CHANGE_FORCE) {
		rejoin(ch, t, to, home, now);
		return 1;
	}
	undo(ch, t);
	return rc;
}
