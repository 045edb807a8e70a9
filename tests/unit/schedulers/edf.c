/* SPDX-License-Identifier: Apache-2.0 */
/*
 * EDF against an oracle that looks at every waiting job in every slot, EDF's
 * promise on one CPU, and its admission test number by number.
 */
#include <errno.h>

#include "schedulers/policies.h"
#include "seed.h"
#include "steps.h"

enum { MAX_JOBS = 64 };

static struct steps *new_edf(unsigned ncpu)
{
	struct steps *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->ops = &cr_sched_edf;
	s->ncpu = ncpu;
	s->preemptible = true;
	return s;
}

/* --- the oracle --- */

struct oracle_task {
	const struct step_job *job;
	unsigned njobs, next;
	cr_ns ran;
};

/* The waiting task with the earliest deadline; the smaller index when equal. */
static int oracle_pick(const struct oracle_task *t, unsigned n, cr_ns now)
{
	int best = -1;

	for (unsigned i = 0; i < n; i++) {
		if (t[i].next == t[i].njobs || t[i].job[t[i].next].at > now)
			continue;
		if (best < 0 || t[i].job[t[i].next].deadline <
					t[best].job[t[best].next].deadline)
			best = (int)i;
	}
	return best;
}

static void oracle_run(struct oracle_task *t, unsigned n, cr_ns slots,
		       char *line)
{
	for (cr_ns now = 0; now < slots; now++) {
		int i = oracle_pick(t, n, now);

		line[now] = i < 0 ? '.' : (char)('A' + i);
		if (i < 0 || ++t[i].ran < t[i].job[t[i].next].cost)
			continue;
		t[i].ran = 0;
		t[i].next++;
	}
	line[slots] = '\0';
}

static unsigned random_jobs(uint64_t *seed, struct step_job *job)
{
	unsigned n = 1 + test_below(seed, MAX_JOBS - 1);
	cr_ns at = 0;

	for (unsigned j = 0; j < n; j++) {
		at += test_below(seed, 12);
		job[j].at = at;
		job[j].cost = 1 + test_below(seed, 5);
		job[j].deadline = at + 1 + test_below(seed, 40);
	}
	return n;
}

static void edf_decides_as_the_oracle_in_every_slot(void **state)
{
	static struct step_job jobs[8][MAX_JOBS];
	static char line[STEPS_SLOTS + 1];
	uint64_t seed = test_seed();

	for (unsigned round = 0; round < 1000; round++) {
		struct oracle_task t[8] = { { 0 } };
		unsigned n = 1 + test_below(&seed, 8);
		struct steps *s = new_edf(1);

		for (unsigned i = 0; i < n; i++) {
			t[i].job = jobs[i];
			t[i].njobs = random_jobs(&seed, jobs[i]);
			steps_add(s, CR_SOFT, jobs[i], t[i].njobs);
		}
		steps_run(s, 500);
		oracle_run(t, n, 500, line);
		assert_string_equal(s->line[0], line);
		free(s);
	}
}

/* --- the promise: one CPU, U <= 1, deadlines at the period's end --- */

enum { HYPER = 2 * 2 * 2 * 3 * 5 * 2 }; /* 240; periods divide it */

static unsigned fill_periodic(struct step_job *job, cr_ns period, cr_ns cost)
{
	unsigned n = 0;

	for (cr_ns at = 0; at < 2 * HYPER; at += period)
		job[n++] = (struct step_job){ at, cost, at + period };
	return n;
}

static void edf_never_misses_on_one_cpu_up_to_full_load(void **state)
{
	static const int periods[] = { 8, 10, 12, 15, 16, 20, 24, 30, 40, 60 };
	static struct step_job jobs[STEPS_TASKS][2 * HYPER];
	uint64_t seed = test_seed();

	for (unsigned round = 0; round < 1000; round++) {
		struct steps *s = new_edf(1);
		int room = HYPER; /* of the hyperperiod's slots */

		while (s->ntasks < STEPS_TASKS && room > 0) {
			int p = periods[test_below(&seed, 10)];
			int most = room / (HYPER / p);
			int cost = 1 + (int)test_below(&seed, (unsigned)p / 2);

			if (most < 1)
				break;
			cost = cost < most ? cost : most;
			room -= cost * (HYPER / p);
			steps_add(s, CR_SOFT, jobs[s->ntasks],
				  fill_periodic(jobs[s->ntasks], p, cost));
		}
		steps_run(s, 2 * HYPER + 1);
		assert_int_equal(s->misses, 0);
		assert_true(s->completed > 0);
		free(s);
	}
}

/* --- admission --- */

struct shop {
	struct core *core;
	struct step_task task[8]; /* without jobs */
	unsigned n;
};

static void shop_open(struct shop *s, unsigned ncpu, unsigned per_rq,
		      bool preemptible)
{
	struct core_config cfg = { .ops = &cr_sched_edf,
				   .ncpu = ncpu,
				   .cpus_per_rq = per_rq,
				   .admission = true,
				   .preemptible = preemptible };

	*s = (struct shop){ 0 };
	assert_int_equal(core_open(&s->core, &cfg, 0, NULL), 0);
}

static void shop_close(struct shop *s)
{
	for (unsigned i = 0; i < 8; i++)
		if (s->task[i].core.task.rq)
			core_del(s->core, &s->task[i].core, 0);
	core_close(s->core);
}

