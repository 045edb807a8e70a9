/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a policy that breaks its contract: in debug builds the
 * process aborts and says which promise was broken; otherwise the fault is
 * kept for the driver to report, and the fallback (cr_sched_fallback) takes the
 * run queue over at once.
 *
 * Tasks and their jobs are the core's, so nothing is lost that a policy lost,
 * and its memory is not looked at again. The run queue's lock is enough, for
 * the fallback's memory has been there since core_open().
 *
 * A task that a policy forgets is found when it says that nothing is left to
 * run; as long as it has other tasks to run, it may always prefer those. What
 * no check can find is a pointer to no memory: that crashes here.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/core.h"
#include "engine/core_state.h"

_Static_assert(offsetof(struct core_task, task) == 0, "flaw_of()");

/* The flaw in handing out @t, which should wait on @rq. */
static struct core_flaw flaw_of(const struct core *c, const struct cr_rq *rq,
				const struct cr_task *t)
{
	struct core_flaw f = { .task = t };

	if (((const struct core_task *)(const void *)t)->core != c)
		return (struct core_flaw){ .what = "no task of this engine" };
	if (t->rq != rq)
		f.what = "a task of another run queue";
	else if (t->state == CR_RUNNING)
		f.what = "a task that is running";
	else if (t->state != CR_QUEUED)
		f.what = "a task that has no job";
	return f;
}

/* A task that cpu[@cpu] could run, or NULL. */
static const struct cr_task *runnable(const struct core *c,
				      const struct cr_rq *rq, unsigned cpu)
{
	const struct core_task *t;

	TAILQ_FOREACH (t, &aux_of(c, rq)->tasks, link)
		if (t->task.state == CR_QUEUED && cr_may_run(rq, &t->task, cpu))
			return &t->task;
	return NULL;
}

struct core_flaw core_pick_flaw(const struct core *c, const struct cr_rq *rq,
				unsigned cpu, const struct cr_task *t)
{
	struct core_flaw f = { 0 };

	if (t)
		f = flaw_of(c, rq, t);
	else if (rq->next_tick == CR_NEVER && (f.task = runnable(c, rq, cpu)))
		f.what = "nothing, with a task waiting and no tick to come";
	if (t && !f.what && !cr_may_run(rq, t, cpu))
		f.what = "a task that may not run on this CPU";
	else if (t && !f.what && c->cfg.preemptible && t->slice <= 0)
		f.what = "a task without a slice";
	f.callback = "pick";
	f.cpu = (int)cpu;
	return f;
}

struct core_flaw core_steal_flaw(const struct core *c, const struct cr_rq *from,
				 const struct cr_rq *to, unsigned cpu,
				 const struct cr_task *t)
{
	struct core_flaw f = flaw_of(c, from, t);

	if (!f.what && !cr_may_run(to, t, cpu))
		f.what = "a task that may not run on this CPU";
	f.callback = "steal";
	f.cpu = -1;
	return f;
}

/* --- reporting --- */

bool core_faulty(const struct core *c, const struct cr_rq *rq)
{
	return aux_of(c, rq)->fault_waits;
}

bool core_take_fault(struct core *c, const struct cr_rq *rq,
		     struct core_fault *f)
{
	struct core_rq *a = aux_of(c, rq);

	if (!a->fault_waits)
		return false;
	a->fault_waits = false;
	*f = a->fault;
	return true;
}

/* Append to @buf, which is never overrun and always ends. */
__attribute__((format(printf, 3, 4))) static void append_flaw(char *buf,
							      size_t size,
							      const char *fmt,
							      ...)
{
	size_t used = strlen(buf);
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(buf + used, size - used, fmt, ap);
	va_end(ap);
}

/* As "deadline_ns=5 slice_ns=never density_ppm=3488". */
static void append_numbers(const struct core_fault *f, char *buf, size_t size)
{
	static const char *const units[] = { [CR_KV_COUNT] = "",
					     [CR_KV_NS] = "_ns",
					     [CR_KV_CLOCK_NS] = "_ns",
					     [CR_KV_PPM] = "_ppm" };

	for (unsigned i = 0; i < f->nkv; i++) {
		const struct cr_kv *kv = &f->kv[i];
		bool time = kv->unit == CR_KV_NS || kv->unit == CR_KV_CLOCK_NS;

		append_flaw(buf, size, "%s%s%s=", i ? " " : "", kv->key,
			    kv->unit <= CR_KV_PPM ? units[kv->unit] : "");
		if (time && kv->value == CR_NEVER)
			append_flaw(buf, size, "never");
		else
			append_flaw(buf, size, "%" PRId64, kv->value);
	}
}

void core_fault_text(const struct core_fault *f, char *buf, size_t size)
{
	(void)snprintf(buf, size, "policy=%s callback=%s what=\"%s\" rq=%u",
		       f->policy, f->callback, f->what, f->rq);
	if (f->cpu >= 0)
		append_flaw(buf, size, " cpu=%" PRId64, f->cpu);
	if (f->task >= 0)
		append_flaw(buf, size, " task=%" PRId64, f->task);
	if (f->nkv)
		append_flaw(buf, size, " ");
	append_numbers(f, buf, size);
}

