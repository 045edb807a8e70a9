/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HOST[:PORT] and unix:PATH as the programs take them.
 */
#include <errno.h>
#include <string.h>

#include "cmocka_cr.h"
#include "transport/transport.h"

static void the_port_may_be_left_out(void **state)
{
	struct transport_addr a = { .udp_port = 7 };

	assert_int_equal(transport_addr_parse(&a, "node-1"), 0);
	assert_string_equal(a.host, "node-1");
	assert_int_equal(a.sctp_port, TRANSPORT_SCTP_PORT);
	assert_int_equal(transport_addr_parse(&a, "[::1]:1"), 0);
	assert_string_equal(a.host, "::1");
	assert_int_equal(a.sctp_port, 1);
	assert_int_equal(a.udp_port, 7);
}

static void what_is_wrong_leaves_it_as_it_was(void **state)
{
	struct transport_addr a = { .host = "kept", .sctp_port = 5 };
	char name[sizeof(a.host) + 1] = "";

	memset(name, 'n', sizeof(a.host));
	assert_int_equal(transport_addr_parse(&a, name), -EINVAL);
	assert_int_equal(transport_addr_parse(&a, ""), -EINVAL);
	assert_int_equal(transport_addr_parse(&a, "h:0"), -ERANGE);
	assert_int_equal(transport_addr_parse(&a, "h:65536"), -ERANGE);
	assert_string_equal(a.host, "kept");
	assert_int_equal(a.sctp_port, 5);
	name[sizeof(a.host) - 1] = '\0'; /* the longest */
	assert_int_equal(transport_addr_parse(&a, name), 0);
	assert_string_equal(a.host, name);
}

static void a_path_stands_behind_unix(void **state)
{
	struct transport_addr a = { .host = "kept" };
	char text[150] = "unix:";

	assert_int_equal(transport_addr_parse(&a, "unix:/run/a:b"), 0);
	assert_string_equal(a.path, "/run/a:b");
	assert_string_equal(a.host, "kept");
	assert_int_equal(transport_addr_parse(&a, "unix:"), -EINVAL);
	memset(text + 5, 'p', 108);
	assert_int_equal(transport_addr_parse(&a, text), -ENAMETOOLONG);
	assert_string_equal(a.path, "/run/a:b");
	text[5 + 107] = '\0';
	assert_int_equal(transport_addr_parse(&a, text), 0);
	assert_int_equal(strlen(a.path), TRANSPORT_PATH_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_port_may_be_left_out),
		cmocka_unit_test(what_is_wrong_leaves_it_as_it_was),
		cmocka_unit_test(a_path_stands_behind_unix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
