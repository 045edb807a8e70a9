/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters: the sum over threads, under the names of the list.
 */
#include <pthread.h>
#include <string.h>

#include "cmocka_cr.h"
#include "observe/counters.h"

enum { THREADS = 3, EVENTS = 100000 };

static void *count(void *arg)
{
	for (unsigned i = 0; i < EVENTS; i++)
		counter_add(arg, COUNTER_RX_PACKETS, 2);
	return NULL;
}

static void the_sum_over_threads_is_exact(void **state)
{
	static struct counters block[THREADS];
	const struct counters *blocks[THREADS];
	pthread_t thread[THREADS];
	json_t *sum;

	(void)state;
	for (unsigned i = 0; i < THREADS; i++) {
		blocks[i] = &block[i];
		assert_int_equal(
			pthread_create(&thread[i], NULL, count, &block[i]), 0);
	}
	json_decref(counters_json(blocks, THREADS)); /* while they count */
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	sum = counters_json(blocks, THREADS);
	assert_non_null(sum);
	assert_int_equal(json_integer_value(json_object_get(sum, "rx_packets")),
			 THREADS * EVENTS * 2);
	assert_int_equal(json_object_size(sum), COUNTER_COUNT);
	json_decref(sum);
}

static void names_differ_and_have_help(void **state)
{
	(void)state;
	for (unsigned i = 0; i < COUNTER_COUNT; i++) {
		assert_true(strlen(counter_help(i)) > 0);
		for (unsigned j = 0; j < i; j++)
			assert_string_not_equal(counter_name(i),
						counter_name(j));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_sum_over_threads_is_exact),
		cmocka_unit_test(names_differ_and_have_help),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
