/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrival models: shapes exact where there is no chance, bounds where there is.
 */
#include "cmocka_cr.h"
#include "sim/arrival.h"

static struct campaign_flow flow;
static struct campaign campaign;
static struct plan_call call;
static struct plan plan;
static struct plan_stream stream;

/* Arrivals of a call of @frames periods of 10 ms from @start. */
static struct arrival begin(struct campaign_arrival model, cr_ns start,
			    uint64_t frames)
{
	struct arrival a;

	flow = (struct campaign_flow){ .synthetic = true,
				       .ptime = 10 * CR_MS,
				       .arrival = model };
	campaign = (struct campaign){ .flows = &flow, .flow_count = 1 };
	call = (struct plan_call){ .seed = 99,
				   .start = start,
				   .frames = frames };
	plan = (struct plan){ .campaign = &campaign,
			      .calls = &call,
			      .count = 1 };
	arrival_init(&a, &plan, &call, NULL, &stream);
	return a;
}

static void expect(struct arrival *a, const cr_ns *at, unsigned n)
{
	struct arrival_job j;

	for (unsigned i = 0; i < n; i++) {
		assert_true(arrival_next(a, &j));
		assert_int_equal(j.at, at[i] * CR_MS);
		assert_int_equal(j.frame, i);
	}
	assert_false(arrival_next(a, &j));
}

static void periodic_is_the_grid(void **state)
{
	struct arrival a =
		begin((struct campaign_arrival){ .kind = ARRIVAL_PERIODIC },
		      3 * CR_MS, 4);

	expect(&a, (const cr_ns[]){ 3, 13, 23, 33 }, 4);
}

/* With a loss that never strikes, the plan's own packets are taken. */
static void a_plan_without_network_is_the_grid(void **state)
{
	struct arrival a =
		begin((struct campaign_arrival){ .kind = ARRIVAL_PLAN },
		      3 * CR_MS, 4);
	struct arrival b;

	flow.network.reorder = 1;
	arrival_init(&b, &plan, &call, NULL, &stream);
	assert_int_equal(a.kind, ARRIVAL_PERIODIC);
	assert_int_equal(b.kind, ARRIVAL_PLAN);
	expect(&a, (const cr_ns[]){ 3, 13, 23, 33 }, 4);
	expect(&b, (const cr_ns[]){ 3, 13, 23, 33 }, 4);
}

static void a_clock_that_drifts_bends_the_grid(void **state)
{
	struct arrival a =
		begin((struct campaign_arrival){ .kind = ARRIVAL_PLAN },
		      3 * CR_MS, 4);

	flow.drift = (struct field_range){ -60000, 250000 };
	call.drift = 250000;
	arrival_init(&a, &plan, &call, NULL, &stream);
	assert_int_equal(a.kind, ARRIVAL_PLAN);
	expect(&a, (const cr_ns[]){ 3, 11, 19, 27 }, 4);
}

static void bursts_have_length_and_spacing_and_the_nominal_rate(void **state)
{
	struct arrival a =
		begin((struct campaign_arrival){ .kind = ARRIVAL_BURSTY,
						 .burst = 3,
						 .spacing = 2 * CR_MS },
		      CR_MS, 8);

	expect(&a, (const cr_ns[]){ 1, 3, 5, 31, 33, 35, 61, 63 }, 8);
}

/* 10,000 jobs are expected; five standard deviations are 500. */
static void poisson_has_the_nominal_rate_and_exponential_gaps(void **state)
{
	struct arrival a = begin(
		(struct campaign_arrival){ .kind = ARRIVAL_POISSON }, 0, 10000);
	uint64_t jobs = 0, long_gaps = 0;
	cr_ns last = 0;
	struct arrival_job j;

	for (; arrival_next(&a, &j); jobs++) {
		assert_true(j.at >= last && j.at < 100 * CR_SEC);
		long_gaps += j.at - last > 10 * CR_MS;
		last = j.at;
	}
	assert_in_range(jobs, 9500, 10500);
	/* e^-1 of them are longer than the mean */
	assert_in_range(long_gaps, 3679 - 240, 3679 + 240);
}

/* --- envelope --- */

enum { PACKETS = 3000 };

struct sent {
	cr_ns at[PACKETS], work[PACKETS];
};

/* A tenth of the CPU, a third at most, beyond it 3 ms; jobs of 20 to 500 us. */
static void send_by_envelope(struct field_range on, struct field_range off,
			     struct sent *s)
{
	struct arrival a =
		begin((struct campaign_arrival){ .kind = ARRIVAL_ENVELOPE,
						 .rate_ppm = 100000,
						 .peak_ppm = 300000,
						 .depth = 3 * CR_MS,
						 .on = on,
						 .off = off },
		      CR_MS, 100000000);
	struct cost_source draws = { .random = { 5 } };
	static struct cost_model cost;
	static struct envelope e;
	struct arrival_job j;

	flow.cost = (struct campaign_cost){ .kind = COST_NORMAL,
					    .mean = 300 * CR_US,
					    .sd = 150 * CR_US,
					    .min = 20 * CR_US,
					    .max = 500 * CR_US };
	cost = (struct cost_model){ .cfg = &flow.cost };
	envelope_init(&e, &flow, &cost, draws, CR_MS);
	a.envelope = &e;
	for (unsigned k = 0; k < PACKETS; k++) {
		assert_true(arrival_next(&a, &j));
		s->at[k] = j.at;
		s->work[k] = cost_model_draw(&cost, &draws);
	}
}

