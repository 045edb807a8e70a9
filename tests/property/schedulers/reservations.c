/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cbs and grub: what those get that take more than their budgets, and whether
 * the CPU idles meanwhile.
 */
#include "servers_rig.h"

/* The first task of the set never ends its first job. */
static struct load *draw_endless(const struct task_set *set)
{
	static const struct setting tame = { .worst = 1 };
	struct load *l = draw_load(set, &tame, UNTIL);

	for (unsigned i = 0; i < set->n; i++) {
		uint64_t seed = seed_of(set) + i + 1;

		l->wild[i] = i == 0;
		draw_jobs(l, i, 1, UNTIL, &seed);
	}
	l->njobs[0] = 1;
	l->job[0][0] = (struct sim_job){ 0, CR_SEC, set->task[0].period };
	return l;
}

static cr_ns service(struct sim_rig *rig)
{
	return cr_task_ran(&rig->task[0].st.core.task, sim_now(rig->sim));
}

static cr_ns busy(struct sim_rig *rig)
{
	const struct cr_cpu *c = &core_rq_of(sim_core(rig->sim), 0)->cpu[0];
	cr_ns now = sim_now(rig->sim);

	return sim_cpu_stats(rig->sim, 0).busy +
	       (c->running ? now - c->since : 0);
}

static bool takes_more_than_its_budget(const struct task_set *set, void *arg)
{
	const struct set_task *hog = &set->task[0];
	struct play p;
	bool more = false;

	if (too_much(set))
		return false;
	p = start(arg, draw_endless(set));
	for (cr_ns k = 1; k * hog->period <= UNTIL; k++) {
		sim_run(p.rig->sim, k * hog->period);
		more |= service(p.rig) != k * hog->cost;
	}
	rig_free(p.rig);
	return more;
}

/* Exactly its budget in every period, though the CPU may be idle. */
static void a_hard_reservation_is_the_budget_and_no_more(void **state)
{
	struct setting s = servers[1];
	struct task_set_property p = { name_of(&s), takes_more_than_its_budget,
				       &s };

	s.preempt = SIM_FULL;
	task_set_try(SETS, &exactly_full, &p);
}

static bool idles(const struct task_set *set, void *arg)
{
	const struct setting edf = { .ops = &cr_sched_edf,
				     .ncpu = 1,
				     .preempt = SIM_FULL };
	struct load *l;
	struct play a, b;
	bool less = false;

	if (too_much(set))
		return false;
	l = draw_load(set, arg, UNTIL);
	a = start(arg, l);
	b = start(&edf, l);
	for (cr_ns now = 5; now <= UNTIL; now += 5) {
		sim_run(a.rig->sim, now);
		sim_run(b.rig->sim, now);
		less |= busy(a.rig) != busy(b.rig);
	}
	rig_free(a.rig);
	rig_free(b.rig);
	return less;
}

static void with_soft_reservations_nobody_waits_for_an_idle_cpu(void **state)
{
	for (unsigned i = 0; i < NSERVERS; i += 2) {
		struct setting s = servers[i];
		struct task_set_property p = { name_of(&s), idles, &s };

		s.preempt = SIM_FULL;
		task_set_try(SETS, &exactly_full, &p);
	}
}

struct versus {
	const struct setting *cbs, *grub;
	unsigned more; /* sets in which grub served it sooner */
};

/* An endless job, served by cbs and by grub: never less by now. */
static bool grub_serves_less(const struct task_set *set, void *arg)
{
	struct versus *v = arg;
	struct setting cbs = *v->cbs, grub = *v->grub;
	struct play a, b;
	struct load *l;
	bool less = false, more = false;

	if (too_much(set))
		return false;
	cbs.preempt = grub.preempt = SIM_FULL;
	l = draw_endless(set);
	a = start(&cbs, l);
	b = start(&grub, l);
	for (cr_ns now = 1; now <= UNTIL; now++) {
		sim_run(a.rig->sim, now);
		sim_run(b.rig->sim, now);
		less |= service(b.rig) < service(a.rig);
		more |= service(b.rig) > service(a.rig);
	}
	rig_free(a.rig);
	rig_free(b.rig);
	v->more += more;
	return less;
}

static void an_overrun_ends_no_later_under_grub_than_under_cbs(void **state)
{
	static const struct task_set_shape shapes[] = {
		{ .tasks = { 2, 10 },
		  .util_ppm = CR_PPM,
		  .period = { 4, 60 },
		  .hyper = HYPER,
		  .full = true },
		{ .tasks = { 2, 10 },
		  .util_ppm = 600000,
		  .period = { 4, 60 },
		  .hyper = HYPER },
	};

	for (unsigned i = 0; i < 2; i++)
		for (unsigned k = 0; k < 2; k++) {
			struct versus v = { &servers[k], &servers[2 + k], 0 };
			struct task_set_property p = { name_of(v.grub),
						       grub_serves_less, &v };

			task_set_try(SETS, &shapes[i], &p);
			assert_true(v.more > SETS / 4);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hard_reservation_is_the_budget_and_no_more),
		cmocka_unit_test(
			with_soft_reservations_nobody_waits_for_an_idle_cpu),
		cmocka_unit_test(
			an_overrun_ends_no_later_under_grub_than_under_cbs),
	};

	return cmocka_run_group_tests_name("reservations", tests, NULL, NULL);
}
