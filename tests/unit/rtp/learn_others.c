/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The party of an endpoint, rule by rule: several that send to one port.
 */
#include "learn_steps.h"

static void others_are_refused_while_the_party_speaks(void **state)
{
	struct learn l = proven(LEARN_IMMEDIATE, X);

	PLAY(&l, { 41, Y, 7, 4, 'a' }, { 42, Y, 7, 5, 'a' },
	     { 43, Y, 7, 6, 'a' }, { 44, Y, 7, 7, 'a' }, { 240, X, 7, 4, 'A' },
	     { 241, Y, 8, 1, 'a' }, { 242, Y, 8, 2, 'a' },
	     { 243, Y, 8, 3, 'a' }, { 244, Y, 8, 4, 'a' });
	assert_true(answers_go(&l, X));
}

static void strangers_wait_for_an_absence_and_prove_themselves(void **state)
{
	struct learn l = proven(LEARN_IMMEDIATE, X);

	PLAY(&l, { 5038, Y, 8, 1, 'a' }, { 5040, Y, 8, 2, 'a' },
	     { 5041, Y, 8, 3, 'w' }, { 5042, Y, 8, 5, 'w' },
	     { 5043, Y, 8, 6, 'w' }, { 5044, Y, 8, 7, 'w' },
	     { 5200, Y, 8, 8, 'B' }, { 5201, X, 7, 4, 'a' });
	assert_int_equal(l.waiting, 4);
	assert_int_equal(l.foreign_address, 3);
	assert_int_equal(l.accepted, 4);
	assert_int_equal(l.address_changes, 1);
	assert_int_equal(l.ssrc_changes, 1);
}

static void a_stray_first_packet_keeps_nobody_out_for_long(void **state)
{
	struct learn l = begin(LEARN_IMMEDIATE);

	PLAY(&l, { 0, X, 9, 1, 'B' }, { 20, Y, 7, 1, 'a' },
	     { 1000, Y, 7, 50, 'a' }, { 1020, Y, 7, 51, 'w' },
	     { 1040, Y, 7, 52, 'w' }, { 1060, Y, 7, 53, 'B' });
	l = begin(LEARN_DELAYED);
	PLAY(&l, { 0, X, 9, 1, 'B' }, { 20, Y, 7, 1, 'w' },
	     { 40, Y, 7, 2, 'w' }, { 60, Y, 7, 3, 'w' }, { 200, Y, 7, 10, 'w' },
	     { 399, Y, 7, 20, 'w' }, { 400, Y, 7, 21, 'w' },
	     { 420, Y, 7, 22, 'B' });
	l = begin(LEARN_IMMEDIATE); /* the signalled address need not wait */
	PLAY(&l, { 0, X, 9, 1, 'B' }, { 20, TOLD, 7, 1, 'w' },
	     { 40, TOLD, 7, 2, 'w' }, { 60, TOLD, 7, 3, 'B' });
}

/* It sends with a new SSRC each time, or new numbers, and never stops. */
static void a_sprayer_that_came_first_is_given_up(void **state)
{
	struct learn l = begin(LEARN_IMMEDIATE);

	PLAY(&l, { 0, X, 1, 1, 'B' });
	for (unsigned i = 1; i <= 100; i++)
		PLAY(&l, { i * 20, X, i + 1, (uint16_t)(i * 7919), 'w' });
	PLAY(&l, { 2001, Y, 7, 1, 'w' }, { 2002, X, 900, 9, 'w' },
	     { 2021, Y, 7, 2, 'w' }, { 2022, X, 901, 4, 'w' },
	     { 2041, Y, 7, 3, 'B' }, { 2042, X, 902, 4, 'a' });
	l = begin(LEARN_IMMEDIATE);
	PLAY(&l, { 0, X, 1, 1, 'B' });
	for (unsigned i = 1; i <= 100; i++)
		PLAY(&l, { i * 20, X, 1, (uint16_t)(i * 7919), 'A' });
	PLAY(&l, { 2001, Y, 7, 1, 'w' }, { 2002, X, 1, 9, 'A' },
	     { 2021, Y, 7, 2, 'w' }, { 2022, X, 1, 9999, 'A' },
	     { 2041, Y, 7, 3, 'B' });
}

