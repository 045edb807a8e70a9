/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The party of an endpoint, rule by rule: modes, changes of SSRC and address,
 * offers.
 */
#include <netinet/in.h>

#include "base/cache.h"
#include "learn_steps.h"

static void the_first_packet_tells(void **state)
{
	struct learn l = begin(LEARN_IMMEDIATE);

	assert_false(l.known);
	assert_true(answers_go(&l, TOLD));
	PLAY(&l, { 0, X, 7, 1, 'B' }, { 20, X, 7, 2, 'A' },
	     { 40, X, 7, 3, 'A' }, { 60, X, 7, 4, 'A' });
	assert_true(answers_go(&l, X));
	l = begin(LEARN_DELAYED);
	PLAY(&l, { 0, X, 7, 1, 'B' }, { 20, X, 7, 2, 'A' });
	l = begin(LEARN_IMMEDIATE);
	PLAY(&l, { 0, TOLD, 7, 1, 'S' }, { 20, TOLD, 7, 2, 'A' });
}

static void strict_hears_the_told_address_only(void **state)
{
	struct learn_terms nobody = { .mode = LEARN_STRICT };
	struct learn l = begin(LEARN_STRICT);

	PLAY(&l, { 0, X, 7, 1, 'a' }, { 1, PORT, 7, 1, 'a' },
	     { 2, TOLD, 7, 1, 'S' }, { 20, TOLD, 7, 2, 'A' },
	     { 40, TOLD, 7, 3, 'A' }, { 90000, X, 7, 4, 'a' },
	     { 90020, X, 7, 5, 'a' }, { 90040, X, 7, 6, 'a' },
	     { 90060, TOLD, 8, 1, 'S' });
	learn_init(&l, &nobody);
	PLAY(&l, { 0, X, 7, 1, 'a' }, { 20, TOLD, 7, 1, 'a' });
	assert_int_equal(learn_to(&l)->ss_family, 0);
}

static void an_ssrc_that_is_told_is_the_only_one(void **state)
{
	struct learn_terms t = terms(LEARN_IMMEDIATE);
	struct learn l;

	t.ssrc_signalled = true;
	t.ssrc = 7;
	learn_init(&l, &t);
	PLAY(&l, { 0, X, 8, 1, 's' }, { 1, X, 7, 1, 'D' }, { 2, X, 8, 1, 's' },
	     { 3, X, 8, 2, 's' }, { 4, X, 8, 3, 's' }, { 5, X, 7, 2, 'A' },
	     { 6, X, 7, 3, 'A' }, { 9000, X, 8, 4, 's' });
	t.ssrc = 8; /* and from now on it is this one */
	learn_again(&l, &t, 9001 * CR_MS);
	PLAY(&l, { 9002, X, 7, 4, 's' }, { 9003, X, 8, 5, 'B' });
}

static void another_ssrc_is_taken_with_its_third_packet(void **state)
{
	struct learn l = proven(LEARN_STRICT, TOLD);

	PLAY(&l, { 60, TOLD, 8, 65535, 'w' }, { 80, TOLD, 8, 0, 'w' },
	     { 100, TOLD, 8, 1, 'S' }, { 120, TOLD, 8, 2, 'A' });
	/* a gap, a packet twice and one that is late */
	PLAY(&l, { 140, TOLD, 9, 10, 'w' }, { 160, TOLD, 9, 12, 'w' },
	     { 161, TOLD, 9, 12, 'w' }, { 162, TOLD, 9, 11, 'w' },
	     { 180, TOLD, 9, 13, 'w' }, { 200, TOLD, 9, 14, 'S' });
	/* a third one in between */
	PLAY(&l, { 220, TOLD, 1, 1, 'w' }, { 240, TOLD, 1, 2, 'w' },
	     { 260, TOLD, 2, 3, 'w' }, { 280, TOLD, 1, 3, 'w' },
	     { 300, TOLD, 1, 4, 'w' }, { 320, TOLD, 1, 5, 'S' });
}

