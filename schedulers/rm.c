/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RM: fixed priorities, a shorter period before a longer (Liu and Layland
 * 1973), in the four levels of the 1996 paper (levels.h): guaranteed, then
 * statistical, then all that has no deadline, longest waiting first, then
 * workahead: frames before their logical arrival. Ties go to the smaller task
 * id.
 *
 * Good: in overload the longest periods of the lowest class fail, nobody else;
 * a priority never changes. Bad: up to U = 1 only with harmonic periods, 0.69
 * in the worst case; on several CPUs Dhall's effect; a statistical task with
 * the closer deadline waits for a guaranteed one (the paper's own drawback).
 *
 * workahead=hold is the paper's standard, workahead=run the version it mentions
 * beside it, which uses idle time.
 *
 * Live mode: no frame is cut, so a longer frame of anybody behind may block;
 * the admission tests (rm_admit.h) count it. With workahead=run a frame of
 * somebody before may, too, that came early. It needs no count of its own: the
 * tests count a frame of that task at least, and those with logical arrivals
 * before this one's are done.
 */
#include "schedulers/levels.h"
#include "schedulers/policies.h"
#include "schedulers/rm_admit.h"

struct rm_task {
	struct rm_member member; /* first: see rm_admit.h */
	struct level_task place; /* rank: the period */
};

_Static_assert(sizeof(struct rm_task) <= CR_TASK_PRIV, "room in a task");

struct rm_rq {
	struct rm_admitted admitted; /* first: see rm_admit.h */
	struct levels levels;
};

struct rm_opts {
	struct rm_admit_opts admit; /* first: see rm_admit.h */
	int64_t workahead;
};

static const char *const test_names[] = {
	[RM_EXACT] = "exact",
	[RM_LIU_LAYLAND] = "liu-layland",
	[RM_HYPERBOLIC] = "hyperbolic",
	NULL,
};

static const char *const workahead_names[] = { WORKAHEAD_NAMES };

static const struct cr_opt rm_options[] = {
	{ .name = "test",
	  .help = "what a task must pass to join",
	  .kind = CR_OPT_ENUM,
	  .offset = offsetof(struct rm_admit_opts, test),
	  .min = 0,
	  .max = RM_HYPERBOLIC,
	  .dflt = RM_EXACT,
	  .names = test_names },
	WORKAHEAD_OPT(offsetof(struct rm_opts, workahead), workahead_names),
	{ .name = NULL },
};

static struct levels *rm_levels_of(struct cr_rq *rq)
{
	return &CR_RQ(rq, struct rm_rq)->levels;
}

static int rm_rq_init(struct cr_rq *rq)
{
	levels_init(rm_levels_of(rq), offsetof(struct rm_task, place),
		    CR_OPTS(rq, struct rm_opts)->workahead);
	return 0;
}

static void rm_task_add(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)now;
	CR_TASK(t, struct rm_task)->place.rank =
		t->cls == CR_BE ? 0 : t->period;
	rm_join(&CR_RQ(rq, struct rm_rq)->admitted, t);
}

static void rm_task_del(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)now;
	rm_leave(&CR_RQ(rq, struct rm_rq)->admitted, t);
}

static void rm_enqueue(struct cr_rq *rq, struct cr_task *t, enum cr_enq why,
		       cr_ns now)
{
	(void)why;
	if (t->cls == CR_BE)
		CR_TASK(t, struct rm_task)->place.rank = t->job.arrival;
	levels_insert(rq, rm_levels_of(rq), t, now);
}

static void rm_dequeue(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)now;
	levels_remove(rm_levels_of(rq), t);
}

static struct cr_task *rm_pick(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	return levels_pick(rq, rm_levels_of(rq), cpu, now);
}

static void rm_stop(struct cr_rq *rq, unsigned cpu, struct cr_task *t,
		    cr_ns ran, enum cr_stop why, cr_ns now)
{
	(void)rq, (void)cpu, (void)t, (void)ran, (void)why, (void)now;
}

static void rm_tick(struct cr_rq *rq, cr_ns now)
{
	levels_promote(rq, rm_levels_of(rq), now);
}

static unsigned rm_explain(const struct cr_task *t, struct cr_kv *kv,
			   unsigned max)
{
	const struct level_task *x = &CR_TASK_CONST(t, struct rm_task)->place;
	const struct cr_kv all[] = {
		{ "level", (int64_t)x->level, CR_KV_COUNT },
		{ t->cls == CR_BE ? "waits_since" : "period", x->rank,
		  t->cls == CR_BE ? CR_KV_CLOCK_NS : CR_KV_NS },
		{ "tested_cost", rm_cost(t), CR_KV_NS },
	};

	return CR_KV_COPY(kv, max, all);
}

/* The levels are sound, and a level's cost is that of its members. */
static bool rm_check(const struct cr_rq *rq)
{
	struct rm_rq *r = CR_RQ(rq, struct rm_rq);

	return levels_check(rq, &r->levels) && rm_admitted_check(&r->admitted);
}

const struct cr_sched_ops cr_sched_rm = {
	.abi = CR_SCHED_ABI,
	.flags = CR_F_GUARANTEE | CR_F_IDLES,
	.name = "rm",
	.help = "fixed priority by class, then by period; workahead last",
	.rq_size = sizeof(struct rm_rq),
	.task_size = sizeof(struct rm_task),
	.opts_size = sizeof(struct rm_opts),
	.opts = rm_options,
	.rq_init = rm_rq_init,
	.admit = rm_admit,
	.task_add = rm_task_add,
	.task_del = rm_task_del,
	.enqueue = rm_enqueue,
	.dequeue = rm_dequeue,
	.pick = rm_pick,
	.stop = rm_stop,
	.tick = rm_tick,
	.explain = rm_explain,
	.promise = rm_promise,
	.check = rm_check,
};
