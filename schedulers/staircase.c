/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Staircase: the highest level runs, and who uses up a slice goes down a step
 * (thesis 5.3.1).
 *
 * A call begins on the level of its nice value, its base, and may use one
 * slice on each level from there to the lowest. When all runnable calls have
 * used up theirs, a round is over and all get new slices; a call that used up
 * all of its own starts one level lower, with the slices of the levels above
 * it added to the first (Table 5.1):
 *
 *     round   B   B-1  B-2  B-3 ... lowest
 *       1     1    1    1    1        1
 *       2          2    1    1        1
 *       3               3    1        1
 *
 * So the k-th slice of a round, from 0, is used base + max(depth, k) levels
 * down, where depth counts the rounds used up, and ends at the lowest level.
 * For each round that passes without a call using up its slices it starts one
 * level higher again, up to its base. A round gives the same number of slices
 * wherever it starts: backlogged calls share as (levels - base).
 *
 * The thesis leaves open what a call finds that sleeps and wakes within a
 * round: here, what it left. Otherwise a short sleep would buy new slices. A
 * round in which nobody can run is over.
 *
 * Good: light calls stay near their base and are served at once, heavy ones
 * still get their share; O(1). Bad: blind to deadlines; a round lasts as many
 * slices as all calls have, so a low call waits for all of those above (rsdl
 * bounds that). With several CPUs a round may end while some still run theirs;
 * those begin the next one where they began the last.
 *
 * Live mode: no frame is cut. What a frame takes beyond its slice is charged
 * to the slices after it, and to all but one of the next round; the rest is
 * forgiven.
 */
#include "schedulers/policies.h"
#include "schedulers/stairs.h"

struct staircase_opts {
	int64_t levels, quantum;
};

struct staircase_task {
	struct stairs_task stairs; /* first: stairs.h sees it */
	unsigned depth;		   /* levels below its base where it began */
	unsigned slices;	   /* used up in this round */
	cr_ns used;		   /* of the slice under way */
};

static const struct cr_opt staircase_options[] = {
	{ .name = "levels",
	  .help = "levels that the 40 nice values are spread over",
	  .kind = CR_OPT_INT,
	  .offset = offsetof(struct staircase_opts, levels),
	  .min = 1,
	  .max = STAIRS_LEVELS,
	  .dflt = STAIRS_NICES },
	{ .name = "quantum",
	  .help = "CPU time of one slice",
	  .kind = CR_OPT_TIME,
	  .offset = offsetof(struct staircase_opts, quantum),
	  .min = 1000,
	  .max = 10 * CR_SEC,
	  .dflt = CR_MS },
	{ .name = NULL },
};

static cr_ns staircase_quantum_of(const struct cr_rq *rq)
{
	return CR_OPTS(rq, struct staircase_opts)->quantum;
}

static unsigned staircase_levels_of(const struct cr_rq *rq)
{
	return (unsigned)CR_OPTS(rq, struct staircase_opts)->levels;
}

static unsigned at_most(uint64_t a, unsigned b)
{
	return a < b ? (unsigned)a : b;
}

/* Slices of a round. */
static unsigned round_of(const struct cr_task *t)
{
	return staircase_levels_of(t->rq) -
	       CR_TASK_CONST(t, struct staircase_task)->stairs.base;
}

static unsigned staircase_level_of(const struct cr_task *t)
{
	const struct staircase_task *x =
		CR_TASK_CONST(t, struct staircase_task);

	return x->stairs.base + (x->depth > x->slices ? x->depth : x->slices);
}

static bool staircase_before(const struct cr_task *a, const struct cr_task *b,
			     cr_ns now)
{
	(void)now;
	return stairs_before(
		CR_RQ(a->rq, struct stairs),
		CR_TASK_CONST(a, struct stairs_task), staircase_level_of(a),
		CR_TASK_CONST(b, struct stairs_task), staircase_level_of(b));
}

static int staircase_rq_init(struct cr_rq *rq)
{
	stairs_init(CR_RQ(rq, struct stairs));
	return 0;
}

static void staircase_task_add(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)now;
	stairs_join(CR_RQ(rq, struct stairs), t, staircase_levels_of(rq));
}

/* Rounds have begun without @x: it gets the slices of this one. */
static void staircase_deal(struct staircase_task *x, uint64_t round, bool slept)
{
	if (slept)
		x->depth -= at_most(round - x->stairs.round, x->depth);
	x->slices = 0;
	x->used = 0;
	x->stairs.round = round;
	x->stairs.turn_over = true;
}

