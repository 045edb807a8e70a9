/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workload contracts: what contradicts itself, what is declared to schedulers,
 * and what each class counts as under every policy.
 */
#include <errno.h>
#include <string.h>

#include "cmocka_cr.h"
#include "engine/contract.h"
#include "engine/core.h"
#include "schedulers/registry.h"

#define PER_S CR_PPM

/* Of a call of 20 ms with a deadline of 15 ms. */
static int check(const struct contract *k, enum cr_class cls,
		 enum release_kind release, struct contract_flaw *f)
{
	const struct task_terms t = { .cls = cls,
				      .deadline = 15 * CR_MS,
				      .contract = *k };

	return contract_check(&t, 20 * CR_MS, release, f);
}

static void contradictions_name_the_member_and_the_way_out(void **state)
{
	static const struct {
		struct contract k;
		enum cr_class cls;
		enum release_kind release;
		const char *member, *text;
	} bad[] = {
		{ { .burst = 2 }, CR_SOFT, 0, "burst", "give rate" },
		{ { .peak_ppm = PER_S }, CR_SOFT, 0, "peak", "give rate" },
		{ { .rate_ppm = 51 * PER_S }, CR_SOFT, 0, "rate", "(50/s)" },
		{ { .rate_ppm = 40 * PER_S, .peak_ppm = 39 * PER_S },
		  CR_SOFT,
		  0,
		  "peak",
		  "39/s is below the rate of 40/s" },
		{ { .rate_ppm = 50 * PER_S },
		  CR_SOFT,
		  RELEASE_RATE,
		  "rate",
		  "leave one of them out" },
		{ { .mean = 3, .worst = 2 }, CR_BE, 0, "mean", "worst case" },
		{ { .p99 = 3, .worst = 2 }, CR_SOFT, 0, "p99", "worst case" },
		{ { .mean = 3, .p99 = 2 }, CR_SOFT, 0, "mean", "percentile" },
		{ { .worst = 16 * CR_MS },
		  CR_HARD,
		  0,
		  "worst",
		  "16ms is above the deadline of 15ms" },
		{ { .p99 = 21 * CR_MS }, CR_HARD, 0, "p99", "take class soft" },
		{ { .mean = 16 * CR_MS }, CR_HARD, 0, "mean", "deadline" },
		{ { .mean = 21 * CR_MS }, CR_SOFT, 0, "mean", "the period" },
	};
	struct contract_flaw f;

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(
			check(&bad[i].k, bad[i].cls, bad[i].release, &f),
			-EINVAL);
		assert_string_equal(f.member, bad[i].member);
		if (!strstr(f.text, bad[i].text))
			fail_msg("%u: %s: %s", i, f.member, f.text);
	}
}

static void what_holds_together_is_taken(void **state)
{
	static const struct {
		struct contract k;
		enum cr_class cls;
	} good[] = {
		{ { 0 }, CR_HARD },
		{ { .rate_ppm = 50 * PER_S,
		    .burst = 9,
		    .peak_ppm = 50 * PER_S },
		  CR_HARD },
		{ { .rate_ppm = PER_S / 2 }, CR_SOFT },
		{ { .mean = 1, .p99 = 1, .worst = 1 }, CR_HARD },
		{ { .worst = 15 * CR_MS }, CR_HARD },
		{ { .worst = 30 * CR_MS }, CR_SOFT },
		{ { .mean = 30 * CR_MS }, CR_BE },
	};
	struct contract_flaw f;

	for (unsigned i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		if (check(&good[i].k, good[i].cls, RELEASE_SPORADIC, &f))
			fail_msg("%u: %s: %s", i, f.member, f.text);
	}
}

static void a_rate_makes_an_lbap_unless_a_model_was_named(void **state)
{
	const struct contract none = { 0 },
			      k = { .rate_ppm = 40 * PER_S, .burst = 3 };
	const struct release_cfg plain = { .kind = RELEASE_SPORADIC,
					   .period = 20 * CR_MS };
	struct release_cfg r = plain;
	struct cr_contract c;

	contract_release(&none, false, &r);
	assert_memory_equal(&r, &plain, sizeof(r));
	c = contract_promise(&none, &r);
	assert_int_equal(c.jobs, 1);
	assert_int_equal(c.per, 20 * CR_MS);
	assert_int_equal(c.burst, 0);
	contract_release(&k, true, &r);
	assert_int_equal(r.kind, RELEASE_SPORADIC);
	assert_int_equal(r.spacing, 0);
	contract_release(&k, false, &r);
	assert_int_equal(r.kind, RELEASE_LBAP);
	assert_int_equal(r.spacing, 25 * CR_MS);
	assert_int_equal(r.burst, 3);
	c = contract_promise(&k, &r);
	assert_int_equal(c.jobs, 1);
	assert_int_equal(c.per, 25 * CR_MS);
	assert_int_equal(c.burst, 3);
	r = (struct release_cfg){ .kind = RELEASE_RATE, .x = 3, .y = 70 };
	c = contract_promise(&none, &r);
	assert_int_equal(c.jobs, 3);
	assert_int_equal(c.per, 70);
}

