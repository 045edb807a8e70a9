/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replacing the policy under live tasks, all or nothing.
 *
 * A policy is pure, so everything it knows lies in the private areas of tasks
 * and run queues. Those of the old policy are put aside byte by byte (their
 * addresses stay, so pointers between them stay good), the new policy takes
 * over in their place, and if it refuses, the bytes are put back.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/core.h"
#include "engine/core_state.h"

/* One task as the old policy left it. */
struct saved_task {
	struct core_task *t;
	struct cr_rq *rq;
	enum cr_state state;
	bool foreign, joined;
	cr_ns slice;
	alignas(max_align_t) unsigned char priv[CR_TASK_PRIV];
};

struct saved_rq {
	unsigned nqueued, fresh;
	cr_ns next_tick;
	struct cr_cpus kick, fresh_cpus;
	const struct cr_sched *sched; /* the policy's, or the fallback's */
	void *priv;
};

struct core_switch {
	struct core *core;
	struct core_policy policy; /* the new one; after success the old */
	struct core_policy old;
	struct saved_task *task;   /* [room] */
	struct saved_task **order; /* [room], sorted by before() */
	struct saved_rq *rq;	   /* [nrq] */
	unsigned room, ntasks;
};

int core_switch_prepare(struct core_switch **out, struct core *c, unsigned room,
			const struct cr_sched_ops *ops, const char *opts,
			struct cr_err *e)
{
	struct core_switch *sw = calloc(1, sizeof(*sw));
	int rc;

	if (!sw)
		return cr_fail(e, -ENOMEM, "out of memory");
	sw->core = c;
	sw->room = room;
	sw->task = calloc(room ? room : 1, sizeof(*sw->task));
	sw->order = calloc(room ? room : 1, sizeof(*sw->order));
	sw->rq = calloc(c->sched.nrq, sizeof(*sw->rq));
	rc = sw->task && sw->order && sw->rq
		     ? 0
		     : cr_fail(e, -ENOMEM, "out of memory for %u tasks", room);
	if (!rc)
		rc = core_policy_init(&sw->policy, c->sched.nrq, ops, opts, e);
	if (rc) {
		core_switch_finish(sw);
		return rc;
	}
	*out = sw;
	return 0;
}

static void save_rq(struct core_switch *sw, unsigned i)
{
	struct core *c = sw->core;
	struct core_task *t;

	sw->rq[i] = (struct saved_rq){
		.nqueued = c->rq[i].nqueued,
		.fresh = c->aux[i].fresh,
		.next_tick = c->rq[i].next_tick,
		.kick = c->rq[i].kick,
		.fresh_cpus = c->aux[i].fresh_cpus,
		.sched = c->rq[i].sched,
		.priv = c->rq[i].priv,
	};
	TAILQ_FOREACH (t, &c->aux[i].tasks, link) {
		struct saved_task *s = &sw->task[sw->ntasks++];

		s->t = t;
		s->rq = t->task.rq;
		s->state = t->task.state;
		s->foreign = t->foreign;
		s->slice = t->task.slice;
		memcpy(s->priv, t->task.priv, sizeof(s->priv));
	}
}

static void leave_rq(struct core *c, struct core_task *t)
{
	struct cr_rq *rq = t->task.rq;

	TAILQ_REMOVE(&c->aux[rq->id].tasks, t, link);
	c->aux[rq->id].ntasks--;
	rq->load_ppm -= t->load_ppm;
}

static void empty_queues(struct core_switch *sw)
{
	for (unsigned i = 0; i < sw->ntasks; i++) {
		struct core_task *t = sw->task[i].t;

		leave_rq(sw->core, t);
		if (t->task.state == CR_QUEUED)
			t->task.state = CR_IDLE;
	}
	for (unsigned i = 0; i < sw->core->sched.nrq; i++) {
		sw->core->rq[i].nqueued = 0;
		sw->core->aux[i].fresh = 0;
	}
}

static void put_back_task(struct core *c, struct saved_task *s)
{
	if (s->joined)
		leave_rq(c, s->t);
	s->t->task.rq = s->rq;
	atomic_store_explicit(&s->t->home, s->rq->id, memory_order_relaxed);
	s->t->task.state = s->state;
	s->t->foreign = s->foreign;
	s->t->task.slice = s->slice;
	memcpy(s->t->task.priv, s->priv, sizeof(s->priv));
	TAILQ_INSERT_TAIL(&c->aux[s->rq->id].tasks, s->t, link);
	c->aux[s->rq->id].ntasks++;
	s->rq->load_ppm += s->t->load_ppm;
}

