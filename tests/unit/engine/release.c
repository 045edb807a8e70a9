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

	CHECK(&cfg, w, 0);
}

static void check_refused(struct release_cfg cfg, const char *says)
{
	struct cr_err e = { "" };
	struct release r;

	assert_int_equal(release_init(&r, &cfg, &e), -EINVAL);
	assert_non_null(strstr(e.text, says));
}

/* A grid goes on from the last arrival; spacing begins with the next one. */
static void a_period_may_change(void **state)
{
	static const enum release_kind kinds[] = { RELEASE_PERIODIC,
						   RELEASE_SPORADIC };

	for (unsigned i = 0; i < 2; i++) {
		struct release_cfg cfg = { .kind = kinds[i],
					   .period = 20,
					   .rel_deadline = 20 };
		struct release r;

		assert_int_equal(release_init(&r, &cfg, NULL), 0);
		assert_int_equal(release_arrival(&r, 0).eligible, 0);
		assert_int_equal(release_arrival(&r, 5).eligible, 20);
		assert_int_equal(release_arrival(&r, 5).eligible, 40);
		cfg.period = 60;
		cfg.rel_deadline = 30;
		release_change(&r, &cfg);
		assert_int_equal(release_arrival(&r, 50).eligible, 100);
		assert_int_equal(release_arrival(&r, 150).deadline, 190);
		cfg.period = 10;
		release_change(&r, &cfg);
		assert_int_equal(release_arrival(&r, 165).eligible, 170);
		assert_int_equal(release_arrival(&r, 175).eligible, 180);
	}
}

static void nonsense_is_refused(void **state)
{
	struct release_cfg c = rate;

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

/* A thousand frames at once, then the agreed rate again: what was ahead stays
 * within bounds, and is made up for as soon as there is time. */
static void a_flood_is_forgotten(void **state)
{
	static const enum release_kind kinds[] = { RELEASE_SPORADIC,
						   RELEASE_PERIODIC,
						   RELEASE_LBAP, RELEASE_RATE };

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

/* --- a ring of frames that are held until their logical arrival --- */

enum { RING = 8, PERIOD = 20000 };

struct held {
	struct release served;
	cr_ns arrival[RING]; /* waiting, the oldest first */
	unsigned waiting, done, lost;
	cr_ns last; /* when the last one was served */
};

static struct held held_open(enum release_kind kind)
{
	struct release_cfg cfg = { .kind = kind,
				   .period = PERIOD,
				   .rel_deadline = PERIOD };
	struct held h = { .last = -PERIOD };

	assert_int_equal(release_init(&h.served, &cfg, NULL), 0);
	return h;
}

static void held_drop(struct held *h)
{
	h->waiting--;
	memmove(h->arrival, h->arrival + 1, h->waiting * sizeof(h->arrival[0]));
}

/* Serve all whose time comes up to @now. */
static void held_serve(struct held *h, cr_ns now)
{
	while (h->waiting) {
		struct release_times t =
			release_next(&h->served, h->arrival[0]);

		if (t.eligible > now)
			return;
		assert_true(t.eligible - h->last >= PERIOD);
		h->last = t.eligible;
		(void)release_arrival(&h->served, h->arrival[0]);
		held_drop(h);
		h->done++;
	}
}

static void held_push(struct held *h, cr_ns now)
{
	held_serve(h, now);
	if (h->waiting == RING) {
		held_drop(h);
		h->lost++;
	}
	h->arrival[h->waiting++] = now;
	held_serve(h, now);
}

/* A network that stops for a moment costs what the ring does not hold. */
static void after_a_burst_a_held_call_goes_on(void **state)
{
	static const enum release_kind kinds[] = { RELEASE_SPORADIC,
						   RELEASE_PERIODIC,
						   RELEASE_LBAP };

	for (unsigned k = 0; k < 3; k++) {
		struct held h = held_open(kinds[k]);

		for (unsigned i = 0; i < 3 * RING; i++)
			held_push(&h, 0);
		for (cr_ns i = 1; i <= 1000; i++)
			held_push(&h, i * PERIOD);
		assert_int_equal(h.lost, 2 * RING - 1);
		assert_int_equal(h.done + h.waiting + h.lost, 1000 + 3 * RING);
	}
}

/* A day of a sender whose clock is fast by 50 ppm: a frame is lost for every
 * period that it is ahead, once the ring is full. */
static void a_fast_clock_costs_what_it_is_ahead(void **state)
{
	struct held h = held_open(RELEASE_SPORADIC);
	unsigned n = 24 * 3600 * 50;

	for (cr_ns i = 0; i < n; i++)
		held_push(&h, i * (PERIOD - 1));
	assert_int_equal(h.lost, n / PERIOD - RING);
	assert_int_equal(h.done + h.waiting + h.lost, n);
}

/* Twice as much as agreed, and every other frame is served. */
static void a_flood_is_served_at_its_rate(void **state)
{
	struct held h = held_open(RELEASE_LBAP);

	for (cr_ns i = 0; i < 2000; i++)
		held_push(&h, i * PERIOD / 2);
	assert_int_equal(h.done, 1000);
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
		cmocka_unit_test(a_period_may_change),
		cmocka_unit_test(nonsense_is_refused),
		cmocka_unit_test(a_flood_is_forgotten),
		cmocka_unit_test(after_a_burst_a_held_call_goes_on),
		cmocka_unit_test(a_fast_clock_costs_what_it_is_ahead),
		cmocka_unit_test(a_flood_is_served_at_its_rate),
	};

	return cmocka_run_group_tests_name("release", tests, NULL, NULL);
}
