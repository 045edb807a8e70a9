/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An endpoint: names that do not outlive it, terms that its receiver takes at
 * the next packet, and answers that go where its party is.
 */
#include "loopback.h"
#include "media/endpoint.h"

static void assert_answers_to(const struct endpoint *l, const char *text)
{
	const struct sockaddr_storage want = address_at(text);
	struct sockaddr_storage got;

	(void)destination_read(&l->to, &got);
	assert_true(address_equal(&got, &want));
}

static unsigned hear(struct endpoint *l, const char *from, uint16_t seq)
{
	const struct sockaddr_storage a = address_at(from);
	const struct learn_arrival p = {
		.from = &a, .ssrc = 1, .seq = seq, .valid = true
	};

	return endpoint_receive(l, &p, (seq + 1) * 20 * CR_MS);
}

static void a_name_dies_with_its_endpoint(void **state)
{
	static struct endpoints endpoints;
	struct endpoint *one = endpoint_new(&(struct endpoint_cfg){ .fd = 7 }),
			*two;
	uint64_t key;

	assert_int_equal(endpoints_add(&endpoints, one), 0);
	key = one->key;
	assert_ptr_equal(endpoints_find(&endpoints, key), one);
	endpoints_del(&endpoints, one);
	assert_null(endpoints_find(&endpoints, key));
	two = endpoint_new(&(struct endpoint_cfg){ .fd = 7 });
	assert_int_equal(endpoints_add(&endpoints, two), 0);
	assert_int_not_equal(two->key, key);
	assert_null(endpoints_find(&endpoints, key));
	assert_ptr_equal(endpoints_find(&endpoints, two->key), two);
	endpoints_del(&endpoints, two);
	endpoint_free(one);
	endpoint_free(two);
	endpoints_fini(&endpoints);
}

static void answers_go_where_the_party_is(void **state)
{
	const struct endpoint_cfg cfg = { .terms = {
						  .mode = LEARN_IMMEDIATE,
						  .signalled = address_at(
							  "192.0.2.1:4000"),
					  } };
	struct endpoint *l = endpoint_new(&cfg);

	assert_answers_to(l, "192.0.2.1:4000");
	assert_true(learn_accepts(hear(l, "198.51.100.9:1024", 0)));
	assert_answers_to(l, "198.51.100.9:1024");
	endpoint_free(l);
}

static void new_terms_hold_from_the_next_packet_on(void **state)
{
	const struct endpoint_cfg cfg = { .terms.mode = LEARN_IMMEDIATE };
	struct endpoint *l = endpoint_new(&cfg);
	struct learn_terms terms = cfg.terms;

	assert_true(learn_accepts(hear(l, "198.51.100.9:1024", 0)));
	terms.mode = LEARN_STRICT;
	terms.signalled = address_at("192.0.2.1:4000");
	endpoint_again(l, &terms);
	assert_answers_to(l, "192.0.2.1:4000");
	assert_int_equal(hear(l, "198.51.100.9:1024", 1),
			 LEARN_FOREIGN_ADDRESS);
	assert_true(learn_accepts(hear(l, "192.0.2.1:4000", 2)));
	assert_answers_to(l, "192.0.2.1:4000");
	endpoint_free(l);
}

/* The party may say nothing for long after it. */
static void a_repeated_address_moves_no_answers(void **state)
{
	const struct endpoint_cfg cfg = { .terms = {
						  .mode = LEARN_IMMEDIATE,
						  .signalled = address_at(
							  "192.0.2.1:4000"),
					  } };
	struct endpoint *l = endpoint_new(&cfg);
	struct learn_terms terms = cfg.terms;

	assert_true(learn_accepts(hear(l, "198.51.100.9:1024", 0)));
	endpoint_again(l, &terms);
	assert_answers_to(l, "198.51.100.9:1024");
	terms.mode = LEARN_DELAYED;
	endpoint_again(l, &terms);
	assert_answers_to(l, "198.51.100.9:1024");
	assert_true(learn_accepts(hear(l, "198.51.100.9:1024", 1)));
	assert_answers_to(l, "198.51.100.9:1024");
	terms.signalled = address_at("192.0.2.1:4002");
	endpoint_again(l, &terms);
	assert_answers_to(l, "192.0.2.1:4002");
	terms.mode = LEARN_STRICT;
	terms.signalled = address_at("192.0.2.1:4000");
	endpoint_again(l, &terms);
	assert_answers_to(l, "192.0.2.1:4000");
	endpoint_free(l);
}

/* It came later than the party's first packets. */
static void a_first_address_moves_no_party_that_was_heard(void **state)
{
	const struct endpoint_cfg cfg = { .terms.mode = LEARN_IMMEDIATE };
	struct endpoint *heard = endpoint_new(&cfg),
			*no_listener = endpoint_new(&cfg);
	struct learn_terms terms = cfg.terms;

	terms.signalled = address_at("192.0.2.1:4000");
	assert_true(learn_accepts(hear(heard, "198.51.100.9:1024", 0)));
	endpoint_again(heard, &terms);
	endpoint_again(no_listener, &terms);
	assert_answers_to(heard, "198.51.100.9:1024");
	assert_answers_to(no_listener, "192.0.2.1:4000");
	assert_true(learn_accepts(hear(heard, "198.51.100.9:1024", 1)));
	assert_answers_to(heard, "198.51.100.9:1024");
	endpoint_free(heard);
	endpoint_free(no_listener);
}

/* As many as ENDPOINT_BURST holds, then none for ENDPOINT_REST. */
static void a_flood_is_not_heard_for_a_while(void **state)
{
	struct endpoint *l = endpoint_new(&(struct endpoint_cfg){ .fd = 7 });
	cr_ns now = 5 * CR_SEC;
	unsigned heard = 0;

	while (endpoint_paces(l, now))
		heard++;
	assert_int_equal(heard, ENDPOINT_BURST / CR_SEC * ENDPOINT_RATE + 1);
	assert_false(endpoint_paces(l, now + ENDPOINT_REST - 1));
	now += ENDPOINT_REST;
	for (unsigned i = 0; i < 2 * heard; i++, now += CR_SEC / ENDPOINT_RATE)
		assert_true(endpoint_paces(l, now));
	endpoint_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_dies_with_its_endpoint),
		cmocka_unit_test(answers_go_where_the_party_is),
		cmocka_unit_test(new_terms_hold_from_the_next_packet_on),
		cmocka_unit_test(a_repeated_address_moves_no_answers),
		cmocka_unit_test(a_first_address_moves_no_party_that_was_heard),
		cmocka_unit_test(a_flood_is_not_heard_for_a_while),
	};

	return cmocka_run_group_tests_name("endpoint", tests, NULL, NULL);
}
