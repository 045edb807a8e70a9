/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes of tasks under every registered policy. Refused ones leave the
 * schedule as it would have been: two simulations of the same tasks stay equal,
 * step by step, though one of them is asked for impossible changes all the
 * time. Accepted ones lose no job and double none.
 */
#include <errno.h>

#include "cmocka_cr.h"
#include "schedulers/registry.h"
#include "seed.h"
#include "sim_rig.h"

enum { TASKS = 16, CPUS = 3, STEPS = 400 };

struct kind {
	unsigned per_rq;
	enum sim_preempt preempt;
};

/* Random, but the same for the same seed. */
static void dress(struct rig_task *r)
{
	struct cr_task *t = &r->st.core.task;
	uint64_t *seed = (uint64_t *)(uintptr_t)r->rig->user;

	t->cls = (enum cr_class)test_below(seed, 3);
	t->nice = (int)test_below(seed, 40) - 20;
	t->weight = 1 + test_below(seed, 4096);
	t->contract.largest = r->cost + (cr_ns)test_below(seed, 1000);
	r->offset = (cr_ns)test_below(seed, 100000);
}

static struct sim_rig *world(const struct cr_sched_ops *ops,
			     const struct kind *k, uint64_t seed)
{
	struct sim_rig *rig = rig_new(ops, NULL, CPUS, TASKS);

	rig->cfg.core.cpus_per_rq = k->per_rq;
	rig->cfg.core.admission = true;
	rig->cfg.preempt = k->preempt;
	rig->user = &seed;
	for (unsigned i = 0; i < TASKS; i++) {
		cr_ns period = 1000000 * (1 + (cr_ns)test_below(&seed, 8));

		(void)rig_add_with(rig, period, period / 64, dress);
	}
	rig->user = NULL;
	assert_true(rig->ntasks > 3);
	return rig;
}

static struct core_terms terms_of(const struct cr_task *t)
{
	return (struct core_terms){
		.cls = t->cls,
		.rel_deadline = t->rel_deadline,
		.cost = t->cost,
		.nice = t->nice,
		.weight = t->weight,
		.contract = t->contract,
	};
}

static void must_equal(struct sim_rig *a, struct sim_rig *b)
{
	for (unsigned c = 0; c < CPUS; c++)
		assert_int_equal(rig_running(a, c), rig_running(b, c));
	for (unsigned i = 0; i < a->ntasks; i++) {
		const struct rig_task *x = &a->task[i], *y = &b->task[i];

		assert_int_equal(x->st.core.task.state, y->st.core.task.state);
		assert_int_equal(x->st.core.task.job.ran,
				 y->st.core.task.job.ran);
		assert_int_equal(x->arrived, y->arrived);
		assert_int_equal(x->done, y->done);
		assert_int_equal(x->response, y->response);
	}
}

static void must_be_as_before(struct sim_rig *rig, const struct cr_rq *before)
{
	for (unsigned i = 0; i < core_nrq(sim_core(rig->sim)); i++)
		assert_memory_equal(core_rq(sim_core(rig->sim), i), &before[i],
				    sizeof(before[i]));
}

/* More than all CPUs can do, or nonsense. */
static void ask_for_too_much(struct sim_rig *rig, uint64_t *seed)
{
	struct cr_rq rqs[CPUS];
	struct rig_task *r = &rig->task[test_below(seed, rig->ntasks)];
	struct cr_task before = r->st.core.task;
	struct core_terms to = terms_of(&before);
	bool nonsense = test_below(seed, 2);
	struct cr_verdict v;
	int rc;

	for (unsigned i = 0; i < core_nrq(sim_core(rig->sim)); i++)
		memcpy(&rqs[i], core_rq(sim_core(rig->sim), i), sizeof(rqs[i]));
	if (nonsense) {
		to.weight = 0;
	} else {
		to.cls = CR_HARD;
		to.cost.mean = to.cost.p99 = 10 * before.period;
		to.contract.largest = 0;
	}
	rc = sim_change(rig->sim, &r->st, &to, &v);
	assert_true(rc == -EINVAL || (rc == -ENOSPC && !nonsense));
	assert_non_null(v.rule);
	assert_memory_equal(&before, &r->st.core.task, sizeof(before));
	must_be_as_before(rig, rqs);
}