static void a_higher_rank_wins_by_proof(void **state)
{
	struct learn l = proven(LEARN_DELAYED, X);

	PLAY(&l, { 41, PROXY, 8, 1, 'w' }, { 42, X, 7, 4, 'A' },
	     { 43, PROXY, 8, 2, 'w' }, { 44, X, 7, 5, 'A' },
	     { 45, PROXY, 8, 3, 'B' }, { 46, X, 7, 6, 'a' },
	     { 47, TOLD, 9, 1, 'w' }, { 48, TOLD, 9, 2, 'w' },
	     { 49, TOLD, 9, 3, 'B' }, { 50, PROXY, 8, 4, 'a' },
	     { 51, PORT, 8, 4, 'a' }, { 52, HOST, 8, 4, 'a' });
	assert_true(answers_go(&l, TOLD));
}

static void delayed_hears_who_is_heard_longer(void **state)
{
	struct learn l = begin(LEARN_DELAYED);

	PLAY(&l, { 0, X, 9, 1, 'B' }, { 20, X, 9, 2, 'A' },
	     { 40, X, 9, 3, 'A' }, { 60, Y, 7, 1, 'w' }, { 80, Y, 7, 2, 'w' },
	     { 100, Y, 7, 3, 'w' });
	/* as long and ten times as much is not longer, nor is being the
	 * first in a slot */
	for (unsigned i = 0; i < 100; i++)
		PLAY(&l, { 101 + i * 2, Y, 7, (uint16_t)(4 + i), 'w' });
	PLAY(&l, { 398, X, 9, 4, 'A' }, { 399, Y, 7, 104, 'w' },
	     { 400, Y, 7, 105, 'w' }, { 598, X, 9, 5, 'A' },
	     { 600, Y, 7, 106, 'w' }, { 799, Y, 7, 107, 'w' });
	PLAY(&l, { 800, Y, 7, 108, 'B' }, { 801, X, 9, 6, 'a' });
	assert_true(answers_go(&l, Y));
	/* not back: it leads by now */
	PLAY(&l, { 1000, X, 9, 7, 'a' }, { 1200, X, 9, 8, 'a' },
	     { 1400, X, 9, 9, 'a' }, { 2100, X, 9, 20, 'a' },
	     { 3001, Y, 7, 109, 'A' });
}

/* One that was heard for as long, but not in sequence. */
static void who_wins_a_contest_is_ahead_of_all(void **state)
{
	struct learn l = begin(LEARN_DELAYED);

	PLAY(&l, { 0, X, 1, 1, 'B' }, { 10, Z, 3, 1, 'w' },
	     { 210, Z, 3, 3, 'w' }, { 220, Y, 2, 1, 'w' },
	     { 420, Y, 2, 5, 'w' }, { 430, Z, 3, 9, 'w' },
	     { 600, Y, 2, 6, 'w' }, { 610, Y, 2, 7, 'B' });
	PLAY(&l, { 620, Z, 3, 20, 'w' }, { 700, Y, 2, 8, 'A' },
	     { 800, Z, 3, 21, 'w' }, { 801, Z, 3, 22, 'w' },
	     { 802, Z, 3, 23, 'w' }, { 900, Y, 2, 9, 'A' });
}

/* The party's other SSRC, when somebody else takes the endpoint meanwhile. */
static void a_proof_goes_on_when_the_endpoint_is_taken(void **state)
{
	struct learn l = begin(LEARN_IMMEDIATE);

	PLAY(&l, { 0, TOLD, 7, 1, 'S' }, { 780, TOLD, 8, 1, 'w' },
	     { 7361, X, 9, 1, 'w' }, { 7370, X, 9, 2, 'w' },
	     { 7374, TOLD, 8, 2, 'w' }, { 7379, X, 9, 3, 'B' },
	     { 7384, TOLD, 8, 3, 'B' }, { 7385, X, 9, 4, 'a' });
}

