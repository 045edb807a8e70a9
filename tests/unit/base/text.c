/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses and CPU lists as text, there and back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/address.h"
#include "base/cpu_list.h"

static void addresses_survive_the_round_trip(void **state)
{
	static const char *const good[] = { "127.0.0.1:5004", "[::1]:65535",
					    "10.1.2.3:0" };
	struct sockaddr_storage a;
	char text[64];

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(address_parse(good[i], &a), 0);
		assert_string_equal(address_text(&a, text, sizeof(text)),
				    good[i]);
	}
}

static void what_is_no_address_is_refused(void **state)
{
	static const char *const bad[] = { "",
					   ":1",
					   "127.0.0.1",
					   "127.0.0.1:",
					   "127.0.0.1:x",
					   "127.0.0.1:65536",
					   "127.0.0.1:-1",
					   "localhost:1",
					   "[::1]",
					   "1.2.3:4",
					   "127.0.0.1: 1" };
	struct sockaddr_storage a;

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(address_parse(bad[i], &a), -22);
}

static void cpu_lists_keep_their_order(void **state)
{
	struct cpu_list list;

	(void)state;
	assert_int_equal(cpu_list_parse(&list, "7,1-3,0", NULL), 0);
	assert_int_equal(list.count, 5);
	assert_int_equal(list.cpu[0], 7);
	assert_int_equal(list.cpu[3], 3);
	assert_int_equal(list.cpu[4], 0);
}

static void what_is_no_cpu_list_is_refused(void **state)
{
	static const char *const bad[] = { "",	",",  "1,",   "3-1",   "1,1",
					   "a", "-1", "1--2", "0-256", "1-2x" };
	struct cpu_list list = { .count = 77 };
	struct cr_err e;

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(cpu_list_parse(&list, bad[i], &e), -22);
	assert_int_equal(list.count, 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_survive_the_round_trip),
		cmocka_unit_test(what_is_no_address_is_refused),
		cmocka_unit_test(cpu_lists_keep_their_order),
		cmocka_unit_test(what_is_no_cpu_list_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
