/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a peer may be silent: time in which we were stopped ourselves does
 * not count, and SCTP's own count never ends before.
 */
#include "transport/ops.h"

#include "cmocka_cr.h"

static void time_passes_in_steps(void **state)
{
	struct awake a = { 0 };

	assert_int_equal(awake_look(&a, 100 * CR_SEC, CR_SEC), 0);
	assert_int_equal(awake_look(&a, 100 * CR_SEC + 7, CR_SEC), 7);
	assert_int_equal(awake_look(&a, 101 * CR_SEC, CR_SEC), CR_SEC);
}

static void a_stall_of_ours_counts_one_step(void **state)
{
	struct awake a = { 0 };

	(void)awake_look(&a, CR_SEC, CR_SEC);
	assert_int_equal(awake_look(&a, 60 * CR_SEC, CR_SEC), CR_SEC);
	assert_int_equal(awake_look(&a, 60 * CR_SEC + 5, CR_SEC), CR_SEC + 5);
	assert_int_equal(awake_look(&a, CR_SEC, CR_SEC), CR_SEC + 5);
}

static void the_default_survives_half_a_minute(void **state)
{
	assert_int_equal(silence_for(0).limit, TRANSPORT_PEER_TIMEOUT);
	assert_true(TRANSPORT_PEER_TIMEOUT >= 30 * CR_SEC + 5 * CR_SEC);
}

static void limits_are_bounded(void **state)
{
	assert_int_equal(silence_for(1).limit, TRANSPORT_PEER_TIMEOUT_MIN);
	assert_int_equal(silence_for(CR_NEVER).limit,
			 TRANSPORT_PEER_TIMEOUT_MAX);
}

/* Data that is not acknowledged times out after 0.2, 0.4, 0.8, 1.6, 2, 2 ... s,
 * a heartbeat at the soonest after its interval and half of that. */
static double given_up_after(const struct silence *s, double seconds)
{
	double rto = TIMING_RTO_MIN_MS / 1e3, beat = s->heartbeat_ms / 1e3;
	double data = rto, heart = beat + rto / 2;
	unsigned errors = 0;
	double now = 0;

	while (errors <= s->retransmissions && now < seconds) {
		bool is_data = data < heart;

		now = is_data ? data : heart;
		errors++;
		rto *= 2;
		if (rto > TIMING_RTO_MAX_MS / 1e3)
			rto = TIMING_RTO_MAX_MS / 1e3;
		if (is_data)
			data += rto;
		else
			heart += beat + rto / 2;
	}
	return now;
}

static void retransmissions_do_not_end_before(void **state)
{
	for (cr_ns t = TRANSPORT_PEER_TIMEOUT_MIN;
	     t <= TRANSPORT_PEER_TIMEOUT_MAX; t += CR_SEC) {
		struct silence s = silence_for(t);
		double seconds = (double)t / 1e9;

		assert_true(given_up_after(&s, seconds) >= seconds);
	}
}

static void a_living_peer_is_heard_several_times(void **state)
{
	for (cr_ns t = TRANSPORT_PEER_TIMEOUT_MIN;
	     t <= TRANSPORT_PEER_TIMEOUT_MAX; t += CR_SEC) {
		cr_ns beat = silence_for(t).heartbeat_ms * CR_MS;

		/* with the time-out and the chance that are added */
		beat += TIMING_RTO_MIN_MS * CR_MS * 3 / 2;
		assert_true(3 * beat < t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_passes_in_steps),
		cmocka_unit_test(a_stall_of_ours_counts_one_step),
		cmocka_unit_test(the_default_survives_half_a_minute),
		cmocka_unit_test(limits_are_bounded),
		cmocka_unit_test(retransmissions_do_not_end_before),
		cmocka_unit_test(a_living_peer_is_heard_several_times),
	};

	return cmocka_run_group_tests_name("silence", tests, NULL, NULL);
}