static void after_the_window_longer_does_not_count(void **state)
{
	struct learn l = begin(LEARN_DELAYED);

	PLAY(&l, { 0, X, 9, 1, 'B' }, { 900, X, 9, 2, 'A' },
	     { 990, X, 9, 3, 'A' }, { 1800, X, 9, 4, 'A' },
	     { 2700, X, 9, 5, 'A' }, { 2990, Y, 7, 1, 'w' },
	     { 2995, Y, 7, 2, 'w' }, { 3500, Y, 7, 3, 'a' });
	for (unsigned i = 0; i < 100; i++)
		PLAY(&l, { 3510 + i * 200, Y, 7, (uint16_t)(4 + i), 'a' },
		     { 3520 + i * 200, X, 9, (uint16_t)(6 + i), 'A' });
}

/* It leads: only its address and its SSRC do, however long it says nothing. */
static void strangers_never_follow_who_leads(void **state)
{
	static const enum learn_mode modes[] = { LEARN_IMMEDIATE, LEARN_DELAYED,
						 LEARN_ASYMMETRIC };

	for (unsigned m = 0; m < 3; m++) {
		struct learn l = leading(modes[m], X);
		bool away = modes[m] == LEARN_ASYMMETRIC;

		for (unsigned i = 0; i < 200; i++)
			PLAY(&l, { 1810 + i * 200, Y, 8, (uint16_t)i, 'a' },
			     { 1820 + i * 200, Y, 8, (uint16_t)(i + 1), 'a' });
		PLAY(&l, { 60000, X, 7, 9, 'A' }, { 61000, Y, 7, 10, 'a' });
		/* with its SSRC: its number is not far in a silence, and any
		 * in an absence, with proof */
		PLAY(&l, { 62000, Y, 7, 11, away ? 'A' : 'D' },
		     { 64000, Y, 7, 12, 'A' }, { 69001, Z, 7, 9000, 'w' },
		     { 69002, Z, 7, 9001, 'w' },
		     { 69003, Z, 7, 9002, away ? 'A' : 'D' },
		     { 69004, Y, 9, 1, 'a' }, { 69005, V, 9, 1, 'a' });
	}
}

/* The signalled address leads with its proof. */
static void strangers_never_follow_the_told_address(void **state)
{
	struct learn l = proven(LEARN_DELAYED, TOLD);

	for (unsigned i = 0; i < 200; i++)
		PLAY(&l, { 50 + i * 200, PORT, 8, (uint16_t)i, 'a' },
		     { 51 + i * 200, X, 9, (uint16_t)i, 'a' });
	PLAY(&l, { 60000, TOLD, 7, 4, 'A' });
}

/* From a stranger who has copied its SSRC and numbers, and sends on. */
static void who_led_gets_its_place_back(void **state)
{
	struct learn l = leading(LEARN_IMMEDIATE, X);

	PLAY(&l, { 5000, Y, 7, 9, 'D' });
	for (unsigned i = 0; i < 20; i++)
		PLAY(&l, { 5200 + i * 200, Y, 7, (uint16_t)(10 + i), 'A' });
	PLAY(&l, { 9010, X, 7, 9, 'w' }, { 9011, Y, 7, 30, 'A' },
	     { 9030, X, 7, 10, 'w' }, { 9031, Y, 7, 31, 'A' },
	     { 9050, X, 7, 11, 'D' }, { 9051, Y, 7, 32, 'a' },
	     { 19000, Z, 8, 1, 'a' }, { 19001, X, 7, 12, 'A' });
}

/* Behind NAT, on hold for long, and back with all anew: its offer says so. */
static void an_offer_lets_who_was_absent_come_from_elsewhere(void **state)
{
	const struct learn_terms t = terms(LEARN_IMMEDIATE);
	struct learn l = leading(LEARN_IMMEDIATE, X);

	learn_again(&l, &t, 3000 * CR_MS); /* it was heard just before */
	PLAY(&l, { 3001, Y, 8, 1, 'a' }, { 3002, Y, 8, 2, 'a' },
	     { 3003, Y, 8, 3, 'a' });
	learn_again(&l, &t, 90000 * CR_MS);
	PLAY(&l, { 90001, Y, 8, 1, 'w' }, { 90002, Y, 8, 2, 'w' },
	     { 90003, Y, 8, 3, 'B' }, { 90004, X, 7, 9, 'w' },
	     { 90005, X, 7, 10, 'w' }, { 90006, X, 7, 11, 'B' });
	learn_again(&l, &t, 180000 * CR_MS); /* nobody came in time */
	PLAY(&l, { 183001, Y, 8, 9, 'a' }, { 183002, Y, 8, 10, 'a' },
	     { 183003, Y, 8, 11, 'a' }, { 183004, X, 7, 12, 'A' });
}