static void of_two_ssrcs_at_once_the_newer_wins(void **state)
{
	struct learn l = proven(LEARN_STRICT, TOLD);

	PLAY(&l, { 60, TOLD, 8, 1, 'w' }, { 61, TOLD, 7, 4, 'A' },
	     { 80, TOLD, 8, 2, 'w' }, { 81, TOLD, 7, 5, 'A' },
	     { 100, TOLD, 8, 3, 'S' });
	for (unsigned i = 0; i < 100; i++)
		PLAY(&l, { 101 + i * 20, TOLD, 7, (uint16_t)(6 + i), 's' },
		     { 120 + i * 20, TOLD, 8, (uint16_t)(4 + i), 'A' });
	/* the older one alone again */
	PLAY(&l, { 2101, TOLD, 7, 106, 's' }, { 2121, TOLD, 7, 107, 's' },
	     { 2141, TOLD, 7, 108, 'S' }, { 2161, TOLD, 7, 109, 'A' });
}

static void after_a_silence_one_packet_is_enough(void **state)
{
	struct learn l = proven(LEARN_IMMEDIATE, X);

	PLAY(&l, { 1040, X, 8, 1, 'w' }, { 1041, X, 9, 1, 'S' },
	     { 2042, X, 7, 4, 'S' });
	l = proven(LEARN_IMMEDIATE, X);
	PLAY(&l, { 1041, PORT, 8, 1, 'B' }); /* of a higher rank */
	assert_true(answers_go(&l, PORT));
}

/* NAT gives it another port, or it changes the network. */
static void a_source_that_goes_on_elsewhere_is_followed(void **state)
{
	struct learn l = proven(LEARN_IMMEDIATE, X);

	PLAY(&l, { 1040, Y, 7, 50, 'a' }, { 1041, Y, 7, 4 + 3000, 'a' },
	     { 1042, Y, 7, 3, 'a' }, { 1060, Y, 7, 51, 'D' },
	     { 1080, Y, 7, 52, 'A' }, { 1081, X, 7, 53, 'a' });
	assert_true(answers_go(&l, Y));
	assert_int_equal(l.address_changes, 1);
	assert_int_equal(l.ssrc_changes, 0);
	l = proven(LEARN_IMMEDIATE, TOLD); /* to a lower rank */
	PLAY(&l, { 1060, Y, 7, 51, 'D' }, { 1080, Y, 7, 52, 'A' });
}

static void what_is_not_valid_proves_nothing(void **state)
{
	struct learn l = begin(LEARN_IMMEDIATE);
	const struct step first = { 0, X, 7, 1, 'w' };

	assert_int_equal(feed(&l, &first, false), 'w');
	assert_false(l.known);
	l = proven(LEARN_IMMEDIATE, X);
	for (unsigned i = 0; i < 9; i++) {
		const struct step same = { 50, X, 7, (uint16_t)(4 + i), 'A' };
		const struct step ssrc = { 50, X, 8, (uint16_t)(4 + i), 's' };
		const struct step away = { 50, Y, 8, (uint16_t)(4 + i), 'a' };
		const struct step signalled = { 50, TOLD, 8, (uint16_t)(i),
						'w' };

		assert_int_equal(feed(&l, &same, false), 'A');
		assert_int_equal(feed(&l, &ssrc, false), 's');
		assert_int_equal(feed(&l, &away, false), 'a');
		assert_int_equal(feed(&l, &signalled, false), 'w');
	}
}

static void an_offer_that_repeats_the_address_takes_nothing(void **state)
{
	struct learn l = proven(LEARN_IMMEDIATE, X);
	struct learn_terms t = terms(LEARN_IMMEDIATE);

	learn_again(&l, &t, 50 * CR_MS);
	t.signalled.ss_family = t.host.ss_family = 0; /* on hold */
	learn_again(&l, &t, 51 * CR_MS);
	assert_true(answers_go(&l, X));
	PLAY(&l, { 52, Y, 8, 1, 'a' }, { 53, Y, 8, 2, 'a' },
	     { 54, Y, 8, 3, 'a' }, { 60, X, 7, 4, 'A' },
	     { 61, PROXY, 8, 1, 'w' }, { 62, TOLD, 8, 1, 'w' });
	t = terms(LEARN_IMMEDIATE); /* and back */
	learn_again(&l, &t, 63 * CR_MS);
	assert_true(answers_go(&l, X));
}

static struct learn moved(enum learn_mode mode, unsigned from)
{
	struct learn l = proven(mode, from);
	struct learn_terms t = terms(mode);