void core_fault_said(const struct core_fault *f, char *buf, size_t size)
{
	buf[0] = '\0';
	append_numbers(f, buf, size);
}

/* --- replacing --- */

static bool joins_before(const struct core_task *a, const struct core_task *b)
{
	static const int rank[] = {
		[CR_RUNNING] = 0, [CR_QUEUED] = 1, [CR_IDLE] = 2
	};
	const struct cr_task *x = &a->task, *y = &b->task;

	if (x->state != y->state)
		return rank[x->state] < rank[y->state];
	if (x->state == CR_QUEUED && x->job.release != y->job.release)
		return x->job.release < y->job.release;
	return x->id < y->id;
}

void core_sort(struct core_tasks *list, unsigned n)
{
	struct core_tasks half = TAILQ_HEAD_INITIALIZER(half);
	struct core_tasks all = TAILQ_HEAD_INITIALIZER(all);
	struct core_task *a, *b;

	if (n < 2)
		return;
	for (unsigned i = 0; i < n / 2; i++) {
		a = TAILQ_FIRST(list);
		TAILQ_REMOVE(list, a, link);
		TAILQ_INSERT_TAIL(&half, a, link);
	}
	core_sort(&half, n / 2);
	core_sort(list, n - n / 2);
	while ((a = TAILQ_FIRST(list)) && (b = TAILQ_FIRST(&half))) {
		bool first = joins_before(a, b);

		TAILQ_REMOVE(first ? list : &half, first ? a : b, link);
		TAILQ_INSERT_TAIL(&all, first ? a : b, link);
	}
	TAILQ_CONCAT(&all, list, link);
	TAILQ_CONCAT(&all, &half, link);
	TAILQ_CONCAT(list, &all, link);
}

void core_stand_in(struct core *c, struct cr_rq *rq, cr_ns now)
{
	const struct cr_sched_ops *ops = c->spare.ops;
	struct core_rq *a = aux_of(c, rq);
	struct core_task *t;

	rq->sched = &c->spare;
	rq->priv = c->spare_policy.priv[rq->id];
	rq->next_tick = CR_NEVER;
	rq->kick = (struct cr_cpus){ 0 };
	rq->nqueued = 0;
	a->fresh = 0;
	memset(rq->priv, 0, ops->rq_size);
	CR_ASSERT(!ops->rq_init || !ops->rq_init(rq));
	core_sort(&a->tasks, a->ntasks);
	TAILQ_FOREACH (t, &a->tasks, link) {
		memset(t->task.priv, 0, ops->task_size);
		t->foreign = t->task.state == CR_RUNNING;
		if (ops->task_add)
			ops->task_add(rq, &t->task, now);
	}
	TAILQ_FOREACH (t, &a->tasks, link) {
		if (t->task.state != CR_QUEUED)
			continue;
		t->task.state = CR_IDLE;
		core_enqueue(c, t, CR_ENQ_MIGRATE, now);
	}
}

void core_blame(struct core *c, struct cr_rq *rq, const struct core_flaw *flaw,
		cr_ns now)
{
	const struct cr_sched_ops *ops = rq->sched->ops;
	struct core_rq *a = aux_of(c, rq);
	struct core_fault *f = &a->fault;

	CR_ASSERT(rq->sched != &c->spare); /* it keeps its contract */
	*f = (struct core_fault){
		.policy = ops->name,
		.callback = flaw->callback,
		.what = flaw->what,
		.rq = rq->id,
		.cpu = flaw->cpu < 0 ? -1 : (int64_t)rq->first_cpu + flaw->cpu,
		.task = flaw->task ? (int64_t)flaw->task->id : -1,
	};
	if (flaw->task && ops->explain)
		f->nkv = ops->explain(flaw->task, f->kv, CORE_FAULT_KV);
	if (f->nkv > CORE_FAULT_KV)
		f->nkv = CORE_FAULT_KV;
	a->fault_waits = true;
	a->counts.faults++;
#ifdef CR_DEBUG
	if (!c->cfg.lenient) {
		char text[512];

		core_fault_text(f, text, sizeof(text));
		(void)fprintf(stderr, "broken contract: %s\n", text);
		abort();
	}
#endif
	core_stand_in(c, rq, now);
}

bool core_blame_policy(struct core *c, struct core_task *t, cr_ns now)
{
	const struct core_flaw flaw = {
		.callback = "pick",
		.what = "nothing while a task waited, for too long",
		.cpu = -1,
		.task = &t->task,
	};
	struct cr_rq *rq = t->task.rq;

	if (t->task.state != CR_QUEUED || rq->sched == &c->spare)
		return false;
	core_advance(c, rq, now);
	core_blame(c, rq, &flaw, now);
	return true;
}

bool core_replaced(const struct core *c)
{
	for (unsigned i = 0; i < c->sched.nrq; i++)
		if (c->rq[i].sched == &c->spare)
			return true;
	return false;
}