static bool fits(const struct sent *s, unsigned i, unsigned k, cr_ns t)
{
	cr_ns work = 0;

	for (unsigned n = i; n <= k; n++)
		work += s->work[n];
	return work * 10 <= 5 * CR_MS + 3 * t && work * 10 <= 30 * CR_MS + t;
}

/* In every window no more than it allows; a job that came a nanosecond earlier
 * would be too much in some window. */
static void an_envelope_is_never_exceeded_and_used_up(void **state)
{
	static struct sent s;

	send_by_envelope((struct field_range){ 0 }, (struct field_range){ 0 },
			 &s);
	assert_int_equal(s.at[0], CR_MS);
	for (unsigned k = 1; k < 300; k++) {
		bool earliest = false;

		for (unsigned i = 0; i < k; i++) {
			cr_ns t = s.at[k] - s.at[i];

			assert_true(fits(&s, i, k, t));
			earliest |= !fits(&s, i, k, t - 1);
		}
		assert_true(earliest);
	}
}

/* Bursts of up to 7 ms, pauses of 20 to 30 ms. */
static void an_envelope_has_bursts_and_pauses(void **state)
{
	static struct sent s;
	unsigned pauses = 0;
	cr_ns begin_of_burst;

	send_by_envelope((struct field_range){ 5 * CR_MS, 7 * CR_MS },
			 (struct field_range){ 20 * CR_MS, 30 * CR_MS }, &s);
	begin_of_burst = s.at[0];
	for (unsigned k = 1; k < PACKETS; k++) {
		cr_ns gap = s.at[k] - s.at[k - 1];

		for (unsigned i = k > 50 ? k - 50 : 0; i < k; i++)
			assert_true(fits(&s, i, k, s.at[k] - s.at[i]));
		if (gap > 20 * CR_MS) {
			pauses++;
			begin_of_burst = s.at[k];
		}
		assert_true(s.at[k] - begin_of_burst < 7 * CR_MS);
	}
	assert_true(pauses > 100);
}

static void closed_waits_for_the_end_and_then_for_the_period(void **state)
{
	struct arrival a = begin(
		(struct campaign_arrival){ .kind = ARRIVAL_CLOSED }, 0, 10);
	struct arrival_job j;

	assert_true(arrival_next(&a, &j));
	assert_int_equal(j.at, 0);
	assert_false(arrival_next(&a, &j));
	assert_false(arrival_done(&a, 0, 4 * CR_MS)); /* in time */
	assert_true(arrival_next(&a, &j));
	assert_int_equal(j.at, 10 * CR_MS);
	assert_false(arrival_done(&a, 10 * CR_MS, 20 * CR_MS)); /* just */
	assert_true(arrival_next(&a, &j));
	assert_int_equal(j.at, 20 * CR_MS);
	assert_true(arrival_done(&a, 20 * CR_MS, 33 * CR_MS)); /* late */
	assert_true(arrival_next(&a, &j));
	assert_int_equal(j.at, 33 * CR_MS);
	assert_true(arrival_done(&a, 33 * CR_MS, 100 * CR_MS));
	assert_false(arrival_next(&a, &j)); /* the call is over */
}

static void a_loop_is_one_job(void **state)
{
	struct arrival a =
		begin((struct campaign_arrival){ .kind = ARRIVAL_LOOP },
		      5 * CR_MS, 100);

	expect(&a, (const cr_ns[]){ 5 }, 1);
}

static void trace_arrivals_follow_the_trace(void **state)
{
	struct replay_job job[] = {
		{ .at = 0, .cost = 1, .call = 0, .seq = 0 },
		{ .at = 7 * CR_MS, .cost = 1, .call = 0, .seq = 1 },
		{ .at = 8 * CR_MS, .cost = 1, .call = 1, .seq = 0 },
	};
	size_t first[] = { 0, 2, 3 };
	const struct replay trace = {
		.job = job, .njobs = 3, .first = first, .ncalls = 2
	};
	struct arrival a = begin(
		(struct campaign_arrival){ .kind = ARRIVAL_PLAN }, CR_MS, 100);

	flow.arrival.kind = ARRIVAL_TRACE;
	arrival_init(&a, &plan, &call, &trace, &stream);
	expect(&a, (const cr_ns[]){ 1, 8 }, 2);
	call.index = 1;
	arrival_init(&a, &plan, &call, &trace, &stream);
	expect(&a, (const cr_ns[]){ 9 }, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(periodic_is_the_grid),
		cmocka_unit_test(a_plan_without_network_is_the_grid),
		cmocka_unit_test(a_clock_that_drifts_bends_the_grid),
		cmocka_unit_test(
			bursts_have_length_and_spacing_and_the_nominal_rate),
		cmocka_unit_test(
			poisson_has_the_nominal_rate_and_exponential_gaps),
		cmocka_unit_test(an_envelope_is_never_exceeded_and_used_up),
		cmocka_unit_test(an_envelope_has_bursts_and_pauses),
		cmocka_unit_test(
			closed_waits_for_the_end_and_then_for_the_period),
		cmocka_unit_test(a_loop_is_one_job),
		cmocka_unit_test(trace_arrivals_follow_the_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