	t.signalled = address_at(texts[MOVED]);
	learn_again(&l, &t, 50 * CR_MS);
	assert_true(answers_go(&l, from == MOVED ? from : MOVED));
	return l;
}

static void an_offer_of_another_address_is_a_notice(void **state)
{
	struct learn l = moved(LEARN_IMMEDIATE, TOLD);

	/* it is heard, until the other one comes */
	PLAY(&l, { 60, TOLD, 7, 4, 'A' }, { 80, TOLD, 7, 5, 'A' });
	assert_true(answers_go(&l, MOVED));
	PLAY(&l, { 90, MOVED, 8, 1, 'S' }, { 91, TOLD, 7, 6, 'a' });
	l = moved(LEARN_DELAYED, TOLD); /* from behind NAT */
	PLAY(&l, { 60, TOLD, 7, 4, 'A' }, { 61, X, 8, 1, 'w' },
	     { 80, TOLD, 7, 5, 'A' }, { 81, X, 8, 2, 'w' },
	     { 100, TOLD, 7, 6, 'A' }, { 101, X, 8, 3, 'B' });
	l = moved(LEARN_IMMEDIATE, X); /* nobody else comes */
	PLAY(&l, { 3050, X, 7, 150, 'A' }, { 3051, X, 7, 151, 'D' },
	     { 3052, Y, 7, 152, 'a' });
	assert_true(answers_go(&l, X));
	l = moved(LEARN_STRICT, TOLD);
	PLAY(&l, { 60, TOLD, 7, 4, 'a' }, { 61, MOVED, 7, 5, 'A' });
	l = moved(LEARN_IMMEDIATE, MOVED); /* it is there already */
	PLAY(&l, { 60, MOVED, 7, 4, 'A' }, { 61, X, 8, 1, 'a' });
}

/* The first address that is signalled, after packets have come. */
static void a_first_address_is_no_notice(void **state)
{
	const struct learn_terms none = { .mode = LEARN_IMMEDIATE };
	const struct learn_terms t = terms(LEARN_IMMEDIATE);
	struct learn l;

	learn_init(&l, &none);
	assert_int_equal(learn_to(&l)->ss_family, 0);
	PLAY(&l, { 0, X, 7, 1, 'B' }, { 20, X, 7, 2, 'A' },
	     { 40, X, 7, 3, 'A' });
	learn_again(&l, &t, 50 * CR_MS);
	assert_true(answers_go(&l, X));
	PLAY(&l, { 60, X, 7, 4, 'A' }, { 61, Y, 8, 1, 'a' },
	     { 62, TOLD, 8, 1, 'w' }, { 63, TOLD, 8, 2, 'w' },
	     { 64, TOLD, 8, 3, 'B' });
}

static void it_settles(void **state)
{
	struct learn l = leading(LEARN_IMMEDIATE, X);

	assert_true(l.settled);
	l = leading(LEARN_DELAYED, X);
	assert_true(l.settled);
	l = proven(LEARN_STRICT, TOLD);
	assert_true(l.settled);
	l = proven(LEARN_DELAYED, TOLD);
	assert_true(l.settled);
	l = proven(LEARN_DELAYED, X);
	PLAY(&l, { 200, X, 7, 4, 'A' }, { 400, X, 7, 5, 'A' },
	     { 600, X, 7, 6, 'A' });
	assert_false(l.settled);
	PLAY(&l, { 800, X, 7, 7, 'A' });
	assert_true(l.settled);
}

/* Answers go where the party said, whoever it is that is heard. */
static void asymmetric_hears_all_and_learns_nothing(void **state)
{
	struct learn l = begin(LEARN_ASYMMETRIC);
	struct learn_terms t = terms(LEARN_ASYMMETRIC);

	lead(&l, X, 'S');
	assert_true(answers_go(&l, TOLD));
	PLAY(&l, { 3000, Y, 7, 9, 'A' }); /* NAT gives it another port */
	assert_true(answers_go(&l, TOLD));
	t.signalled = address_at(texts[MOVED]);
	learn_again(&l, &t, 3001 * CR_MS);
	assert_true(answers_go(&l, MOVED));
	PLAY(&l, { 3020, Y, 7, 10, 'A' }, { 6040, Y, 7, 11, 'A' },
	     { 6060, MOVED, 8, 1, 'w' }, { 6080, MOVED, 8, 2, 'w' },
	     { 6100, MOVED, 8, 3, 'S' });
	assert_true(answers_go(&l, MOVED));
	t.mode = LEARN_DELAYED; /* and from now on it learns */
	learn_again(&l, &t, 6101 * CR_MS);
	PLAY(&l, { 8000, Z, 8, 4, 'D' });
	assert_true(answers_go(&l, Z));
}

