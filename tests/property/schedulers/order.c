/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edf and rm on any number of CPUs against an oracle that looks at every
 * waiting job at every instant: the M first by the policy's key run.
 */
#include "schedulers/policies.h"
#include "task_set_rig.h"

enum { SETS = TEST_TRIES(1000), UNTIL = 200 };

struct rule {
	const struct cr_sched_ops *ops;
	/* does @a's oldest job, its @ka-th, go before @b's? */
	bool (*before)(const struct set_task *a, uint64_t ka,
		       const struct set_task *b, uint64_t kb);
	unsigned ncpu;
};

struct oracle {
	uint64_t done[TASK_SET_MAX];
	cr_ns ran[TASK_SET_MAX];
	bool runs[TASK_SET_MAX];
};

static cr_ns due(const struct set_task *t, uint64_t k)
{
	return t->cls == CR_BE ? CR_NEVER : (cr_ns)k * t->period + t->deadline;
}

static bool by_deadline(const struct set_task *a, uint64_t ka,
			const struct set_task *b, uint64_t kb)
{
	return due(a, ka) != due(b, kb) ? due(a, ka) < due(b, kb) : a < b;
}

static cr_ns rank(const struct set_task *t, uint64_t k)
{
	return t->cls == CR_BE ? (cr_ns)k * t->period : t->period;
}

static bool by_class_and_period(const struct set_task *a, uint64_t ka,
				const struct set_task *b, uint64_t kb)
{
	if (a->cls != b->cls)
		return a->cls < b->cls;
	return rank(a, ka) != rank(b, kb) ? rank(a, ka) < rank(b, kb) : a < b;
}

/* The first that waits at @now and was not chosen; or -1. */
static int first(const struct oracle *o, const struct task_set *set,
		 const struct rule *rule, cr_ns now)
{
	int best = -1;

	for (unsigned i = 0; i < set->n; i++) {
		const struct set_task *t = &set->task[i];

		if (o->runs[i] || (cr_ns)o->done[i] * t->period > now)
			continue;
		if (best < 0 || rule->before(t, o->done[i], &set->task[best],
					     o->done[best]))
			best = (int)i;
	}
	return best;
}

/* Who runs from @now on for a slot. */
static void step(struct oracle *o, const struct task_set *set,
		 const struct rule *rule, cr_ns now)
{
	for (unsigned i = 0; i < set->n; i++) {
		if (o->runs[i] && ++o->ran[i] == set->task[i].cost) {
			o->ran[i] = 0;
			o->done[i]++;
		}
		o->runs[i] = false;
	}
	for (unsigned c = 0; c < rule->ncpu; c++) {
		int i = first(o, set, rule, now);

		if (i >= 0)
			o->runs[i] = true;
	}
}

static bool differs(const struct task_set *set, void *arg)
{
	const struct rule *rule = arg;
	struct sim_rig *rig =
		rig_new(rule->ops, NULL, rule->ncpu, TASK_SET_MAX);
	struct oracle o = { 0 };
	bool same = true;

	(void)rig_add_set(rig, set);
	for (cr_ns now = 0; now < UNTIL && same; now++) {
		sim_run(rig->sim, now + 1);
		step(&o, set, rule, now);
		for (unsigned i = 0; i < set->n; i++)
			same = same &&
			       o.runs[i] == (rig->task[i].st.core.task.state ==
					     CR_RUNNING);
	}
	rig_free(rig);
	return !same;
}

static void follows(struct rule rule)
{
	struct task_set_property p = { rule.ops->name, differs, &rule };

	for (rule.ncpu = 1; rule.ncpu <= 4; rule.ncpu++) {
		struct task_set_shape shape = { .tasks = { 2, 16 },
						.util_ppm = rule.ncpu * CR_PPM,
						.period = { 3, 40 },
						.constrained = true,
						.mixed = true };

		task_set_try(SETS, &shape, &p);
	}
}

static void edf_runs_the_earliest_deadlines(void **state)
{
	(void)state;
	follows((struct rule){ .ops = &cr_sched_edf, .before = by_deadline });
}

static void rm_runs_the_highest_priorities(void **state)
{
	(void)state;
	follows((struct rule){ .ops = &cr_sched_rm,
			       .before = by_class_and_period });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(edf_runs_the_earliest_deadlines),
		cmocka_unit_test(rm_runs_the_highest_priorities),
	};

	return cmocka_run_group_tests_name("order", tests, NULL, NULL);
}
