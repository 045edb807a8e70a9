/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairs of ports: which a range has, that nobody gets what another one has, and
 * that a pair that has just been given back is the last to be taken again.
 */
#include "cmocka_cr.h"

#include <errno.h>
#include <string.h>

#include "seed.h"
#include "node/interfaces.h"

enum { FIRST = 30000, PAIRS = 50 };

static struct port_range range_of(const char *text)
{
	struct port_range r = { 0 };
	struct cr_err e;

	assert_int_equal(port_range_parse(&r, text, &e), 0);
	return r;
}

static struct port_pool pool_of(const char *text, uint64_t seed)
{
	struct port_range r = range_of(text);
	struct port_pool p;

	assert_int_equal(port_pool_init(&p, &r, seed), 0);
	return p;
}

static void a_range_has_the_pairs_that_fit_into_it(void **state)
{
	static const struct {
		const char *text;
		unsigned pairs, first;
	} cases[] = {
		{ "30000-30009", 5, 30000 }, { "30000-30010", 5, 30000 },
		{ "30001-30010", 4, 30002 }, { "30001-30009", 4, 30002 },
		{ "30000-30001", 1, 30000 }, { "1-65535", 32767, 2 },
		{ "65534-65535", 1, 65534 }, { "2-65535", 32767, 2 },
	};
	char text[PORT_RANGE_TEXT];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct port_range r = range_of(cases[i].text);
		struct port_pool p = pool_of(cases[i].text, 1);

		assert_string_equal(port_range_text(&r, text), cases[i].text);
		assert_int_equal(port_range_pairs(&r), cases[i].pairs);
		assert_int_equal(p.npairs, cases[i].pairs);
		assert_int_equal(p.nfree, cases[i].pairs);
		assert_int_equal(p.first, cases[i].first);
		port_pool_fini(&p);
	}
}

static void what_is_no_range_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"30000",
		"30000-",
		"-30000",
		"30000-70000",
		"0-100",
		"30000-30000",
		"30001-30002",
		"40000-30000",
		"30000-30009x",
		"30000 -30009",
		"a-b",
		"+1-5",
		"30000:30009",
		"65535-65535",
	};
	struct port_range r = { 7, 8 };

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct cr_err e = { "" };

		assert_int_equal(port_range_parse(&r, texts[i], &e), -EINVAL);
		assert_true(*e.text);
		assert_true(r.from == 7 && r.to == 8);
	}
}

static void every_pair_is_taken_once(void **state)
{
	struct port_pool p = pool_of("30000-30099", test_seed());
	bool seen[PAIRS] = { false };

	for (unsigned i = 0; i < PAIRS; i++) {
		unsigned port = port_pool_take(&p);

		assert_true(port >= FIRST && port < FIRST + 2 * PAIRS);
		assert_int_equal(port % 2, 0);
		assert_false(seen[(port - FIRST) / 2]);
		seen[(port - FIRST) / 2] = true;
		assert_int_equal(p.nfree, PAIRS - 1 - i);
	}
	assert_int_equal(port_pool_take(&p), 0);
	port_pool_give(&p, FIRST + 8);
	assert_int_equal(port_pool_take(&p), FIRST + 8);
	assert_int_equal(port_pool_take(&p), 0);
	port_pool_fini(&p);
}

static void the_order_is_the_seeds(void **state)
{
	struct port_pool a = pool_of("30000-30099", 1),
			 b = pool_of("30000-30099", 1),
			 c = pool_of("30000-30099", 2);
	unsigned same = 0;

	for (unsigned i = 0; i < PAIRS; i++) {
		unsigned port = port_pool_take(&a);

		assert_int_equal(port_pool_take(&b), port);
		same += port_pool_take(&c) == port;
	}
	assert_true(same < PAIRS / 2);
	port_pool_fini(&a);
	port_pool_fini(&b);
	port_pool_fini(&c);
}

/* Against a list that is as simple as can be: the free pairs, oldest first. */
static void the_oldest_free_pair_is_next(void **state)
{
	struct port_pool p = pool_of("30000-30099", test_seed());
	unsigned queue[PAIRS], taken[PAIRS], nfree = PAIRS, ntaken = 0;
	uint64_t seed = test_seed();

	memset(queue, 0, sizeof(queue));
	for (unsigned i = 0; i < PAIRS; i++)
		queue[i] = port_pool_take(&p);
	for (unsigned i = 0; i < PAIRS; i++)
		port_pool_give(&p, queue[i]);
	for (unsigned i = 0; i < TEST_TRIES(20000); i++) {
		if (test_below(&seed, 2) && nfree) {
			assert_int_equal(port_pool_take(&p), queue[0]);
			taken[ntaken++] = queue[0];
			memmove(queue, queue + 1, --nfree * sizeof(*queue));
		} else if (ntaken) {
			unsigned k = test_below(&seed, ntaken);

			port_pool_give(&p, taken[k]);
			queue[nfree++] = taken[k];
			taken[k] = taken[--ntaken];
		}
		assert_int_equal(p.nfree, nfree);
	}
	port_pool_fini(&p);
}

/* As a process does that goes on with the ports of one that has died. */
static void a_pair_that_is_named_is_taken_once(void **state)
{
	const struct port_range r = { FIRST, FIRST + 19 };
	struct port_pool p;

	(void)state;
	assert_int_equal(port_pool_init(&p, &r, 1), 0);
	for (unsigned i = 0; i < 10; i += 3) {
		assert_true(port_pool_take_at(&p, FIRST + 2 * i));
		assert_false(port_pool_take_at(&p, FIRST + 2 * i));
	}
	assert_false(port_pool_take_at(&p, FIRST - 2));
	assert_false(port_pool_take_at(&p, FIRST + 20));
	assert_int_equal(p.nfree, 6);
	for (unsigned i = 0; i < 6; i++)
		assert_int_not_equal((port_pool_take(&p) - FIRST) / 2 % 3, 0);
	assert_int_equal(port_pool_take(&p), 0);
	port_pool_give(&p, FIRST + 6);
	assert_true(port_pool_take_at(&p, FIRST + 6));
	port_pool_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_range_has_the_pairs_that_fit_into_it),
		cmocka_unit_test(what_is_no_range_is_refused),
		cmocka_unit_test(every_pair_is_taken_once),
		cmocka_unit_test(the_order_is_the_seeds),
		cmocka_unit_test(the_oldest_free_pair_is_next),
		cmocka_unit_test(a_pair_that_is_named_is_taken_once),
	};

	return cmocka_run_group_tests_name("port_pool", tests, NULL, NULL);
}
