/* SPDX-License-Identifier: Apache-2.0 */
/* What each host may ask. */
#define _GNU_SOURCE
#include "loopback.h"

#include <stdio.h>
#include <stdlib.h>

#include "ng/listener_impl.h"

static struct rate_limit *open_rate_limit(unsigned hosts)
{
	struct rate_limit *a = rate_limit_new(&(struct rate_limit_cfg){
		.per_second = 10, .burst = 3, .hosts = hosts });

	assert_non_null(a);
	return a;
}

static cr_ns take(struct rate_limit *a, const char *from, cr_ns now)
{
	const struct sockaddr_storage at = address_at(from);

	return rate_limit_take(a, &at, now);
}

#define A "192.0.2.1:5000"
#define B "[2001:db8::1]:5000"

static void a_burst_and_then_the_rate(void **state)
{
	struct rate_limit *a = open_rate_limit(8);

	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(take(a, A, 0), 0);
	assert_int_equal(take(a, A, 0), 100 * CR_MS);
	assert_int_equal(take(a, A, 99 * CR_MS), CR_MS);
	assert_int_equal(take(a, A, 100 * CR_MS), 0);
	assert_int_equal(take(a, A, 100 * CR_MS), 100 * CR_MS);
	/* it is full again, and no fuller */
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(take(a, A, 100 * CR_SEC), 0);
	assert_true(take(a, A, 100 * CR_SEC) > 0);
	free(a);
}

static void hosts_are_apart_and_their_ports_are_not(void **state)
{
	struct rate_limit *a = open_rate_limit(8);

	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(take(a, A, 0), 0);
	assert_true(take(a, "192.0.2.1:1", 0) > 0);
	assert_int_equal(take(a, "192.0.2.2:5000", 0), 0);
	assert_int_equal(take(a, B, 0), 0);
	assert_true(take(a, "[::ffff:192.0.2.1]:5000", 0) > 0);
	free(a);
}

/* Who floods stays in the table, as it asks all the time. */
static void strangers_do_not_wash_a_flooder_out(void **state)
{
	struct rate_limit *a = open_rate_limit(4);
	char from[32];

	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(take(a, A, 0), 0);
	for (unsigned i = 0; i < 1000; i++) {
		(void)snprintf(from, sizeof(from), "198.51.%u.%u:5000", i / 250,
			       i % 250);
		assert_int_equal(take(a, from, 0), 0);
		assert_true(take(a, A, 0) > 0);
	}
	/* but who is silent goes */
	for (unsigned i = 0; i < 4; i++) {
		(void)snprintf(from, sizeof(from), "203.0.113.%u:5000", i);
		assert_int_equal(take(a, from, 0), 0);
	}
	assert_int_equal(take(a, A, 0), 0);
	free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_burst_and_then_the_rate),
		cmocka_unit_test(hosts_are_apart_and_their_ports_are_not),
		cmocka_unit_test(strangers_do_not_wash_a_flooder_out),
	};

	return cmocka_run_group_tests_name("ng rate_limit", tests, NULL, NULL);
}
