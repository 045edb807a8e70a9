/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to the kernel: the thesis's formulas on its own figures, and
 * refusals that name the nearest.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "cmocka_cr.h"
#include "engine/scheduler.h"

static struct kernel_attr attr_of(const char *spec, const struct cr_task *t)
{
	struct cr_err e = { "" };
	struct scheduler s;
	int64_t number = 0;

	if (scheduler_find(spec, &s, &e) ||
	    kernel_sched_parse(s.kernel, s.opts, &number, &e))
		fail_msg("%s", e.text);
	return kernel_attr_of(s.kernel, number, t);
}

static struct cr_task task(cr_ns cost, cr_ns period)
{
	return (struct cr_task){ .cls = CR_SOFT,
				 .period = period,
				 .cost = { .mean = cost } };
}

/* (6.1): weight 1024 is nice 0, and each step is a factor of 1.25. A call of
 * 1024 / 12e6 of a CPU weighs 1024. */
static void nice_follows_the_weight(void **state)
{
	static const struct {
		double times; /* the neutral cost */
		int nice;
	} cases[] = { { 1, 0 },	      { 1.25, -1 }, { 0.8, 1 },
		      { 3.0518, -5 }, { 1.1, 0 },   { 1.13, -1 },
		      { 1e6, -20 },   { 1e-6, 19 }, { 0, 19 } };

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double neutral = 1024 / 12e6 * 1e12;
		const struct cr_task t =
			task((cr_ns)(neutral * cases[i].times), (cr_ns)1e12);
		const struct kernel_attr a = attr_of("kernel:nice", &t);

		assert_int_equal(a.policy, SCHED_OTHER);
		assert_int_equal(a.nice, cases[i].nice);
	}
}

/* The thesis's AMR: 350 calls fill a CPU, so one weighs 12e6 / 350 = 34286. A
 * scale of 358,400 makes it neutral. */
static void amr_of_the_thesis(void **state)
{
	const struct cr_task t = task(20 * CR_MS / 350, 20 * CR_MS);

	assert_int_equal(attr_of("kernel:nice", &t).nice, -16);
	assert_int_equal(attr_of("kernel:nice,scale=358400", &t).nice, 0);
}

/* (6.2): the mean cost of a frame, and the overhead. */
static void runtime_is_cost_and_overhead(void **state)
{
	const struct cr_task t = task(60 * CR_US, 20 * CR_MS);
	const struct cr_task free_ = task(0, 20 * CR_MS);
	const struct cr_task heavy = task(19999 * CR_US, 20 * CR_MS);
	struct kernel_attr a = attr_of("kernel:deadline", &t);

	assert_int_equal(a.policy, SCHED_DEADLINE);
	assert_int_equal(a.runtime, 65 * CR_US);
	assert_int_equal(a.deadline, 20 * CR_MS);
	assert_int_equal(a.period, 20 * CR_MS);
	assert_int_equal(attr_of("kernel:deadline", &heavy).runtime,
			 20 * CR_MS);
	a = attr_of("kernel:deadline,overhead=0", &t);
	assert_int_equal(a.runtime, 60 * CR_US);
	a = attr_of("kernel:deadline,overhead=0", &free_);
	assert_int_equal(a.runtime, 1024);
}

static void real_time_calls_share_one_priority(void **state)
{
	const struct cr_task t = task(60 * CR_US, 20 * CR_MS);

	assert_int_equal(attr_of("kernel:other", &t).policy, SCHED_OTHER);
	assert_int_equal(attr_of("kernel:fifo", &t).policy, SCHED_FIFO);
	assert_int_equal(attr_of("kernel:fifo", &t).priority, 10);
	assert_int_equal(attr_of("kernel:rr", &t).policy, SCHED_RR);
	assert_int_equal(attr_of("kernel:rr,priority=42", &t).priority, 42);
}

static void best_effort_gives_way_everywhere(void **state)
{
	struct cr_task t = task(60 * CR_US, 20 * CR_MS);

	t.cls = CR_BE;
	for (unsigned i = 0; kernel_scheds[i]; i++) {
		const struct kernel_attr a =
			attr_of(kernel_scheds[i]->name, &t);

		assert_int_equal(a.policy, SCHED_OTHER);
		assert_int_equal(a.nice, 19);
		assert_int_equal(a.priority, 0);
	}
}

static void ours_are_not_the_kernels(void **state)
{
	struct scheduler s;

	for (unsigned i = 0; cr_schedulers[i]; i++) {
		assert_null(kernel_sched_find(cr_schedulers[i]->name));
		assert_int_equal(
			scheduler_find(cr_schedulers[i]->name, &s, NULL), 0);
		assert_ptr_equal(s.policy, cr_schedulers[i]);
		assert_null(s.kernel);
	}
	for (unsigned i = 0; kernel_scheds[i]; i++) {
		assert_int_equal(
			scheduler_find(kernel_scheds[i]->name, &s, NULL), 0);
		assert_ptr_equal(s.kernel, kernel_scheds[i]);
		assert_null(s.policy);
	}
}

static void refusals_name_the_way_out(void **state)
{
	static const struct {
		const char *spec, *says;
		int rc;
	} cases[] = {
		{ "kernel:deadlin", "'kernel:deadline'", -ENOENT },
		{ "kernal:rr", "'kernel:rr'", -ENOENT },
		{ "kernel:", "no scheduler 'kernel:'", -ENOENT },
		{ "kernel:other,a=1", "kernel:other:", -EINVAL },
		{ "kernel:fifo,priority=99", "priority", -EINVAL },
		{ "kernel:deadline,overhed=1us", "overhead", -EINVAL },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cr_err e = { "" };

		assert_int_equal(scheduler_check(cases[i].spec, &e),
				 cases[i].rc);
		if (!strstr(e.text, cases[i].says))
			fail_msg("'%s' lacks '%s'", e.text, cases[i].says);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nice_follows_the_weight),
		cmocka_unit_test(amr_of_the_thesis),
		cmocka_unit_test(runtime_is_cost_and_overhead),
		cmocka_unit_test(real_time_calls_share_one_priority),
		cmocka_unit_test(best_effort_gives_way_everywhere),
		cmocka_unit_test(ours_are_not_the_kernels),
		cmocka_unit_test(refusals_name_the_way_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
