/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A receiver's memory of calls says what the table says: after a call has left,
 * after another came under its SSRC, and when two SSRCs want the same entry.
 */
#include <stdlib.h>
#include <string.h>

#include "cmocka_cr.h"
#include "media/rtp_stream.h"

enum { CALLS = 20000 }; /* more than entries */

static struct stream_cache cache;
static struct stream_table *table;

/* The table needs no more of a call than this. */
static struct transcoder *add(uint32_t ssrc)
{
	struct transcoder *c =
		aligned_alloc(_Alignof(struct transcoder), sizeof(*c));

	assert_non_null(c);
	memset(c, 0, sizeof(*c));
	c->ssrc_in = ssrc;
	assert_int_equal(stream_table_add(table, c), 0);
	return c;
}

static struct transcoder *find(uint32_t ssrc)
{
	struct transcoder *c;

	rcu_read_begin();
	c = stream_cache_find(&cache, table, ssrc);
	assert_ptr_equal(c, stream_table_find(table, ssrc));
	rcu_read_end();
	return c;
}

static int setup(void **state)
{
	rcu_register_thread();
	table = stream_table_new(1024);
	memset(&cache, 0, sizeof(cache));
	return table ? 0 : -1;
}

static int teardown(void **state)
{
	stream_table_free(table);
	rcu_unregister_thread();
	return 0;
}

static void a_call_that_left_is_not_found(void **state)
{
	struct transcoder *first = add(7), *second;

	assert_ptr_equal(find(7), first);
	assert_ptr_equal(find(7), first);
	assert_null(find(8));
	stream_table_del(table, first);
	assert_null(find(7));
	second = add(7);
	assert_ptr_equal(find(7), second);
	stream_table_del(table, second);
	assert_null(find(7));
	free(first);
	free(second);
}

static void all_are_found_however_many(void **state)
{
	static struct transcoder *call[CALLS];

	for (uint32_t i = 0; i < CALLS; i++)
		call[i] = add(i * 77 + 1);
	for (unsigned round = 0; round < 2; round++)
		for (uint32_t i = 0; i < CALLS; i++)
			assert_ptr_equal(find(i * 77 + 1), call[i]);
	for (uint32_t i = 0; i < CALLS; i++) {
		stream_table_del(table, call[i]);
		if (i % 100 == 0)
			assert_null(find(i * 77 + 1));
	}
	assert_int_equal(stream_table_removals(table), CALLS);
	for (uint32_t i = 0; i < CALLS; i++)
		free(call[i]);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_call_that_left_is_not_found),
		TEST(all_are_found_however_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
