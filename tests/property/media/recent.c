/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Latest times between two threads: each comes at most once and in order, none
 * is a mixture, and a reader that keeps up gets all of them.
 */
#include "cmocka_cr.h"

#include <pthread.h>
#include <sched.h>

#include "media/rtp_stream.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { TIMES = 200000 };
#else
enum { TIMES = 2000000 };
#endif

static void put_range(struct recent *r, uint32_t from, uint32_t to)
{
	for (; from < to; from++)
		recent_put(r, from);
}

static void all_of_them_in_order(void **state)
{
	struct recent r = { 0 };
	uint32_t out[RECENT_TIMES];
	unsigned seen = 0;

	assert_int_equal(recent_take(&r, &seen, out), 0);
	for (uint32_t at = 0, n = 1; at < 10000; at += n, n = n % 63 + 1) {
		put_range(&r, at, at + n);
		assert_int_equal(recent_take(&r, &seen, out), n);
		for (uint32_t i = 0; i < n; i++)
			assert_int_equal(out[i], at + i);
		assert_int_equal(recent_take(&r, &seen, out), 0);
	}
}

static void of_too_many_the_newest(void **state)
{
	struct recent r = { 0 };
	uint32_t out[RECENT_TIMES];
	unsigned seen = 0;

	put_range(&r, 0, 1000);
	assert_int_equal(recent_take(&r, &seen, out), RECENT_TIMES - 1);
	for (uint32_t i = 0; i < RECENT_TIMES - 1; i++)
		assert_int_equal(out[i], 1000 - (RECENT_TIMES - 1) + i);
}

static void what_does_not_fit_is_cut(void **state)
{
	struct recent r = { 0 };
	uint32_t out[RECENT_TIMES];
	unsigned seen = 0;

	recent_put(&r, -1);
	recent_put(&r, 3600 * CR_SEC);
	assert_int_equal(recent_take(&r, &seen, out), 2);
	assert_int_equal(out[0], 0);
	assert_int_equal(out[1], UINT32_MAX);
}

static void the_count_wraps(void **state)
{
	struct recent r = { .count = UINT32_MAX - 2 };
	uint32_t out[RECENT_TIMES];
	unsigned seen = UINT32_MAX - 2;

	put_range(&r, 1, 6);
	assert_int_equal(recent_take(&r, &seen, out), 5);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(out[i], 1 + i);
}

/* --- two threads --- */

static void *write_all(void *arg)
{
	struct recent *r = arg;

	for (uint32_t i = 0; i < TIMES; i++) {
		recent_put(r, i);
		if (i % 1024 == 0)
			(void)sched_yield();
	}
	return NULL;
}

static void each_at_most_once_under_the_writers_hands(void **state)
{
	struct recent r = { 0 };
	uint32_t out[RECENT_TIMES];
	unsigned seen = 0;
	int64_t last = -1;
	pthread_t writer;

	assert_int_equal(pthread_create(&writer, NULL, write_all, &r), 0);
	while (last < TIMES - 1) {
		unsigned n = recent_take(&r, &seen, out);

		for (unsigned i = 0; i < n; i++) {
			if ((int64_t)out[i] <= last)
				fail_msg("%u after %lld", out[i],
					 (long long)last);
			last = out[i];
		}
		/* the newest are there: @last is what was put last */
		if (n)
			assert_int_equal(last, (int64_t)seen - 1);
	}
	assert_int_equal(pthread_join(writer, NULL), 0);
	assert_int_equal(recent_take(&r, &seen, out), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_of_them_in_order),
		cmocka_unit_test(of_too_many_the_newest),
		cmocka_unit_test(what_does_not_fit_is_cut),
		cmocka_unit_test(the_count_wraps),
		cmocka_unit_test(each_at_most_once_under_the_writers_hands),
	};

	return cmocka_run_group_tests_name("recent", tests, NULL, NULL);
}
