/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fifo, edf and rm on any number of CPUs against an oracle that looks at every
 * waiting job at every instant: the M first by the policy's key run.
 */
#include "schedulers/policies.h"
#include "task_set_rig.h"

enum { UNTIL = 200 };
#define SETS TEST_TRIES(1000)

/* The oldest job of a task, its @k-th, its start among best effort, and when it
 * became the oldest. */
struct oldest {
	const struct set_task *task;
	uint64_t k;
	int64_t start;
	cr_ns released;
};

struct rule {
	const struct cr_sched_ops *ops;
	bool (*before)(const struct oldest *a, const struct oldest *b);
	unsigned ncpu;
};

struct oracle {
	int64_t start[TASK_SET_MAX], now; /* virtual time of best effort */
	bool waits[TASK_SET_MAX];
	cr_ns released[TASK_SET_MAX];
	uint64_t done[TASK_SET_MAX];
	cr_ns ran[TASK_SET_MAX];
	bool runs[TASK_SET_MAX];
};

static bool by_arrival(const struct oldest *a, const struct oldest *b)
{
	cr_ns x = (cr_ns)a->k * a->task->period;
	cr_ns y = (cr_ns)b->k * b->task->period;

	if (x == y) {
		x = a->released;
		y = b->released;
	}
	return x != y ? x < y : a->task < b->task;
}

static cr_ns due(const struct set_task *t, uint64_t k)
{
	return t->cls == CR_BE ? CR_NEVER : (cr_ns)k * t->period + t->deadline;
}

static bool by_deadline(const struct oldest *a, const struct oldest *b)
{
	cr_ns x = due(a->task, a->k), y = due(b->task, b->k);

	if (x == CR_NEVER && y == CR_NEVER) {
		x = a->start;
		y = b->start;
	}
	return x != y ? x < y : a->task < b->task;
}

static cr_ns rank(const struct set_task *t, uint64_t k)
{
	return t->cls == CR_BE ? (cr_ns)k * t->period : t->period;
}

static bool by_class_and_period(const struct oldest *a, const struct oldest *b)
{
	cr_ns x = rank(a->task, a->k), y = rank(b->task, b->k);

	if (a->task->cls != b->task->cls)
		return a->task->cls < b->task->cls;
	return x != y ? x < y : a->task < b->task;
}

static struct oldest oldest(const struct oracle *o, const struct task_set *set,
			    int i)
{
	return (struct oldest){ &set->task[i], o->done[i], o->start[i],
				o->released[i] };
}

/* The first that waits at @now and was not chosen; or -1. */
static int first(const struct oracle *o, const struct task_set *set,
		 const struct rule *rule, cr_ns now)
{
	int best = -1;

	for (unsigned i = 0; i < set->n; i++) {
		const struct oldest x = oldest(o, set, (int)i);
		const struct oldest y = oldest(o, set, best < 0 ? 0 : best);

		if (o->runs[i] || (cr_ns)x.k * x.task->period > now)
			continue;
		if (best < 0 || rule->before(&x, &y))
			best = (int)i;
	}
	return best;
}

/* A job of best effort starts where the last one of its task ended, but not
 * before the one that was served last (schedulers/be_share.h). */
static void start_jobs(struct oracle *o, const struct task_set *set, cr_ns now)
{
	for (unsigned i = 0; i < set->n; i++) {
		if (o->waits[i] ||
		    (cr_ns)o->done[i] * set->task[i].period > now)
			continue;
		o->waits[i] = true;
		o->released[i] = now;
		o->start[i] = cr_ns_max(o->start[i], o->now);
	}
}

/* Who runs from @now on for a slot. */
static void step(struct oracle *o, const struct task_set *set,
		 const struct rule *rule, cr_ns now)
{
	for (unsigned i = 0; i < set->n; i++) {
		if (o->runs[i] && ++o->ran[i] == set->task[i].cost) {
			o->ran[i] = 0;
			o->done[i]++;
			o->waits[i] = false;
			o->start[i] += (set->task[i].cost * 64 + 1023) / 1024;
		}
		o->runs[i] = false;
	}
	start_jobs(o, set, now);
	for (unsigned c = 0; c < rule->ncpu; c++) {
		int i = first(o, set, rule, now);

		if (i < 0)
			continue;
		o->runs[i] = true;
		if (set->task[i].cls == CR_BE)
			o->now = cr_ns_max(o->now, o->start[i]);
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

/* Without ever taking a CPU from anybody: what comes later waits, and a frame
 * that waited for its call's one before takes the CPU that this one leaves. */
static void fifo_runs_the_frames_that_wait_longest(void **state)
{
	follows((struct rule){ .ops = &cr_sched_fifo, .before = by_arrival });
}

static void edf_runs_the_earliest_deadlines(void **state)
{
	follows((struct rule){ .ops = &cr_sched_edf, .before = by_deadline });
}

static void rm_runs_the_highest_priorities(void **state)
{
	follows((struct rule){ .ops = &cr_sched_rm,
			       .before = by_class_and_period });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fifo_runs_the_frames_that_wait_longest),
		cmocka_unit_test(edf_runs_the_earliest_deadlines),
		cmocka_unit_test(rm_runs_the_highest_priorities),
	};

	return cmocka_run_group_tests_name("order", tests, NULL, NULL);
}
