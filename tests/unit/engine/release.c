/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Release models: deadlines and logical arrivals, number by number.
 */
#include <errno.h>
#include <string.h>

#include "cmocka_cr.h"
#include "engine/release.h"

struct want {
	cr_ns arrival, eligible, deadline;
};

static void check(const struct release_cfg *cfg, const struct want *w,
		  unsigned n, uint64_t violations)
{
	struct cr_err e = { "" };
	struct release r;

	assert_int_equal(release_init(&r, cfg, &e), 0);
	for (unsigned i = 0; i < n; i++) {
		struct release_times t = release_arrival(&r, w[i].arrival);

		if (t.eligible != w[i].eligible || t.deadline != w[i].deadline)
			fail_msg("frame %u at %lld: eligible %lld deadline "
				 "%lld, not %lld %lld",
				 i, (long long)w[i].arrival,
				 (long long)t.eligible, (long long)t.deadline,
				 (long long)w[i].eligible,
				 (long long)w[i].deadline);
	}
	assert_int_equal(r.violations, violations);
}

#define CHECK(cfg, w, violations)                                              \
	check((cfg), (w), sizeof(w) / sizeof((w)[0]), (violations))

static const struct release_cfg rate = {
	.kind = RELEASE_RATE, .period = 2, .rel_deadline = 6, .x = 3, .y = 6
};

/* Thesis Fig. 4.3: at the expected rate every deadline is release + d. */
static void rate_based_even_releases(void **state)
{
	static const struct want w[] = {
		{ 0, 0, 6 },  { 2, 2, 8 },    { 4, 4, 10 },   { 6, 6, 12 },
		{ 8, 8, 14 }, { 10, 10, 16 }, { 12, 12, 18 }, { 14, 14, 20 },
	};

	(void)state;
	CHECK(&rate, w, 0);
}

/*
 * Thesis Fig. 4.4: what comes early gets the deadline of the window it would
 * have come in, D(i) = max(t + d, D(i - 3) + 6); a pause ends the shift.
 */
static void rate_based_bursts(void **state)
{
	static const struct want w[] = {
		/* the first window's worth, at once */
		{ 0, 0, 6 },
		{ 0, 0, 6 },
		{ 0, 0, 6 },
		/* four more too early: pushed to the second and third window */
		{ 1, 1, 12 },
		{ 1, 1, 12 },
		{ 3, 3, 12 },
		{ 3, 3, 18 },
		/* on time again, but the past three still count */
		{ 11, 11, 18 },
		{ 12, 12, 18 },
		{ 17, 17, 24 },
		/* after a pause: release + d */
		{ 40, 40, 46 },
		{ 41, 41, 47 },
	};

	(void)state;
	CHECK(&rate, w, 0);
}

/* The window moves by y, whatever the relative deadline is. */
static void rate_based_short_deadlines(void **state)
{
	static const struct release_cfg cfg = { .kind = RELEASE_RATE,
						.period = 5,
						.rel_deadline = 3,
						.x = 2,
						.y = 10 };
	static const struct want w[] = {
		{ 0, 0, 3 },  { 0, 0, 3 },    { 0, 0, 13 },
		{ 1, 1, 13 }, { 30, 30, 33 },
	};

	(void)state;
	CHECK(&cfg, w, 0);
}

/* l(0) = a(0); l(i) = max(a(i), l(i-1) + 1/R). */
static void lbap_smooths_to_the_rate(void **state)
{
	static const struct release_cfg cfg = { .kind = RELEASE_LBAP,
						.period = 20,
						.rel_deadline = 50,
						.burst = 2 };
	static const struct want w[] = {
		{ 100, 100, 150 },
		/* two ahead of time: allowed */
		{ 100, 120, 170 },
		{ 100, 140, 190 },
		/* a third one is beyond the burst: counted, still smoothed */
		{ 100, 160, 210 },
		/* 1 ns early is early */
		{ 139, 180, 230 },
		{ 160, 200, 250 },
		{ 500, 500, 550 },
		{ 520, 520, 570 },
	};

	(void)state;
	CHECK(&cfg, w, 2);
}