static void put_back(struct core_switch *sw)
{
	struct core *c = sw->core;

	for (unsigned i = 0; i < sw->ntasks; i++)
		put_back_task(c, &sw->task[i]);
	c->policy = sw->old;
	c->sched.ops = sw->old.ops;
	c->sched.opts = sw->old.opts;
	for (unsigned i = 0; i < c->sched.nrq; i++) {
		c->rq[i].sched = sw->rq[i].sched;
		c->rq[i].priv = sw->rq[i].priv;
		c->rq[i].nqueued = sw->rq[i].nqueued;
		c->rq[i].next_tick = sw->rq[i].next_tick;
		c->rq[i].kick = sw->rq[i].kick;
		c->aux[i].fresh = sw->rq[i].fresh;
		c->aux[i].fresh_cpus = sw->rq[i].fresh_cpus;
	}
}

/* Running tasks first (they cannot move to another run queue), then waiting
 * ones by their job's release, then the idle ones. */
static bool before(const struct saved_task *a, const struct saved_task *b)
{
	static const int rank[] = {
		[CR_RUNNING] = 0, [CR_QUEUED] = 1, [CR_IDLE] = 2
	};
	const struct cr_task *x = &a->t->task, *y = &b->t->task;

	if (a->state != b->state)
		return rank[a->state] < rank[b->state];
	if (a->state == CR_QUEUED && x->job.release != y->job.release)
		return x->job.release < y->job.release;
	return x->id < y->id;
}

static void sift_down(struct saved_task **heap, unsigned i, unsigned n)
{
	struct saved_task *moving = heap[i];

	for (unsigned child = 2 * i + 1; child < n; child = 2 * i + 1) {
		if (child + 1 < n && before(heap[child], heap[child + 1]))
			child++;
		if (!before(moving, heap[child]))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = moving;
}

/* Heap sort: all locks are held here, and the C library's qsort() may call
 * malloc(). */
static void sort(struct core_switch *sw)
{
	struct saved_task **a = sw->order;
	unsigned n = sw->ntasks;

	for (unsigned i = 0; i < n; i++)
		a[i] = &sw->task[i];
	for (unsigned i = n / 2; i-- > 0;)
		sift_down(a, i, n);
	for (unsigned i = n; i-- > 1;) {
		struct saved_task *top = a[0];

		a[0] = a[i];
		a[i] = top;
		sift_down(a, 0, i);
	}
}

/* A task that runs stays where it is: that is where it must fit. */
static int admit(const struct core *c, struct saved_task *s,
		 struct cr_verdict *v)
{
	struct cr_cpus all = s->t->task.cpus;
	int rc;

	if (s->state == CR_RUNNING)
		s->t->task.cpus = core_within(s->rq, &all);
	rc = core_admit(c, &s->t->task, v);
	s->t->task.cpus = all;
	return rc;
}

static int join(struct core_switch *sw, struct saved_task *s, cr_ns now,
		struct cr_err *e)
{
	struct core *c = sw->core;
	struct cr_verdict v;
	char why[256];
	int rc = (int)s->rq->id;

	/* the guard's sums do not change: nobody needs to move for it */
	if (c->sched.ops->admit)
		rc = admit(c, s, &v);
	if (rc < 0) {
		core_refusal(c, rc, &v, why, sizeof(why));
		return cr_fail(e, rc, "task %u: %s", s->t->task.id, why);
	}
	s->t->foreign = s->state == CR_RUNNING;
	s->joined = true;
	core_join(c, s->t, &c->rq[rc], now);
	return 0;
}

static int take_over(struct core_switch *sw, cr_ns now, struct cr_err *e)
{
	struct core *c = sw->core;
	int rc = core_policy_start(c, &sw->policy, e);

	if (rc)
		return rc;
	for (unsigned i = 0; i < sw->ntasks && !rc; i++)
		rc = join(sw, sw->order[i], now, e);
	for (unsigned i = 0; i < sw->ntasks && !rc; i++)
		if (sw->order[i]->state == CR_QUEUED)
			core_enqueue(c, sw->order[i]->t, CR_ENQ_MIGRATE, now);
	return rc;
}

int core_switch_commit(struct core_switch *sw, cr_ns now, struct cr_err *e)
{
	struct core *c = sw->core;
	unsigned n = 0;
	int rc;

	for (unsigned i = 0; i < c->sched.nrq; i++) {
		CR_ASSERT(now >= c->aux[i].now);
		n += c->aux[i].ntasks;
	}
	if (n > sw->room)
		return cr_fail(e, -EAGAIN,
			       "%u tasks have come since the switch began",
			       n - sw->room);
	for (unsigned i = 0; i < c->sched.nrq; i++) {
		c->aux[i].now = now;
		save_rq(sw, i);
	}
	sw->old = c->policy;
	sort(sw);
	empty_queues(sw);
	rc = take_over(sw, now, e);
	if (rc)
		put_back(sw);
	else
		sw->policy = sw->old;
	return rc;
}

void core_switch_finish(struct core_switch *sw)
{
	if (!sw)
		return;
	core_policy_fini(&sw->policy, sw->core->sched.nrq);
	free(sw->order);
	free(sw->task);
	free(sw->rq);
	free(sw);
}
