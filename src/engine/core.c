/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life cycle of a job, with its states checked:
 *
 *            release/again        pick: claim        stop
 *   IDLE -------------------> QUEUED -----> RUNNING ------> IDLE
 *     ^      oldest frame       ^              |
 *     |      becomes the job    +-- the frame is gone, too old, or given
 *     +-- nothing waits --------+-- up: stop(DROP), next frame
 *
 * Every callback of the policy is made here (or in core_policy.c), so this is
 * where its promises are verified (core_guard.c) and where the counts come
 * from.
 *
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
#include "engine/core.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cr/promise.h"
#include "engine/core_state.h"
#include "engine/cpus.h"

/* In place: a copy would read in wide words what peek() has just written in
 * narrow ones, and wait for the stores. */
bool core_fetch(struct core_task *t, cr_ns now)
{
	struct cr_job *job = &t->task.job;

	if (!t->backlog->peek(t, job))
		return false;
	if (t->task.cls == CR_BE)
		job->deadline = CR_NEVER;
	job->release = now;
	job->cost = t->task.cost.mean;
	job->ran = 0;
	t->claimed = false;
	t->expired = false;
	return true;
}

void core_enqueue(struct core *c, struct core_task *t, enum cr_enq why,
		  cr_ns now)
{
	struct cr_rq *rq = t->task.rq;
	struct core_rq *a;

	CR_ASSERT(t->task.state == CR_IDLE);
	t->task.state = CR_QUEUED;
	rq->nqueued++;
	rq->sched->ops->enqueue(rq, &t->task, why, now);
	a = aux_of(c, rq);
	a->fresh++;
	for (unsigned i = 0; i < CR_MAX_CPUS / 64; i++)
		a->fresh_cpus.word[i] |= t->task.cpus.word[i];
	core_check(c, rq);
}

void core_join(struct core *c, struct core_task *t, struct cr_rq *rq, cr_ns now)
{
	t->task.rq = rq;
	atomic_store_explicit(&t->home, rq->id, memory_order_relaxed);
	rq->load_ppm += t->load_ppm;
	TAILQ_INSERT_TAIL(&aux_of(c, rq)->tasks, t, link);
	aux_of(c, rq)->ntasks++;
	t->core = c;
	t->task.max_age =
		t->patient
			? CR_NEVER
			: core_age_limit(c->cfg.max_age[t->task.cls], &t->task);
	memset(t->task.priv, 0, rq->sched->ops->task_size);
	if (rq->sched->ops->task_add)
		rq->sched->ops->task_add(rq, &t->task, now);
	core_check(c, rq);
}

static void part_from_queue(struct core *c, struct core_task *t)
{
	struct cr_rq *rq = t->task.rq;

	rq->load_ppm -= t->load_ppm;
	TAILQ_REMOVE(&aux_of(c, rq)->tasks, t, link);
	aux_of(c, rq)->ntasks--;
}

void core_add(struct core *c, struct core_task *t, unsigned rq, cr_ns now)
{
	core_advance(c, &c->rq[rq], now);
	t->task.state = CR_IDLE;
	t->task.cpu = -1;
	t->task.lossless = t->patient;
	t->task.give_up = false;
	t->foreign = false;
	t->claimed = false;
	t->load_ppm = core_load_of(&t->task);
	core_join(c, t, &c->rq[rq], now);
}

static void drop_job(struct core_task *t, enum cr_outcome why, cr_ns now)
{
	if (t->backlog->dropped)
		t->backlog->dropped(t, &t->task.job, why, now);
}