/* That of an answer: strangers may have been there before. */
static void the_first_address_told_takes_the_lead(void **state)
{
	const struct learn_terms none = { .mode = LEARN_IMMEDIATE };
	const struct learn_terms t = terms(LEARN_IMMEDIATE);
	struct learn l;

	learn_init(&l, &none);
	lead(&l, X, 'B');
	learn_again(&l, &t, 2000 * CR_MS);
	PLAY(&l, { 6700, Y, 8, 1, 'w' }, { 6701, Y, 8, 2, 'w' },
	     { 6800, Y, 8, 3, 'B' });
}

static void the_told_address_is_not_compared(void **state)
{
	struct learn l = proven(LEARN_DELAYED, TOLD);

	for (unsigned i = 0; i < 10; i++)
		PLAY(&l, { 100 + i * 300, TOLD, 7, (uint16_t)(4 + i), 'A' },
		     { 101 + i * 300, X, 9, (uint16_t)(1 + i), 'a' },
		     { 399 + i * 300, X, 9, (uint16_t)(2 + i), 'a' });
}

/* More addresses than there are places. */
static void a_flood_does_not_displace_higher_ranks(void **state)
{
	struct learn l = begin(LEARN_DELAYED);

	PLAY(&l, { 0, X, 9, 1, 'B' });
	for (unsigned i = 0; i < 3; i++)
		PLAY(&l, { i, Y, 1, 1, 'w' }, { i, Z, 2, 1, 'w' },
		     { i, V, 3, 1, 'w' }, { i, W, 4, 1, 'w' },
		     { i, HOST, 5, 1, 'w' }, { i, MOVED, 6, 1, 'w' },
		     { i, X, 8, (uint16_t)i, "wwS"[i] });
	for (unsigned i = 0; i < 3; i++)
		PLAY(&l, { i, Y, 1, 1, 'w' }, { i, Z, 2, 1, 'w' },
		     { i, V, 3, 1, 'w' }, { i, W, 4, 1, 'w' },
		     { i, TOLD, 7, (uint16_t)i, "wwB"[i] },
		     { i, HOST, 5, 1, "wwa"[i] }, { i, MOVED, 6, 1, "wwa"[i] });
	/* nor, among equals, one that has two in sequence */
	l = begin(LEARN_DELAYED);
	PLAY(&l, { 0, X, 9, 1, 'B' }, { 1, Y, 1, 1, 'w' }, { 1, Y, 1, 2, 'w' },
	     { 2, Z, 2, 1, 'w' }, { 2, V, 3, 1, 'w' }, { 2, W, 4, 1, 'w' },
	     { 2, HOST, 5, 1, 'w' }, { 2, MOVED, 6, 1, 'w' });
	PLAY(&l, { 1001, Y, 1, 3, 'B' });
	l = begin(LEARN_DELAYED);
	PLAY(&l, { 0, X, 9, 1, 'B' }, { 1, Y, 1, 1, 'w' }, { 1, Y, 1, 2, 'w' },
	     { 2, Z, 2, 1, 'w' }, { 2, Z, 2, 2, 'w' }, { 3, V, 3, 1, 'w' },
	     { 3, V, 3, 2, 'w' }, { 4, W, 4, 1, 'w' }, { 4, W, 4, 2, 'w' },
	     { 5, HOST, 5, 1, 'w' }, { 5, HOST, 5, 2, 'w' });
	PLAY(&l, { 1001, Y, 1, 3, 'B' });
	/* nor four of a higher rank with one each */
	l = begin(LEARN_DELAYED);
	PLAY(&l, { 0, X, 9, 1, 'B' }, { 1, PORT, 1, 1, 'w' },
	     { 2, PORT_B, 1, 1, 'w' }, { 3, PORT_C, 1, 1, 'w' },
	     { 4, PROXY, 1, 1, 'w' }, { 5, Y, 1, 1, 'w' },
	     { 6, PORT, 1, 2, 'w' }, { 7, PORT, 1, 3, 'B' });
}

