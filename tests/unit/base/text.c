/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses and CPU lists as text, there and back.
 */
#define _GNU_SOURCE /* sched_setaffinity() */
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>

#include "base/topology.h"
#include "loopback.h"

static void addresses_survive_the_round_trip(void **state)
{
	static const char *const good[] = { "127.0.0.1:5004", "[::1]:65535",
					    "10.1.2.3:0" };
	struct sockaddr_storage a;
	char text[64];

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
					   "::1:5004",
					   "[::1:5004",
					   "1.2.3:4",
					   "127.0.0.1: 1" };
	struct sockaddr_storage a;

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(address_parse(bad[i], &a), -22);
}

static void hosts_without_ports_are_addresses(void **state)
{
	static const struct {
		const char *text, *host;
		bool any;
	} good[] = {
		{ "127.0.0.1", "127.0.0.1", false },
		{ "0.0.0.0", "0.0.0.0", true },
		{ "::1", "::1", false },
		{ "[2001:DB8::7]", "2001:db8::7", false },
		{ "::", "::", true },
	};
	static const char *const bad[] = { "",	   "localhost",	 "1.2.3.4:5",
					   "[::1", "[::1]:5004", "1.2.3" };
	struct sockaddr_storage a;
	char text[64];

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		assert_int_equal(address_parse_host(good[i].text, &a), 0);
		assert_string_equal(address_host_text(&a, text, sizeof(text)),
				    good[i].host);
		assert_int_equal(address_port(&a), 0);
		assert_int_equal(address_any(&a), good[i].any);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(address_parse_host(bad[i], &a), -22);
}

/* Names are hosts too; only brackets give an IPv6 address a port. */
static void a_host_is_cut_from_its_port(void **state)
{
	static const struct {
		const char *text, *host;
		int port;
	} good[] = {
		{ "localhost", "localhost", -1 },
		{ "localhost:0", "localhost", 0 },
		{ "10.1.2.3:65535", "10.1.2.3", 65535 },
		{ "::1", "::1", -1 },
		{ "::1:5004", "::1:5004", -1 },
		{ "[::1]", "::1", -1 },
		{ "[::1]:5004", "::1", 5004 },
	};
	char host[16];
	int port;

	for (unsigned i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(
			address_split(good[i].text, host, sizeof(host), &port),
			0);
		assert_string_equal(host, good[i].host);
		assert_int_equal(port, good[i].port);
	}
}

static void a_bad_split_says_what_is_bad(void **state)
{
	static const char *const hosts[] = { "",
					     ":1",
					     "[]:1",
					     "[::1",
					     "[::1]1",
					     "[::1]x:1",
					     "0123456789abcdef" };
	static const char *const ports[] = {
		"a:",	"a:x",	   "a:-1",   "a: 1",	   "a:+1",
		"a:1x", "a:65536", "[::1]:", "[::1]:70000"
	};
	char host[16] = "kept";
	int port = 7;

	for (unsigned i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++)
		assert_int_equal(
			address_split(hosts[i], host, sizeof(host), &port),
			-EINVAL);
	for (unsigned i = 0; i < sizeof(ports) / sizeof(ports[0]); i++)
		assert_int_equal(
			address_split(ports[i], host, sizeof(host), &port),
			-ERANGE);
	assert_string_equal(host, "kept");
	assert_int_equal(port, 7);
}

static void a_port_is_set_and_read(void **state)
{
	struct sockaddr_storage v4 = address_at("10.1.2.3:4");
	struct sockaddr_storage v6 = address_at("[::1]:5");
	char text[64];

	assert_int_equal(address_port(&v4), 4);
	assert_int_equal(address_port(&v6), 5);
	address_set_port(&v4, 65535);
	address_set_port(&v6, 256);
	assert_string_equal(address_text(&v4, text, sizeof(text)),
			    "10.1.2.3:65535");
	assert_string_equal(address_text(&v6, text, sizeof(text)), "[::1]:256");
}

static void set_link(struct sockaddr_storage *a, uint32_t link)
{
	((struct sockaddr_in6 *)(void *)a)->sin6_scope_id = link;
}

static void equal_is_family_host_port_and_link(void **state)
{
	static const char *const all[] = { "10.1.2.3:4",  "10.1.2.4:4",
					   "10.1.2.3:5",  "[fe80::1]:4",
					   "[fe80::2]:4", "[fe80::1]:5" };
	static const int host[] = { 1, 2, 1, 3, 4, 3 };
	struct sockaddr_storage a, b;

	for (unsigned i = 0; i < 6; i++)
		for (unsigned k = 0; k < 6; k++) {
			a = address_at(all[i]);
			b = address_at(all[k]);
			assert_int_equal(address_equal(&a, &b), i == k);
			assert_int_equal(address_same_host(&a, &b),
					 host[i] == host[k]);
		}
	a = b = address_at("[fe80::1]:4");
	set_link(&a, 2);
	assert_true(address_equal(&a, &b)); /* b says nothing of it */
	set_link(&b, 3);
	assert_false(address_equal(&a, &b));
	assert_false(address_same_host(&a, &b));
	set_link(&b, 2);
	assert_true(address_equal(&a, &b));
}

static void cpu_lists_keep_their_order(void **state)
{
	struct cpu_list list;

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

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(cpu_list_parse(&list, bad[i], &e), -22);
	assert_int_equal(list.count, 77);
}

static void a_thread_avoids_cpus_while_others_are_left(void **state)
{
	struct cpu_list all, avoid = { .count = 0 }, rest;
	cpu_set_t before;

	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	cpu_list_allowed(&all);
	cpu_list_avoid(&avoid);
	cpu_list_allowed(&rest);
	assert_int_equal(rest.count, all.count);
	cpu_list_avoid(&all); /* nowhere else to go */
	cpu_list_allowed(&rest);
	assert_int_equal(rest.count, all.count);
	avoid = (struct cpu_list){ { all.cpu[all.count - 1] }, 1 };
	cpu_list_avoid(&avoid);
	cpu_list_allowed(&rest);
	assert_int_equal(rest.count, all.count > 1 ? all.count - 1 : 1);
	for (unsigned i = 0; i < rest.count; i++)
		assert_int_equal(rest.cpu[i], all.cpu[i]);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_survive_the_round_trip),
		cmocka_unit_test(what_is_no_address_is_refused),
		cmocka_unit_test(hosts_without_ports_are_addresses),
		cmocka_unit_test(a_host_is_cut_from_its_port),
		cmocka_unit_test(a_bad_split_says_what_is_bad),
		cmocka_unit_test(a_port_is_set_and_read),
		cmocka_unit_test(equal_is_family_host_port_and_link),
		cmocka_unit_test(cpu_lists_keep_their_order),
		cmocka_unit_test(what_is_no_cpu_list_is_refused),
		cmocka_unit_test(a_thread_avoids_cpus_while_others_are_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