void core_del(struct core *c, struct core_task *t, cr_ns now)
{
	struct cr_rq *rq = t->task.rq;
	bool queued = t->task.state == CR_QUEUED;

	CR_ASSERT(t->task.state != CR_RUNNING);
	core_advance(c, rq, now);
	if (queued) {
		rq->sched->ops->dequeue(rq, &t->task, now);
		t->task.state = CR_IDLE;
		rq->nqueued--;
		core_check(c, rq);
	}
	/* The frame of the job that was queued (maybe claimed and preempted
	 * before), then all that wait behind it. */
	if (queued && t->claimed)
		drop_job(t, CR_OUT_CANCELLED, now);
	while (core_fetch(t, now))
		if (t->backlog->claim(t, t->task.job.seq))
			drop_job(t, CR_OUT_CANCELLED, now);
	if (rq->sched->ops->task_del)
		rq->sched->ops->task_del(rq, &t->task, now);
	part_from_queue(c, t);
	core_check(c, rq);
	t->task.rq = NULL;
	t->core = NULL;
}

bool core_release(struct core *c, struct core_task *t, cr_ns now)
{
	core_advance(c, t->task.rq, now);
	if (!core_fetch(t, now))
		return false;
	core_enqueue(c, t, CR_ENQ_RELEASE, now);
	return true;
}

bool core_again(struct core *c, struct core_task *t, cr_ns now)
{
	bool same = t->left == CR_STOP_SLICE || t->left == CR_STOP_PREEMPT;
	enum cr_enq why = same ? CR_ENQ_REQUEUE : CR_ENQ_NEXT;

	core_advance(c, t->task.rq, now);
	if (!same && !core_fetch(t, now)) {
		t->foreign = false;
		return false;
	}
	if (same && t->foreign) /* the policy does not know this job */
		why = CR_ENQ_MIGRATE;
	t->foreign = false;
	core_enqueue(c, t, why, now);
	return true;
}

static void leave_cpu(struct core *c, struct cr_rq *rq, unsigned cpu,
		      enum cr_stop why, cr_ns ran, cr_ns now)
{
	struct core_task *t = core_task_of(rq->cpu[cpu].running);

	CR_ASSERT(t->task.state == CR_RUNNING && t->task.rq == rq &&
		  t->task.cpu == (int)cpu);
	rq->cpu[cpu].running = NULL;
	t->task.state = CR_IDLE;
	t->task.job.ran += ran;
	t->left = why;
	if (!t->foreign)
		rq->sched->ops->stop(rq, cpu, &t->task, ran, why, now);
	core_check(c, rq);
}

struct core_task *core_stop(struct core *c, struct cr_rq *rq, unsigned cpu,
			    cr_ns ran, enum cr_stop why, cr_ns now)
{
	struct core_task *t;

	CR_ASSERT(cpu < rq->ncpu && rq->cpu[cpu].running);
	core_advance(c, rq, now);
	t = core_task_of(rq->cpu[cpu].running);
	leave_cpu(c, rq, cpu, why, ran, now);
	return t;
}

static cr_ns auto_age(const struct cr_task *t)
{
	cr_ns most = CORE_AGE_MOST, longer;

	if (t->cls == CR_BE)
		return most;
	longer = cr_ns_max(t->rel_deadline, t->period);
	return longer < most / CORE_AGE_TIMES ? longer * CORE_AGE_TIMES : most;
}

cr_ns core_age_limit(cr_ns max_age, const struct cr_task *t)
{
	if (max_age != CORE_AGE_AUTO)
		return max_age ? max_age : CR_NEVER;
	if (t->cls == CR_BE)
		return auto_age(t);
	return cr_ns_max(auto_age(t), t->rel_deadline);
}

/* Has the job of @t waited longer than it may (core_config.max_age)? */
static bool too_old(const struct core *c, const struct core_task *t, cr_ns now)
{
	cr_ns limit = c->cfg.max_age[t->task.cls];
	cr_ns age = now - t->task.job.arrival;

	if (!limit || t->patient)
		return false;
	if (limit != CORE_AGE_AUTO)
		return age > limit;
	/* what came ahead of its time may still be in time */
	return age > auto_age(&t->task) &&
	       (t->task.cls == CR_BE || now > t->task.job.deadline);
}