/* A proof does not count twice. */
static void a_proof_is_used_once(void **state)
{
	struct learn l = proven(LEARN_IMMEDIATE, X);

	PLAY(&l, { 6000, Y, 8, 1, 'w' }, { 6001, Y, 8, 2, 'w' },
	     { 6200, Y, 8, 3, 'B' }, { 12000, Z, 9, 1, 'w' },
	     { 12001, Z, 9, 2, 'w' }, { 12200, Z, 9, 3, 'B' },
	     { 18000, Y, 8, 4, 'w' }, { 18001, Y, 8, 5, 'w' },
	     { 18202, Y, 8, 6, 'B' });
}

/* Each leaves an SSRC behind that it did not prove. */
static void places_of_those_who_left_are_free(void **state)
{
	static const unsigned turns[] = { X, Y, Z, V, W, HOST, MOVED, X, Y, Z };
	struct learn l = begin(LEARN_IMMEDIATE);

	PLAY(&l, { 0, W, 7, 1, 'B' }, { 20, W, 7, 2, 'A' },
	     { 40, W, 7, 3, 'A' }, { 60, W, 8, 1, 'w' });
	for (unsigned i = 0, t = 6000; i < 10; i++, t += 6000)
		PLAY(&l, { t, turns[i], 20 + i, 1, 'w' },
		     { t, turns[i], 20 + i, 2, 'w' },
		     { t + 200, turns[i], 20 + i, 3, 'B' },
		     { t + 200, turns[i], 8, 1, 'w' });
}

/* Its first packets with another SSRC are lost, but it is heard. */
static void another_ssrc_costs_nothing_in_a_contest(void **state)
{
	struct learn l = proven(LEARN_DELAYED, X);

	PLAY(&l, { 50, Y, 1, 1, 'w' });
	for (unsigned i = 0, t = 200; i < 3; i++, t += 200)
		PLAY(&l, { t, X, 8, (uint16_t)i, "wwS"[i] },
		     { t + 1, Y, 1, (uint16_t)(2 + i), 'w' });
	for (unsigned i = 0, t = 800; i < 3; i++, t += 200)
		PLAY(&l, { t, X, 9, (uint16_t)i, "wwS"[i] },
		     { t + 1, Y, 1, (uint16_t)(5 + i), 'a' });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(others_are_refused_while_the_party_speaks),
		cmocka_unit_test(
			strangers_wait_for_an_absence_and_prove_themselves),
		cmocka_unit_test(
			a_stray_first_packet_keeps_nobody_out_for_long),
		cmocka_unit_test(a_sprayer_that_came_first_is_given_up),
		cmocka_unit_test(a_higher_rank_wins_by_proof),
		cmocka_unit_test(delayed_hears_who_is_heard_longer),
		cmocka_unit_test(who_wins_a_contest_is_ahead_of_all),
		cmocka_unit_test(a_proof_goes_on_when_the_endpoint_is_taken),
		cmocka_unit_test(after_the_window_longer_does_not_count),
		cmocka_unit_test(strangers_never_follow_who_leads),
		cmocka_unit_test(strangers_never_follow_the_told_address),
		cmocka_unit_test(who_led_gets_its_place_back),
		cmocka_unit_test(
			an_offer_lets_who_was_absent_come_from_elsewhere),
		cmocka_unit_test(the_first_address_told_takes_the_lead),
		cmocka_unit_test(the_told_address_is_not_compared),
		cmocka_unit_test(a_flood_does_not_displace_higher_ranks),
		cmocka_unit_test(a_proof_is_used_once),
		cmocka_unit_test(places_of_those_who_left_are_free),
		cmocka_unit_test(another_ssrc_costs_nothing_in_a_contest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
