/* SPDX-License-Identifier: Apache-2.0 */
/* Who may ask. */
#include "cmocka_cr.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/address.h"

static bool may(const char *list, const char *who)
{
	struct networks g;
	struct sockaddr_storage from;
	struct cr_err e = { "" };

	if (networks_read(&g, list, &e))
		fail_msg("%s: %s", list, e.text);
	assert_int_equal(address_parse_host(who, &from), 0);
	address_set_port(&from, 5060);
	return networks_has(&g, &from);
}

static void a_host_is_one_and_a_network_many(void **state)
{
	assert_true(may("192.0.2.7", "192.0.2.7"));
	assert_false(may("192.0.2.7", "192.0.2.6"));
	assert_true(may("192.0.2.0/24", "192.0.2.255"));
	assert_false(may("192.0.2.0/24", "192.0.3.0"));
	assert_true(may("192.0.2.4/30", "192.0.2.7"));
	assert_false(may("192.0.2.4/30", "192.0.2.8"));
	assert_true(may("192.0.2.6/31", "192.0.2.7"));
	assert_true(may("0.0.0.0/0", "203.0.113.9"));
	assert_true(may("2001:db8::/33", "2001:db8:7fff::1"));
	assert_false(may("2001:db8::/33", "2001:db8:8000::1"));
	assert_true(may("[::1]", "::1"));
	assert_true(may("198.51.100.1,2001:db8::1,192.0.2.0/24", "192.0.2.9"));
}

/* Nor is an address of one family in a network of the other one. */
static void families_are_apart_but_for_mapped_addresses(void **state)
{
	assert_false(may("0.0.0.0/0", "::1"));
	assert_false(may("::/96", "127.0.0.1"));
	assert_true(may("127.0.0.0/8", "::ffff:127.0.0.1"));
	assert_true(may("::/0", "192.0.2.1")); /* that is everybody */
}

static void what_is_no_list_is_refused(void **state)
{
	static const char *const wrong[] = {
		"",
		",",
		"192.0.2.7,",
		"localhost",
		"192.0.2",
		"192.0.2.7/33",
		"192.0.2.7/-1",
		"192.0.2.7/",
		"::1/129",
		"::1/ 1",
		"192.0.2.7/1/1",
		"192.0.2.7 ",
		"192.0.2.7:22222",
	};
	struct networks g;
	struct cr_err e;
	char many[(NETWORKS_MAX + 1) * 4 + 1] = "::1";

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		if (networks_read(&g, wrong[i], &e) != -EINVAL)
			fail_msg("%s", wrong[i]);
	for (unsigned i = 1; i < NETWORKS_MAX; i++)
		strcat(many, ",::1");
	assert_int_equal(networks_read(&g, many, &e), 0);
	strcat(many, ",::1");
	assert_int_equal(networks_read(&g, many, &e), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_host_is_one_and_a_network_many),
		cmocka_unit_test(families_are_apart_but_for_mapped_addresses),
		cmocka_unit_test(what_is_no_list_is_refused),
	};

	return cmocka_run_group_tests_name("networks", tests, NULL, NULL);
}