static void staircase_enqueue(struct cr_rq *rq, struct cr_task *t,
			      enum cr_enq why, cr_ns now)
{
	struct stairs *s = CR_RQ(rq, struct stairs);
	struct staircase_task *x = CR_TASK(t, struct staircase_task);

	if (why == CR_ENQ_RELEASE)
		stairs_wake(s);
	if (x->stairs.round < s->round)
		staircase_deal(x, s->round, why == CR_ENQ_RELEASE);
	if (x->stairs.round > s->round) /* ran ahead, where masks let it */
		x->stairs.round = s->round + 1;
	stairs_put(s, &x->stairs, staircase_level_of(t),
		   stairs_goes_on(&x->stairs, why));
	if (why != CR_ENQ_REQUEUE)
		cr_kick_worst(rq, t, staircase_before, now);
}

static void staircase_dequeue(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)now;
	stairs_take(CR_RQ(rq, struct stairs), CR_TASK(t, struct stairs_task),
		    staircase_level_of(t));
}

static struct cr_task *staircase_pick(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	struct stairs *s = CR_RQ(rq, struct stairs);
	struct cr_task *t = stairs_first(rq, s, cpu);

	if (!t)
		return NULL;
	staircase_dequeue(rq, t, now);
	s->running++;
	t->slice = staircase_quantum_of(rq) -
		   CR_TASK(t, struct staircase_task)->used;
	return t;
}

static void staircase_stop(struct cr_rq *rq, unsigned cpu, struct cr_task *t,
			   cr_ns ran, enum cr_stop why, cr_ns now)
{
	struct staircase_task *x = CR_TASK(t, struct staircase_task);
	unsigned all = round_of(t);
	cr_ns used = x->used + ran;
	uint64_t slices =
		x->slices + (uint64_t)(used / staircase_quantum_of(rq));

	(void)cpu, (void)why, (void)now;
	CR_RQ(rq, struct stairs)->running--;
	x->stairs.turn_over = slices > x->slices;
	x->used = used % staircase_quantum_of(rq);
	if (slices >= all) {
		x->depth = at_most(x->depth + 1u, all - 1);
		slices -= all;
		x->stairs.round++;
	}
	x->slices = at_most(slices, all - 1);
}

static unsigned staircase_explain(const struct cr_task *t, struct cr_kv *kv,
				  unsigned max)
{
	const struct staircase_task *x =
		CR_TASK_CONST(t, struct staircase_task);
	const struct cr_kv all[] = {
		{ "level", staircase_level_of(t), CR_KV_COUNT },
		{ "base_level", x->stairs.base, CR_KV_COUNT },
		{ "first_level", x->stairs.base + x->depth, CR_KV_COUNT },
		{ "slices_left", round_of(t) - x->slices, CR_KV_COUNT },
		{ "slice_used", x->used, CR_KV_NS },
	};

	return CR_KV_COPY(kv, max, all);
}

static bool staircase_check(const struct cr_rq *rq)
{
	struct stairs *s = CR_RQ(rq, struct stairs);
	struct cr_list_node *n;

	for (unsigned i = 0; i < 2 * STAIRS_LEVELS; i++)
		TAILQ_FOREACH (n, &s->flight[i % 2].level[i / 2], link) {
			const struct cr_task *t = cr_task_of(n);
			const struct staircase_task *x =
				CR_TASK_CONST(t, struct staircase_task);

			if (x->used < 0 ||
			    x->used >= staircase_quantum_of(rq) ||
			    x->depth >= round_of(t) || x->slices >= round_of(t))
				return false;
		}
	return stairs_check(rq, s, staircase_level_of);
}

const struct cr_sched_ops cr_sched_staircase = {
	.abi = CR_SCHED_ABI,
	.flags = CR_F_SLICED,
	.name = "staircase",
	.help = "highest level first, a level down with every slice used up",
	.rq_size = sizeof(struct stairs),
	.task_size = sizeof(struct staircase_task),
	.opts_size = sizeof(struct staircase_opts),
	.opts = staircase_options,
	.rq_init = staircase_rq_init,
	.task_add = staircase_task_add,
	.enqueue = staircase_enqueue,
	.dequeue = staircase_dequeue,
	.pick = staircase_pick,
	.stop = staircase_stop,
	.explain = staircase_explain,
	.check = staircase_check,
};