cr_ns core_waited(const struct core_task *t, cr_ns now)
{
	const struct cr_rq *rq = t->task.rq;
	const struct cr_job *job = &t->task.job;

	if (rq->sched->ops->flags & CR_F_IDLES)
		return now - cr_ns_max(job->arrival, job->eligible);
	return now - job->arrival;
}

/* The frame is lost for another reason than --shed: tell its rule. */
static void note_lost(const struct core *c, struct shed_queue *q,
		      struct core_task *t)
{
	if (t->shed)
		shed_lost(&c->cfg.shed, q, t->shed, &t->task.job);
}

enum core_worth core_worth_of(const struct core *c, struct shed_queue *q,
			      struct core_task *t, cr_ns now)
{
	enum shed_verdict verdict;

	if (too_old(c, t, now)) {
		note_lost(c, q, t);
		return c->cfg.expired[t->task.cls] == CORE_EXPIRED_CONCEAL
			       ? CORE_CONCEAL
			       : CORE_OLD;
	}
	if (!t->shed)
		return CORE_RUN;
	verdict = shed_ask(&c->cfg.shed, q, t->shed, &t->task,
			   core_waited(t, now), now);
	return verdict == SHED_KEEP ? CORE_RUN : CORE_SHED;
}

/* Count the job of @t by its @worth, and drop it or not. True: run it. */
static bool settle_worth(struct core_rq *a, struct core_task *t,
			 enum core_worth worth, cr_ns now)
{
	switch (worth) {
	case CORE_RUN:
		break;
	case CORE_CONCEAL:
		a->counts.concealed++;
		t->expired = true;
		break;
	case CORE_OLD:
		a->counts.expired++;
		drop_job(t, CR_OUT_EXPIRED, now);
		return false;
	case CORE_SHED:
		a->counts.shed++;
		drop_job(t, CR_OUT_SHED, now);
		return false;
	case CORE_GIVEN_UP:
		a->counts.given_up++;
		drop_job(t, CR_OUT_SHED, now);
		return false;
	}
	return true;
}

/* Take the frame of the job just picked. False: there is nothing to run. */
static bool take_frame(struct core *c, struct core_rq *a, struct core_task *t,
		       cr_ns now)
{
	bool given_up = t->task.give_up && cr_may_give_up(&t->task);
	enum core_worth worth = given_up ? CORE_GIVEN_UP : CORE_RUN;

	if (!t->claimed) {
		if (!t->backlog->claim(t, t->task.job.seq)) {
			a->counts.gone++;
			return false;
		}
		t->claimed = true;
		if (!given_up)
			worth = core_worth_of(c, &a->shed, t, now);
	}
	if (given_up)
		note_lost(c, &a->shed, t);
	return settle_worth(a, t, worth, now);
}

/* What is true of nearly every answer; core_pick_flaw() knows the rest. */
static bool good_pick(const struct core *c, const struct cr_rq *rq,
		      unsigned cpu, struct cr_task *t)
{
	if (!t)
		return rq->next_tick != CR_NEVER;
	return core_task_of(t)->core == c && t->state == CR_QUEUED &&
	       t->rq == rq && cr_may_run(rq, t, cpu) &&
	       (t->slice > 0 || !c->cfg.preemptible);
}

static struct cr_task *checked_pick(struct core *c, struct cr_rq *rq,
				    unsigned cpu, cr_ns now)
{
	struct cr_task *t = rq->sched->ops->pick(rq, cpu, now);
	struct core_flaw flaw;

	if (__builtin_expect(good_pick(c, rq, cpu, t), 1))
		return t;
	flaw = core_pick_flaw(c, rq, cpu, t);
	if (!flaw.what)
		return t;
	core_blame(c, rq, &flaw, now);
	return rq->sched->ops->pick(rq, cpu, now);
}

