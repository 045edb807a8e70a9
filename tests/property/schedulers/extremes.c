/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bad and odd input under every registered policy: options at and beyond their
 * bounds, no task at all, one on 256 CPUs, costs above periods, turns longer
 * than periods, nice levels and weights at their ends. Either a clear refusal
 * or the right answer.
 */
#include <errno.h>

#include "base/field.h"
#include "schedulers/registry.h"
#include "sim_rig.h"

#define PERIOD (10 * CR_MS)

static bool idles_by_rule(const struct cr_sched_ops *ops)
{
	return ops->flags & CR_F_IDLES;
}

static cr_ns busy(const struct sim_rig *rig)
{
	cr_ns sum = 0;

	for (unsigned c = 0; c < rig->cfg.core.ncpu; c++)
		sum += sim_cpu_stats(rig->sim, c).busy;
	return sum;
}

/* --- options --- */

static void is_refused(const struct cr_sched_ops *ops, const char *opts,
		       const char *says)
{
	struct core_config cfg = { .ops = ops, .opts = opts, .ncpu = 1 };
	struct core *core = NULL;
	struct cr_err e = { "" };

	assert_int_equal(core_open(&core, &cfg, 0, &e), -EINVAL);
	assert_null(core);
	if (!strstr(e.text, says))
		fail_msg("%s,%s: '%s' does not say '%s'", ops->name, opts,
			 e.text, says);
}

static void value_is_refused(const struct cr_sched_ops *ops,
			     const struct cr_opt *o, const char *value)
{
	char opts[128], says[128];

	(void)snprintf(opts, sizeof(opts), "%s=%s", o->name, value);
	(void)snprintf(says, sizeof(says), "%s=%s: ", o->name, value);
	is_refused(ops, opts, says);
}

static void row_is_guarded(const struct cr_sched_ops *ops,
			   const struct cr_opt *o)
{
	char text[64], twice[200];

	value_is_refused(ops, o, "x");
	value_is_refused(ops, o, "1 2");
	option_format(o, o->dflt, text, sizeof(text));
	(void)snprintf(twice, sizeof(twice), "%s=%s,%s=%s", o->name, text,
		       o->name, text);
	is_refused(ops, twice, "given twice");
	is_refused(ops, o->name, "write key=value");
	if (o->kind == CR_OPT_ENUM || o->kind == CR_OPT_BOOL)
		return;
	value_is_refused(ops, o, "-1000000s");
	option_format(o, o->min - 1, text, sizeof(text));
	value_is_refused(ops, o, text);
	option_format(o, o->max + 1, text, sizeof(text));
	value_is_refused(ops, o, text);
	if (o->kind == CR_OPT_TIME)
		value_is_refused(ops, o, "5");
}

static void nonsensical_options_are_refused_by_name(void **state)
{
	for (unsigned p = 0; cr_schedulers[p]; p++) {
		const struct cr_sched_ops *ops = cr_schedulers[p];

		is_refused(ops, "no-such-option=1", "no-such-option");
		for (const struct cr_opt *o = ops->opts; o && o->name; o++)
			row_is_guarded(ops, o);
	}
}

/* --- what an option may be, it may be: turns longer than periods, too --- */

/* Two tasks of a tenth of a CPU each: refused when they come, with a reason, or
 * never late. */
static void is_served(const struct cr_sched_ops *ops, const char *opts)
{
	struct sim_rig *rig = rig_new(ops, opts, 1, 2);

	rig->cfg.core.admission = true;
	for (unsigned i = 0; i < 2; i++)
		(void)rig_add(rig, PERIOD, PERIOD / 10);
	if (rig->ntasks != 2 && !ops->admit)
		fail_msg("%s,%s does not take a tenth of a CPU", ops->name,
			 opts);
	sim_run(rig->sim, 10 * PERIOD);
	for (unsigned i = 0; i < rig->ntasks; i++)
		if (rig->task[i].done != 10 || rig->task[i].missed)
			fail_msg("%s,%s: %llu of 10 done, %llu late", ops->name,
				 opts, (unsigned long long)rig->task[i].done,
				 (unsigned long long)rig->task[i].missed);
	rig_finish(rig);
}

static void options_at_their_bounds_serve(void **state)
{
	char opts[128], value[64];

	for (unsigned p = 0; cr_schedulers[p]; p++) {
		const struct cr_sched_ops *ops = cr_schedulers[p];

		is_served(ops, "");
		for (const struct cr_opt *o = ops->opts; o && o->name; o++)
			for (unsigned top = 0; top < 2; top++) {
				option_format(o, top ? o->max : o->min, value,
					      sizeof(value));
				(void)snprintf(opts, sizeof(opts), "%s=%s",
					       o->name, value);
				is_served(ops, opts);
			}
	}
}

/* The verdict on one task of @cost every PERIOD. */
static int verdict(const struct cr_sched_ops *ops, const char *opts, cr_ns cost,
		   struct cr_verdict *v)
{
	struct core_config cfg = { .ops = ops,
				   .opts = opts,
				   .ncpu = 1,
				   .admission = true,
				   .preemptible = true };
	struct cr_task t = { .cls = CR_SOFT,
			     .period = PERIOD,
			     .rel_deadline = PERIOD,
			     .cost = { .mean = cost, .p99 = cost },
			     .weight = 1024 };
	struct core *core;
	int rc;

	cr_cpus_add(&t.cpus, 0);
	assert_int_equal(core_open(&core, &cfg, 0, NULL), 0);
	rc = core_admit(core, &t, v);
	core_close(core);
	return rc;
}