static void sporadic_keeps_a_period_apart(void **state)
{
	static const struct release_cfg cfg = { .kind = RELEASE_SPORADIC,
						.period = 20,
						.rel_deadline = 20 };
	static const struct want w[] = {
		{ 5, 5, 25 },
		{ 24, 25, 45 },
		{ 46, 46, 66 },
		{ 200, 200, 220 },
	};

	(void)state;
	CHECK(&cfg, w, 0);
}

/* Early frames wait for their place on the grid, late ones count as they come
 * and do not move the grid. */
static void periodic_stays_on_its_grid(void **state)
{
	static const struct release_cfg cfg = { .kind = RELEASE_PERIODIC,
						.period = 20,
						.rel_deadline = 10 };
	static const struct want w[] = {
		{ 7, 7, 17 },	{ 20, 27, 37 }, { 55, 55, 65 },
		{ 60, 67, 77 }, { 87, 87, 97 },
	};

	(void)state;
	CHECK(&cfg, w, 0);
}

static void check_refused(struct release_cfg cfg, const char *says)
{
	struct cr_err e = { "" };
	struct release r;

	assert_int_equal(release_init(&r, &cfg, &e), -EINVAL);
	assert_non_null(strstr(e.text, says));
}

static void nonsense_is_refused(void **state)
{
	struct release_cfg c = rate;

	(void)state;
	c.period = 0;
	check_refused(c, "rate: period > 0");
	c = rate;
	c.rel_deadline = -1;
	check_refused(c, "relative deadline > 0");
	c = rate;
	c.x = RELEASE_MAX_X + 1;
	check_refused(c, "x from 1 to 64");
	c.x = 0;
	check_refused(c, "x from 1 to 64");
	c.kind = (enum release_kind)9;
	check_refused(c, "no release model 9");
}

static void kinds_have_names(void **state)
{
	(void)state;
	assert_int_equal(release_kind_find("rate"), RELEASE_RATE);
	assert_int_equal(release_kind_find("lbap"), RELEASE_LBAP);
	assert_int_equal(release_kind_find("sporadic"), RELEASE_SPORADIC);
	assert_int_equal(release_kind_find("periodic"), RELEASE_PERIODIC);
	assert_int_equal(release_kind_find("rated"), -1);
}

/* A thousand frames at once, then the agreed rate again: what was ahead stays
 * within bounds, and is made up for as soon as there is time. */
static void a_flood_is_forgotten(void **state)
{
	static const enum release_kind kinds[] = { RELEASE_SPORADIC,
						   RELEASE_PERIODIC,
						   RELEASE_LBAP, RELEASE_RATE };

	(void)state;
	for (unsigned k = 0; k < 4; k++) {
		const struct release_cfg cfg = { .kind = kinds[k],
						 .period = 20,
						 .rel_deadline = 20,
						 .x = 1,
						 .y = 20,
						 .ahead_max = 160 };
		struct release_times t;
		struct cr_err e = { "" };
		struct release r;

		assert_int_equal(release_init(&r, &cfg, &e), 0);
		for (unsigned i = 0; i < 1000; i++)
			t = release_arrival(&r, 1000);
		assert_int_equal(t.deadline, 1000 + 160 + 20);
		t = release_arrival(&r, 1020);
		assert_int_equal(t.deadline, 1020 + 160 + 20);
		t = release_arrival(&r, 1200);
		assert_int_equal(t.deadline, 1200 + 20);
		t = release_arrival(&r, 2000);
		assert_int_equal(t.deadline, 2000 + 20);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rate_based_even_releases),
		cmocka_unit_test(rate_based_bursts),
		cmocka_unit_test(rate_based_short_deadlines),
		cmocka_unit_test(lbap_smooths_to_the_rate),
		cmocka_unit_test(sporadic_keeps_a_period_apart),
		cmocka_unit_test(periodic_stays_on_its_grid),
		cmocka_unit_test(nonsense_is_refused),
		cmocka_unit_test(kinds_have_names),
		cmocka_unit_test(a_flood_is_forgotten),
	};

	return cmocka_run_group_tests_name("release", tests, NULL, NULL);
}
