/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads become calls: alone, shared by flows that are alike, and not where
 * somebody has said how many.
 */
#include <errno.h>
#include <string.h>

#include "campaign/plan.h"
#include "campaign_text.h"
#include "cmocka_cr.h"

enum { FLOWS = 4 };

/* a: 90 %, b: as many as a, c: 30 calls, d: as many as c. */
static const char text[] = "duration: 1s\nflows:\n"
			   "  - {name: a, load: 90%, period: 20ms, share: 1%}\n"
			   "  - {name: b, like: a, period: 20ms, share: 2%}\n"
			   "  - {name: c, count: 30, period: 20ms, share: 1%}\n"
			   "  - {name: d, like: c, period: 30ms, share: 5%}\n";

static struct campaign *parsed(void)
{
	struct campaign *c = campaign_text(text);

	assert_int_equal(c->flow_count, FLOWS);
	return c;
}

static void expect(double share_a, double share_b, double cpus, double scale,
		   const uint64_t want[FLOWS])
{
	const double share[FLOWS] = { share_a, share_b };
	uint64_t got[FLOWS] = { 0 };
	struct campaign *c = parsed();
	struct cr_err e = { "" };

	if (campaign_counts(c, share, cpus, scale, got, &e))
		fail_msg("%s", e.text);
	for (unsigned f = 0; f < FLOWS; f++)
		assert_int_equal(got[f], want[f]);
	campaign_free(c);
}

static void those_alike_share_a_load(void **state)
{
	/* 0.9 / (0.01 + 0.02) */
	expect(0.01, 0.02, 1, 1, (uint64_t[]){ 30, 30, 30, 30 });
	expect(0.01, 0.02, 2, 1, (uint64_t[]){ 60, 60, 30, 30 });
	expect(0.01, 0.02, 1, 0.5, (uint64_t[]){ 15, 15, 15, 15 });
	/* 0.9 / 0.031 = 29.03: not one too many */
	expect(0.01, 0.021, 1, 1, (uint64_t[]){ 29, 29, 30, 30 });
	/* one is the least */
	expect(5, 5, 1, 0.001, (uint64_t[]){ 1, 1, 1, 1 });
}

static void what_was_said_is_kept(void **state)
{
	const double share[FLOWS] = { 0.01, 0.02 };
	uint64_t got[FLOWS] = { 7, 0, 0, 9 };
	struct campaign *c = parsed();
	struct cr_err e;

	assert_int_equal(campaign_counts(c, share, 1, 1, got, &e), 0);
	assert_int_equal(got[0], 7);
	assert_int_equal(got[1], 7);
	assert_int_equal(got[2], 30);
	assert_int_equal(got[3], 9);
	campaign_free(c);
}

static void only_loads_need_to_know_what_a_call_takes(void **state)
{
	struct campaign *c = parsed();

	assert_true(campaign_needs_share(c, 0));
	assert_true(campaign_needs_share(c, 1));
	assert_false(campaign_needs_share(c, 2));
	assert_false(campaign_needs_share(c, 3));
	campaign_free(c);
}

static void too_many_calls_are_refused(void **state)
{
	const double share[FLOWS] = { 1e-9, 1e-9 };
	uint64_t got[FLOWS] = { 0 };
	struct campaign *c = parsed();
	struct cr_err e = { "" };

	assert_int_equal(campaign_counts(c, share, 1, 1, got, &e), -E2BIG);
	assert_non_null(strstr(e.text, "flow a: its load means more than"));
	campaign_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(those_alike_share_a_load),
		cmocka_unit_test(what_was_said_is_kept),
		cmocka_unit_test(only_loads_need_to_know_what_a_call_takes),
		cmocka_unit_test(too_many_calls_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