static struct core_task *ask_policy(struct core *c, struct core_rq *a,
				    struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	struct cr_task *t = checked_pick(c, rq, cpu, now);

	if (!t)
		return NULL;
	rq->nqueued--;
	t->state = CR_RUNNING;
	t->cpu = (int)cpu;
	rq->cpu[cpu] = (struct cr_cpu){ .running = t, .since = now };
	if (a->fresh)
		a->fresh--;
	core_check(c, rq);
	return core_task_of(t);
}

/* See core_config.check. Between two events, as the policy may look at states
 * that an event changes last. */
static void check_policy(struct core *c, struct cr_rq *rq, cr_ns now)
{
	const struct core_flaw damaged = {
		.callback = "check",
		.what = "false: the policy's own state is wrong",
		.cpu = -1,
	};
	const struct cr_sched_ops *ops = rq->sched->ops;

	if (rq->sched == &c->sched && ops->check && !ops->check(rq))
		core_blame(c, rq, &damaged, now);
}

struct core_task *core_pick(struct core *c, struct cr_rq *rq, unsigned cpu,
			    cr_ns now)
{
	struct core_rq *a = core_advance(c, rq, now);
	struct core_task *t;
	bool taken;

	CR_ASSERT(cpu < rq->ncpu && !rq->cpu[cpu].running);
	cr_cpus_del(&rq->kick, cpu);
	if (__builtin_expect(c->cfg.check, 0))
		check_policy(c, rq, now);
	while (rq->nqueued) {
		t = ask_policy(c, a, rq, cpu, now);
		if (!t)
			return NULL;
		taken = take_frame(c, a, t, now);
		t->task.give_up = false;
		if (taken) {
			a->counts.picks++;
			return t;
		}
		leave_cpu(c, rq, cpu, CR_STOP_DROP, 0, now);
		(void)core_again(c, t, now);
	}
	return NULL;
}

bool core_tick(struct core *c, struct cr_rq *rq, cr_ns now)
{
	const struct core_flaw again = {
		.callback = "tick",
		.what = "armed the tick that was due once more",
		.cpu = -1,
	};
	cr_ns due = rq->next_tick;

	if (now < due)
		return false;
	core_advance(c, rq, now);
	rq->next_tick = CR_NEVER;
	if (rq->sched->ops->tick)
		rq->sched->ops->tick(rq, now);
	if (rq->next_tick <= due)
		core_blame(c, rq, &again, now);
	core_check(c, rq);
	core_relook(c, rq); /* what was held back may be ready now */
	return true;
}

struct core_task *core_steal(struct core *c, struct cr_rq *from,
			     struct cr_rq *to, unsigned cpu, cr_ns now)
{
	struct cr_task *found;
	struct core_task *t;
	struct core_flaw flaw;

	if (!c->sched.ops->steal || !from->nqueued ||
	    from->sched != &c->sched || to->sched != &c->sched)
		return NULL;
	core_advance(c, from, now);
	core_advance(c, to, now);
	found = c->sched.ops->steal(from, to, cpu, now);
	if (!found)
		return NULL;
	flaw = core_steal_flaw(c, from, to, cpu, found);
	if (flaw.what) {
		/* it may have changed sums on both sides */
		core_blame(c, from, &flaw, now);
		core_stand_in(c, to, now);
		return NULL;
	}
	t = core_task_of(found);
	from->nqueued--;
	found->state = CR_IDLE;
	part_from_queue(c, t);
	core_check(c, from);
	found->rq = to;
	atomic_store_explicit(&t->home, to->id, memory_order_relaxed);
	to->load_ppm += t->load_ppm;
	TAILQ_INSERT_TAIL(&aux_of(c, to)->tasks, t, link);
	aux_of(c, to)->ntasks++;
	core_enqueue(c, t, CR_ENQ_MIGRATE, now);
	return t;
}

void core_relook(struct core *c, struct cr_rq *rq)
{
	struct core_rq *a = aux_of(c, rq);

	a->fresh = rq->nqueued;
	memset(&a->fresh_cpus, 0xff, sizeof(a->fresh_cpus));
}