/* An absence is no shorter than a silence. */
static void times_can_be_chosen(void **state)
{
	struct learn_terms t = terms(LEARN_IMMEDIATE);
	struct learn l;

	t.silence = 8 * CR_SEC;
	learn_init(&l, &t);
	PLAY(&l, { 0, X, 7, 1, 'B' }, { 20, X, 7, 2, 'A' },
	     { 40, X, 7, 3, 'A' }, { 8040, Y, 9, 1, 'a' },
	     { 8040, Y, 7, 4, 'a' }, { 8041, Y, 7, 4, 'D' });
	t.silence = CR_SEC / 2;
	t.absence = t.window = 2 * CR_SEC;
	t.mode = LEARN_DELAYED;
	learn_init(&l, &t);
	PLAY(&l, { 0, X, 7, 1, 'B' }, { 20, X, 7, 2, 'A' },
	     { 40, X, 7, 3, 'A' }, { 2000, X, 7, 4, 'A' },
	     { 2000, Y, 9, 1, 'w' }, { 2001, Y, 9, 2, 'a' },
	     { 2501, X, 8, 1, 'S' }, { 4501, Y, 9, 3, 'a' },
	     { 4502, Y, 9, 4, 'w' });
}

static void a_senders_link_is_learned(void **state)
{
	struct learn_terms t = { .mode = LEARN_STRICT };
	struct sockaddr_storage from;
	struct learn_arrival p = { .from = &from, .ssrc = 7, .valid = true };
	struct learn l;

	assert_int_equal(address_parse("[fe80::1]:4000", &t.signalled), 0);
	from = t.signalled;
	((struct sockaddr_in6 *)(void *)&from)->sin6_scope_id = 3;
	learn_init(&l, &t);
	assert_int_equal(learn_packet(&l, &p, 0),
			 LEARN_NEW_SSRC | LEARN_NEW_ADDRESS);
	assert_int_equal(
		((const struct sockaddr_in6 *)(const void *)learn_to(&l))
			->sin6_scope_id,
		3);
	for (p.seq = 1; p.seq < 9; p.seq++)
		assert_int_equal(learn_packet(&l, &p, p.seq), LEARN_ACCEPTED);
	((struct sockaddr_in6 *)(void *)&from)->sin6_scope_id = 4;
	assert_int_equal(learn_packet(&l, &p, 9), LEARN_FOREIGN_ADDRESS);
}

static void a_packet_needs_one_cache_line(void **state)
{
	assert_true(offsetof(struct learn, at) + sizeof(struct sockaddr_in6) <=
		    CACHE_LINE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_packet_tells),
		cmocka_unit_test(strict_hears_the_told_address_only),
		cmocka_unit_test(an_ssrc_that_is_told_is_the_only_one),
		cmocka_unit_test(another_ssrc_is_taken_with_its_third_packet),
		cmocka_unit_test(of_two_ssrcs_at_once_the_newer_wins),
		cmocka_unit_test(after_a_silence_one_packet_is_enough),
		cmocka_unit_test(a_source_that_goes_on_elsewhere_is_followed),
		cmocka_unit_test(what_is_not_valid_proves_nothing),
		cmocka_unit_test(
			an_offer_that_repeats_the_address_takes_nothing),
		cmocka_unit_test(an_offer_of_another_address_is_a_notice),
		cmocka_unit_test(a_first_address_is_no_notice),
		cmocka_unit_test(it_settles),
		cmocka_unit_test(asymmetric_hears_all_and_learns_nothing),
		cmocka_unit_test(times_can_be_chosen),
		cmocka_unit_test(a_senders_link_is_learned),
		cmocka_unit_test(a_packet_needs_one_cache_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
