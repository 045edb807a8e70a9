/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random octets: all of a buffer are filled, whatever its length, none twice,
 * and threads do not share them.
 */
#include "base/random.h"
#include "cmocka_cr.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Every octet of @n changes within some draws; what is behind stays. */
static void fills_all_and_no_more(void **state)
{
	static const size_t lengths[] = { 1, 2, 3, 24, 255, 256, 257, 1000 };
	uint8_t buf[1001], seen[1001];

	for (unsigned i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		size_t n = lengths[i];

		memset(buf, 0, sizeof(buf));
		memset(seen, 0, sizeof(seen));
		for (unsigned k = 0; k < 16; k++) { /* all zero: 2^-128 */
			random_fill(buf, n);
			for (size_t j = 0; j < n; j++)
				seen[j] |= buf[j];
		}
		for (size_t j = 0; j < n; j++)
			assert_int_not_equal(seen[j], 0);
		for (size_t j = n; j < sizeof(buf); j++)
			assert_int_equal(buf[j], 0);
	}
}

static int by_value(const void *a, const void *b)
{
	uint64_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return (x > y) - (x < y);
}

static void assert_all_differ(uint64_t *n, size_t count)
{
	qsort(n, count, sizeof(*n), by_value);
	for (size_t i = 1; i < count; i++)
		assert_true(n[i - 1] != n[i]);
}

static void nothing_comes_twice(void **state)
{
	static uint64_t n[10000];

	for (size_t i = 0; i < 10000; i++)
		random_fill(&n[i], sizeof(n[i]));
	assert_all_differ(n, 10000);
}

enum { THREADS = 4, EACH = 500 };

static void *draw(void *arg)
{
	uint64_t *n = arg;

	for (unsigned i = 0; i < EACH; i++)
		random_fill(&n[i], sizeof(n[i]));
	return NULL;
}

static void threads_draw_apart(void **state)
{
	static uint64_t n[THREADS * EACH];
	pthread_t thread[THREADS];

	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(
			pthread_create(&thread[i], NULL, draw, &n[i * EACH]),
			0);
	for (unsigned i = 0; i < THREADS; i++)
		(void)pthread_join(thread[i], NULL);
	assert_all_differ(n, THREADS * EACH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fills_all_and_no_more),
		cmocka_unit_test(nothing_comes_twice),
		cmocka_unit_test(threads_draw_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