static void one_pair(const struct cr_sched_ops *ops, const struct kind *k,
		     uint64_t seed)
{
	struct sim_rig *a = world(ops, k, seed), *b = world(ops, k, seed);

	print_message("CR_SEED=%" PRIu64 ": %s\n", test_run_seed(), ops->name);
	assert_int_equal(a->ntasks, b->ntasks);
	for (unsigned i = 0; i < STEPS; i++) {
		cr_ns to = sim_now(a->sim) + 1 + test_below(&seed, 90000);

		sim_run(a->sim, to);
		sim_run(b->sim, to);
		must_equal(a, b);
		ask_for_too_much(b, &seed);
		must_equal(a, b);
	}
	rig_free(a);
	rig_free(b);
}

static void every_policy(void (*run)(const struct cr_sched_ops *ops,
				     const struct kind *k, uint64_t seed))
{
	static const unsigned domains[] = { 0, 1, 2 };
	uint64_t seed = test_seed();

	for (unsigned p = 0; cr_schedulers[p]; p++)
		for (unsigned i = 0; i < 6; i++) {
			struct kind k = { domains[i % 3],
					  i / 3 ? SIM_FULL : SIM_FRAME };

			if (k.per_rq != 1 &&
			    cr_schedulers[p]->flags & CR_F_ONE_CPU)
				continue;
			run(cr_schedulers[p], &k, test_random(&seed));
		}
}

static void a_refused_change_leaves_the_schedule_as_it_was(void **state)
{
	every_policy(one_pair);
}

/* --- accepted ones --- */

static void change_anything(struct sim_rig *rig, uint64_t *seed,
			    unsigned *changed)
{
	struct rig_task *r = &rig->task[test_below(seed, rig->ntasks)];
	struct cr_task *t = &r->st.core.task;
	struct core_terms to = terms_of(t);
	struct cr_verdict v;

	to.cls = (enum cr_class)test_below(seed, 3);
	to.nice = (int)test_below(seed, 40) - 20;
	to.weight = 1 + test_below(seed, 4096);
	to.cost.mean = to.cost.p99 =
		t->period / (32 + (cr_ns)test_below(seed, 64));
	to.contract.largest = to.cost.mean;
	if (sim_change(rig->sim, &r->st, &to, &v))
		return;
	(*changed)++;
	assert_int_equal(t->cls, to.cls);
	/* asking for what it has is never too much */
	to = terms_of(t);
	assert_int_equal(sim_change(rig->sim, &r->st, &to, &v), 0);
}

static void one_world(const struct cr_sched_ops *ops, const struct kind *k,
		      uint64_t seed)
{
	struct sim_rig *rig = world(ops, k, seed);
	unsigned changed = 0;

	for (unsigned i = 0; i < STEPS; i++) {
		sim_run(rig->sim,
			sim_now(rig->sim) + 1 + test_below(&seed, 90000));
		change_anything(rig, &seed, &changed);
	}
	assert_true(changed > STEPS / 10);
	for (unsigned i = 0; i < rig->ntasks; i++) {
		const struct rig_task *r = &rig->task[i];
		bool started = r->st.started;

		assert_true(r->arrived > 0);
		assert_int_equal(r->done + started, r->claimed);
		assert_true(r->claimed <= r->arrived);
		assert_int_equal(r->cancelled, 0);
	}
	rig_free(rig);
}

static void an_accepted_change_loses_no_job(void **state)
{
	every_policy(one_world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_refused_change_leaves_the_schedule_as_it_was),
		cmocka_unit_test(an_accepted_change_loses_no_job),
	};

	return cmocka_run_group_tests_name("change", tests, NULL, NULL);
}