unsigned core_wakes(struct core *c, struct cr_rq *rq, struct cr_cpus *idle,
		    struct cr_cpus *wake)
{
	struct core_rq *a = aux_of(c, rq);
	unsigned left = a->fresh < rq->nqueued ? a->fresh : rq->nqueued;

	if (!a->fresh && !cpus_any(&rq->kick))
		return 0;
	for (unsigned i = 0; cpus_any(idle) && i < rq->ncpu; i++) {
		bool kicked = cr_cpus_has(&rq->kick, i);

		if (!cr_cpus_has(idle, i))
			continue;
		if (left && cr_cpus_has(&a->fresh_cpus, rq->first_cpu + i))
			left--;
		else if (!kicked)
			continue;
		cr_cpus_del(idle, i);
		cr_cpus_add(wake, i);
	}
	rq->kick = (struct cr_cpus){ 0 };
	a->fresh = 0;
	a->fresh_cpus = (struct cr_cpus){ 0 };
	return left;
}

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

int core_change_prepare(struct core_change **out, struct core *c, unsigned room,
			unsigned flags)
{
	struct core_change *ch = calloc(1, sizeof(*ch));
	size_t rq_size = c->policy.ops->rq_size > c->spare_policy.ops->rq_size
				 ? c->policy.ops->rq_size
				 : c->spare_policy.ops->rq_size;

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

static void undo_change(struct core_change *ch, struct core_task *t)
{
	struct cr_rq *rq = t->task.rq;
	struct core_rq *a = aux_of(ch->core, rq);
	const struct cr_sched_ops *ops = rq->sched->ops;
	const unsigned char *from = ch->task_priv;
	struct core_task *other;

	/* All of @rq that changes; the rest is read without its lock. */
	rq->sched = ch->rq.sched;
	rq->priv = ch->rq.priv;
	rq->nqueued = ch->rq.nqueued;
	rq->load_ppm = ch->rq.load_ppm;
	rq->next_tick = ch->rq.next_tick;
	rq->kick = ch->rq.kick;
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
static void leave_policy(struct core_change *ch, struct core_task *t, cr_ns now)
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
static int admit_new_terms(const struct core_change *ch,
			   const struct core_task *t,
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
	leave_policy(ch, t, now);
	rc = admit_new_terms(ch, t, to, v);
	if (rc >= 0) {
		rejoin(ch, t, to, (unsigned)rc, now);
		return 0;
	}
	if (rc == -ENOSPC && ch->flags & CORE_CHANGE_FORCE) {
		rejoin(ch, t, to, home, now);
		return 1;
	}
	undo_change(ch, t);
	return rc;
}

void core_promise(const struct core_task *t, struct cr_promise *p)
{
	const struct cr_sched_ops *ops = t->task.rq->sched->ops;

	*p = (struct cr_promise){ .kind = CR_PROMISE_NOTHING };
	if (t->task.cls == CR_BE) {
		p->rule = "best effort has no deadline";
		return;
	}
	if (ops->promise)
		ops->promise(&t->task, p);
	else
		p->rule = "this scheduler promises nothing";
	if (!p->rule)
		p->rule = "it does not say why";
}

unsigned core_explain(const struct core_task *t, struct cr_kv *kv, unsigned max)
{
	const struct cr_sched_ops *ops = t->task.rq->sched->ops;
	unsigned n = ops->explain ? ops->explain(&t->task, kv, max) : 0;
	struct cr_promise p;

	if (n > max)
		n = max;
	for (unsigned i = 0; i < n; i++) /* a plug-in's */
		if (kv[i].unit > CR_KV_PPM)
			kv[i].unit = CR_KV_COUNT;
	if (n == max || !ops->promise)
		return n;
	core_promise(t, &p);
	kv[n++] = (struct cr_kv){ "in_time",
				  p.kind == CR_PROMISE_LATENESS && p.bound == 0,
				  CR_KV_COUNT };
	return n;
}