static void a_tspec_is_passed_on_whole(void **state)
{
	const struct contract k = { .rate_ppm = 50 * PER_S,
				    .burst = 4,
				    .peak_ppm = 500 * PER_S + 1,
				    .worst = 250 * CR_US };
	const struct release_cfg r = { .kind = RELEASE_PERIODIC,
				       .period = 20 * CR_MS };
	struct cr_contract c = contract_promise(&k, &r);

	assert_int_equal(c.per, 20 * CR_MS);
	assert_int_equal(c.burst, 4);
	assert_int_equal(c.peak_jobs_per_sec, 501);
	assert_int_equal(c.largest, 250 * CR_US);
}

static void what_is_declared_goes_before_what_is_measured(void **state)
{
	static const struct cr_cost measured = { .mean = 70,
						 .p99 = 90,
						 .variance_ns2 = 25 };
	static const struct {
		struct contract k;
		struct cr_cost want;
	} rows[] = {
		{ { 0 }, { 70, 90, 25 } },
		{ { .mean = 60 }, { 60, 90, 25 } },
		{ { .mean = 100 }, { 100, 100, 25 } },
		{ { .p99 = 95 }, { 70, 95, 25 } },
		{ { .p99 = 50 }, { 50, 50, 25 } },
		{ { .worst = 250 }, { 70, 90, 25 } },
		{ { .worst = 80 }, { 70, 80, 25 } },
		{ { .worst = 50 }, { 50, 50, 0 } },
		{ { .mean = 40, .worst = 40 }, { 40, 40, 0 } },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct cr_cost c = contract_cost(&rows[i].k, &measured);

		assert_int_equal(c.mean, rows[i].want.mean);
		assert_int_equal(c.p99, rows[i].want.p99);
		assert_int_equal(c.variance_ns2, rows[i].want.variance_ns2);
	}
}

/* The demand of admission for a task of this class, by these numbers. */
static int64_t need(const struct cr_sched_ops *ops, enum cr_class cls,
		    struct cr_cost cost, cr_ns worst)
{
	const struct core_config cfg = { .ops = ops,
					 .ncpu = 1,
					 .admission = true };
	struct cr_task t = { .cls = cls,
			     .period = 20 * CR_MS,
			     .rel_deadline = 20 * CR_MS,
			     .cost = cost,
			     .weight = 1024,
			     .contract.largest = worst };
	struct cr_verdict v = { 0 };
	struct core *c;

	cr_cpus_add(&t.cpus, 0);
	assert_int_equal(core_open(&c, &cfg, 0, NULL), 0);
	(void)core_admit(c, &t, &v);
	core_close(c);
	return v.need_ppm;
}

/* 1, 2 and 4 ms in 20: 0.05, 0.1 and 0.2, whatever the policy rounds to. */
static void hard_counts_by_the_worst_case_soft_by_the_mean(void **state)
{
	const struct cr_cost cost = { .mean = CR_MS, .p99 = 2 * CR_MS };

	for (unsigned i = 0; cr_schedulers[i]; i++) {
		const struct cr_sched_ops *ops = cr_schedulers[i];

		assert_int_equal(need(ops, CR_SOFT, cost, 0), 50000);
		assert_int_equal(need(ops, CR_SOFT, cost, 4 * CR_MS), 50000);
		assert_int_equal(need(ops, CR_HARD, cost, 0), 100000);
		assert_int_equal(need(ops, CR_HARD, cost, 4 * CR_MS), 200000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			contradictions_name_the_member_and_the_way_out),
		cmocka_unit_test(what_holds_together_is_taken),
		cmocka_unit_test(a_rate_makes_an_lbap_unless_a_model_was_named),
		cmocka_unit_test(a_tspec_is_passed_on_whole),
		cmocka_unit_test(what_is_declared_goes_before_what_is_measured),
		cmocka_unit_test(
			hard_counts_by_the_worst_case_soft_by_the_mean),
	};

	return cmocka_run_group_tests_name("contract", tests, NULL, NULL);
}