/* A slot of 11 ms cannot be had once in 10. */
static void pfair_refuses_quanta_above_the_period(void **state)
{
	static const char *const names[] = { "pf", "pd", "pd2" };
	struct cr_verdict v;

	for (unsigned i = 0; i < 3; i++) {
		const struct cr_sched_ops *ops;
		const char *opts;

		assert_int_equal(cr_scheduler_find(names[i], &ops, &opts, NULL),
				 0);
		assert_int_equal(verdict(ops, "quantum=11ms", CR_MS, &v),
				 -ENOSPC);
		assert_non_null(strstr(v.rule, "quantum within the period"));
		assert_int_equal(verdict(ops, "quantum=10ms", CR_MS, &v), 0);
	}
}

/* --- loads --- */

static void no_task_is_no_work(void **state)
{
	for (unsigned p = 0; cr_schedulers[p]; p++) {
		struct sim_rig *rig =
			rig_new(cr_schedulers[p], NULL, CR_MAX_CPUS, 1);

		if (cr_schedulers[p]->flags & CR_F_ONE_CPU)
			rig->cfg.core.cpus_per_rq = 1;
		rig_start(rig);
		sim_run(rig->sim, 3600 * CR_SEC);
		assert_int_equal(busy(rig), 0);
		assert_int_equal(core_ntasks(sim_core(rig->sim),
					     core_rq(sim_core(rig->sim), 0)),
				 0);
		rig_finish(rig);
	}
}

/* Global, partitioned, and clusters that do not divide 256. */
static void one_task_on_256_cpus_is_in_time(void **state)
{
	static const unsigned domains[] = { 0, 1, 37 };

	for (unsigned p = 0; cr_schedulers[p]; p++)
		for (unsigned d = 0; d < 3; d++) {
			struct sim_rig *rig =
				rig_new(cr_schedulers[p], NULL, CR_MAX_CPUS, 1);
			struct rig_task *r;

			rig->cfg.core.admission = true;
			rig->cfg.core.cpus_per_rq =
				cr_schedulers[p]->flags & CR_F_ONE_CPU
					? 1
					: domains[d];
			r = rig_add(rig, PERIOD, PERIOD / 4);
			assert_non_null(r);
			sim_run(rig->sim, 100 * PERIOD + 1);
			assert_int_equal(r->done, 100);
			assert_int_equal(r->missed, 0);
			assert_int_equal(busy(rig), 25 * PERIOD);
			rig_finish(rig);
		}
}

static void costs_above_the_period_are_refused_with_figures(void **state)
{
	struct cr_verdict v;

	for (unsigned p = 0; cr_schedulers[p]; p++) {
		const struct cr_sched_ops *ops = cr_schedulers[p];

		v = (struct cr_verdict){ 0 };
		assert_int_equal(verdict(ops, NULL, 15 * CR_MS, &v), -ENOSPC);
		assert_true(v.rule && v.rule[0]);
		/* edf-hsb keeps a tenth for best effort */
		assert_in_range(v.free_ppm, CR_PPM * 9 / 10, CR_PPM);
		assert_true(v.need_ppm >= CR_PPM);
		assert_int_equal(verdict(ops, NULL, PERIOD / 2, &v), 0);
	}
}

static void comes_now(struct rig_task *r)
{
	r->offset = sim_now(r->rig->sim);
}

/* Without admission all they can get is a CPU, and they get all of it. */
static void costs_above_the_period_fill_the_cpu(void **state)
{
	for (unsigned p = 0; cr_schedulers[p]; p++) {
		struct sim_rig *rig = rig_new(cr_schedulers[p], NULL, 1, 2);
		struct rig_task *r = rig_add(rig, PERIOD, 15 * CR_MS);

		sim_run(rig->sim, 300 * CR_MS + 1);
		assert_int_equal(r->done, 20);
		assert_int_equal(r->missed, 20);
		assert_int_equal(r->arrived, 31);
		(void)rig_add_with(rig, PERIOD, 25 * CR_MS, comes_now);
		sim_run(rig->sim, 3 * CR_SEC);
		if (!idles_by_rule(cr_schedulers[p]))
			assert_true(busy(rig) >= 3 * CR_SEC - 25 * CR_MS);
		rig_finish(rig);
	}
}

/* --- people --- */

static void lightest(struct rig_task *r)
{
	r->st.core.task.nice = 19;
	r->st.core.task.weight = 1;
}

static void heaviest(struct rig_task *r)
{
	r->st.core.task.nice = -20;
	r->st.core.task.weight = 100000;
}

/* There is room for both: weights cost nobody a deadline. */
static void the_ends_of_nice_and_weight_are_served(void **state)
{
	for (unsigned p = 0; cr_schedulers[p]; p++) {
		struct sim_rig *rig = rig_new(cr_schedulers[p], NULL, 1, 2);

		assert_non_null(
			rig_add_with(rig, PERIOD, PERIOD / 10, lightest));
		assert_non_null(
			rig_add_with(rig, PERIOD, PERIOD / 10, heaviest));
		sim_run(rig->sim, 1000 * PERIOD);
		for (unsigned i = 0; i < 2; i++) {
			assert_int_equal(rig->task[i].done, 1000);
			assert_int_equal(rig->task[i].missed, 0);
		}
		rig_finish(rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nonsensical_options_are_refused_by_name),
		cmocka_unit_test(options_at_their_bounds_serve),
		cmocka_unit_test(pfair_refuses_quanta_above_the_period),
		cmocka_unit_test(no_task_is_no_work),
		cmocka_unit_test(one_task_on_256_cpus_is_in_time),
		cmocka_unit_test(
			costs_above_the_period_are_refused_with_figures),
		cmocka_unit_test(costs_above_the_period_fill_the_cpu),
		cmocka_unit_test(the_ends_of_nice_and_weight_are_served),
	};

	return cmocka_run_group_tests_name("extremes", tests, NULL, NULL);
}
