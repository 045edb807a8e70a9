/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The delay of a jitter buffer: what it is; when an adaptive one grows and when
 * it shrinks.
 */
#include "jitter_line.h"

static cr_ns delay_ms(void)
{
	return jitter_delay(w.j) / CR_MS;
}

static void a_quiet_network_gets_the_least_delay(void **state)
{
	open_as(JITTER_ADAPTIVE, 10, 200);
	put_all(0, 2);
	assert_int_equal(delay_ms(), 19); /* it is not known yet */
	put_all(2, 500);
	assert_int_equal(jitter_delay(w.j), 10 * CR_MS);
	assert_int_equal(COUNTED(concealed), 0);
	close_it();
}

/* Transits 0, 10, 0, 10: mean 5, sigma 5. */
static void the_delay_is_mean_and_4_sigma(void **state)
{
	open_as(JITTER_ADAPTIVE, 0, 200);
	for (unsigned i = 0; i < 600; i++)
		assert_int_equal(put((cr_ns)i * 20 + i % 2 * 10, i),
				 JITTER_TAKEN);
	assert_int_equal(jitter_delay(w.j), 25 * CR_MS);
	assert_int_equal(COUNTED(concealed), 0);
	close_it();
}

/* A second of speech, then a packet that is 45 ms late, then 97 packets. */
static void after_a_late_packet(void)
{
	open_as(JITTER_ADAPTIVE, 10, 200);
	put_all(0, 500);
	assert_int_equal(put(500 * 20 + 45, 500), JITTER_LATE);
	/* just so that the late one would not have been */
	assert_int_equal(jitter_delay(w.j), 45 * CR_MS);
	put_all(503, 600);
	/* 2 s on: e^-0.2 */
	assert_in_range(delay_ms(), 34, 40);
	assert_int_equal(COUNTED(pauses), 0);
}

static void the_delay_grows_at_once_and_shrinks_slowly(void **state)
{
	after_a_late_packet();
	put_all(600, 2000);
	assert_int_equal(delay_ms(), 10);
	assert_int_equal(COUNTED(pauses), 0);
	close_it();
}

static enum jitter_put put_later(unsigned sent, unsigned seq, bool silent)
{
	return put_packet(20 * sent,
			  (struct watch_packet){ .seq = (uint16_t)seq,
						 .ts = sent * 160,
						 .silent = silent });
}

static void the_delay_shrinks_at_once_in_a_pause(void **state)
{
	after_a_late_packet();
	assert_int_equal(put_later(620, 600, false), JITTER_TAKEN);
	assert_int_equal(jitter_delay(w.j), 10 * CR_MS);
	close_it();
}

/* The next ones wait already: play-out goes on when it can, and no burst. */
static void a_pause_is_not_shortened_below_nothing(void **state)
{
	struct jitter_output out;

	after_a_late_packet();
	/* 20 ms were not sent */
	(void)put_later(601, 600, false);
	while (watch_one(&w, jitter_due(w.j), &out) == JITTER_PLAY)
		;
	assert_int_equal(jitter_due(w.j), w.now);
	assert_int_equal(watch_one(&w, w.now, &out), JITTER_PLAY);
	assert_int_equal(out.seq, 600);
	assert_in_range(delay_ms(), 14, 20);
	close_it();
}

static void the_delay_shrinks_by_a_quarter_in_silence(void **state)
{
	after_a_late_packet();
	for (unsigned i = 600; i < 604; i++)
		assert_int_equal(put_later(i, i, true), JITTER_TAKEN);
	assert_in_range(delay_ms(), 14, 20);
	assert_int_equal(COUNTED(pauses), 0);
	close_it();
}

/* It is longer than others: fewer of them show which is the fastest. */
static void a_fixed_delay_stays_when_a_packet_is_refused(void **state)
{
	const struct watch_packet same_time = { .seq = 50,
						.ts = 49 * 160,
						.duration = 800 };

	open_as(JITTER_FIXED, 0, 100);
	put_all(0, 10);
	for (unsigned i = 10; i < 50; i++)
		assert_int_equal(put((cr_ns)i * 20 + 5, i), JITTER_TAKEN);
	assert_int_equal(put_packet(1000, same_time), JITTER_OUT_OF_RANGE);
	assert_int_equal(jitter_delay(w.j), 100 * CR_MS);
	close_it();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_quiet_network_gets_the_least_delay),
		cmocka_unit_test(the_delay_is_mean_and_4_sigma),
		cmocka_unit_test(the_delay_grows_at_once_and_shrinks_slowly),
		cmocka_unit_test(the_delay_shrinks_at_once_in_a_pause),
		cmocka_unit_test(a_pause_is_not_shortened_below_nothing),
		cmocka_unit_test(the_delay_shrinks_by_a_quarter_in_silence),
		cmocka_unit_test(a_fixed_delay_stays_when_a_packet_is_refused),
	};

	return cmocka_run_group_tests_name("jitter delay", tests, NULL, NULL);
}