/* The verdict for a task of @cost and @p99 every @period; it joins on a yes. */
static int ask(struct shop *s, enum cr_class cls, cr_ns cost, cr_ns period,
	       struct cr_verdict *v)
{
	struct core_task *t = &s->task[s->n].core;
	int rc;

	t->backlog = &steps_backlog;
	t->task = (struct cr_task){
		.id = s->n,
		.cls = cls,
		.period = period,
		.rel_deadline = period,
		.cost = { .mean = cost, .p99 = 2 * cost },
		.weight = 1024,
	};
	for (unsigned c = 0; c < 8; c++)
		cr_cpus_add(&t->task.cpus, c);
	rc = core_admit(s->core, &t->task, v);
	if (rc >= 0) {
		core_add(s->core, t, (unsigned)rc, 0);
		s->n++;
	}
	return rc;
}

static void admission_counts_the_longest_frame_of_anybody(void **state)
{
	struct cr_verdict v;
	struct shop s;

	shop_open(&s, 1, 0, false);
	/* 0.25 + 50/100 for its own longest frame */
	assert_int_equal(ask(&s, CR_SOFT, 25, 100, &v), 0);
	assert_int_equal(v.need_ppm, 250000);
	assert_int_equal(v.free_ppm, 500000);
	assert_int_equal(v.bound_ppm, 1000000);
	/* a best-effort frame of 76 would block the deadline of 100 too long */
	assert_int_equal(ask(&s, CR_BE, 38, 100, &v), -ENOSPC);
	assert_int_equal(v.need_ppm, 0);
	assert_int_equal(v.free_ppm, -10000);
	assert_int_equal(ask(&s, CR_BE, 37, 100, &v), 0);
	/* now 0.25 + 0.74 are taken: 0.01 is left */
	assert_int_equal(ask(&s, CR_SOFT, 3, 200, &v), -ENOSPC);
	assert_int_equal(v.free_ppm, 10000);
	assert_int_equal(ask(&s, CR_SOFT, 2, 200, &v), 0);
	shop_close(&s);
}

static void admission_rounds_against_the_task(void **state)
{
	struct cr_verdict v;
	struct shop s;

	shop_open(&s, 1, 0, false);
	assert_int_equal(ask(&s, CR_SOFT, 7, 30, &v), 0);
	assert_int_equal(v.need_ppm, 233334);
	assert_int_equal(v.free_ppm, 1000000 - 466667); /* 14/30 may block */
	shop_close(&s);
}

static void preemptive_admission_has_no_blocking(void **state)
{
	struct cr_verdict v;
	struct shop s;

	shop_open(&s, 1, 0, true);
	assert_int_equal(ask(&s, CR_SOFT, 60, 100, &v), 0);
	assert_int_equal(ask(&s, CR_BE, 1000, 100, &v), 0);
	assert_int_equal(ask(&s, CR_SOFT, 41, 100, &v), -ENOSPC);
	assert_int_equal(ask(&s, CR_SOFT, 40, 100, &v), 0);
	/* and leaving gives it back */
	core_del(s.core, &s.task[0].core, 0);
	assert_int_equal(ask(&s, CR_SOFT, 60, 100, &v), 0);
	shop_close(&s);
}

/* Hard tasks: the worst case, and on two CPUs the bound M - (M - 1) umax. */
static void hard_tasks_count_in_full_and_fear_dhall(void **state)
{
	struct cr_verdict v;
	struct shop s;

	shop_open(&s, 2, 0, true);
	assert_int_equal(ask(&s, CR_HARD, 40, 100, &v), 0); /* p99: 0.8 */
	assert_int_equal(v.need_ppm, 800000);
	/* room is 2 - 0.8 = 1.2, 0.4 are left, for two worst cases of 0.2 */
	assert_int_equal(ask(&s, CR_SOFT, 21, 100, &v), -ENOSPC);
	assert_int_equal(ask(&s, CR_SOFT, 20, 100, &v), 0);
	assert_int_equal(ask(&s, CR_SOFT, 1, 100, &v), -ENOSPC);
	shop_close(&s);
}

static void partitioned_queues_are_filled_evenly(void **state)
{
	struct cr_verdict v;
	struct shop s;

	shop_open(&s, 2, 1, true);
	assert_int_equal(ask(&s, CR_SOFT, 60, 100, &v), 0);
	assert_int_equal(ask(&s, CR_SOFT, 30, 100, &v), 1);
	assert_int_equal(ask(&s, CR_SOFT, 20, 100, &v), 1);
	/* 0.9 in sum is left, but in no queue more than 0.5 */
	assert_int_equal(ask(&s, CR_SOFT, 51, 100, &v), -ENOSPC);
	assert_int_equal(v.free_ppm, 500000);
	assert_int_equal(ask(&s, CR_SOFT, 50, 100, &v), 1);
	shop_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(edf_decides_as_the_oracle_in_every_slot),
		cmocka_unit_test(edf_never_misses_on_one_cpu_up_to_full_load),
		cmocka_unit_test(admission_counts_the_longest_frame_of_anybody),
		cmocka_unit_test(admission_rounds_against_the_task),
		cmocka_unit_test(preemptive_admission_has_no_blocking),
		cmocka_unit_test(hard_tasks_count_in_full_and_fear_dhall),
		cmocka_unit_test(partitioned_queues_are_filled_evenly),
	};

	return cmocka_run_group_tests_name("edf", tests, NULL, NULL);
}
