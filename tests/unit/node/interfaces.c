/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interfaces as text, and which of several a call gets.
 */
#include "cmocka_cr.h"

#include <errno.h>
#include <string.h>

#include "base/address.h"
#include "node/interfaces.h"

static struct interface_cfg parsed(const char *text)
{
	struct interface_cfg cfg;
	struct cr_err e = { "" };

	if (interface_parse(&cfg, text, &e))
		fail_msg("%s: %s", text, e.text);
	return cfg;
}

static void interfaces_are_read(void **state)
{
	static const struct {
		const char *text, *name, *local, *signalled;
	} cases[] = {
		{ "192.0.2.1", "default", "192.0.2.1:0", "192.0.2.1:7" },
		{ "a/192.0.2.1", "a", "192.0.2.1:0", "192.0.2.1:7" },
		{ "a-B_9.x/192.0.2.1!203.0.113.5", "a-B_9.x", "192.0.2.1:0",
		  "203.0.113.5:7" },
		{ "a/0.0.0.0!203.0.113.5", "a", "0.0.0.0:0", "203.0.113.5:7" },
		{ "a/::1", "a", "[::1]:0", "[::1]:7" },
		{ "a/[::1]!2001:db8::1", "a", "[::1]:0", "[2001:db8::1]:7" },
		{ "::![2001:db8::1]", "default", "[::]:0", "[2001:db8::1]:7" },
	};
	char text[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct interface_cfg cfg = parsed(cases[i].text);

		assert_string_equal(cfg.name, cases[i].name);
		assert_string_equal(
			address_text(&cfg.local, text, sizeof(text)),
			cases[i].local);
		interface_text(&cfg.local, &cfg.advertised, 7, text,
			       sizeof(text));
		assert_string_equal(text, cases[i].signalled);
	}
}

static void what_is_no_interface_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"a",
		"a/",
		"/192.0.2.1",
		"a b/192.0.2.1",
		"a/192.0.2.1:5004",
		"a/192.0.2.1!",
		"a/192.0.2.1!192.0.2.2:5",
		"a/192.0.2.1!::1",
		"a/::1!192.0.2.1",
		"a/0.0.0.0",
		"a/::",
		"a/192.0.2.1!0.0.0.0",
		"a/b/192.0.2.1",
		"a/192.0.2.1!192.0.2.2!192.0.2.3",
		"a1234567890123456789012345678901/192.0.2.1",
	};
	struct interface_cfg cfg = { .name = "kept" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct cr_err e = { "" };

		assert_int_equal(interface_parse(&cfg, texts[i], &e), -EINVAL);
		assert_true(*e.text);
		assert_string_equal(cfg.name, "kept");
	}
}

static void the_shared_address_needs_one_that_can_be_told(void **state)
{
	struct sockaddr_storage local, signalled;
	struct cr_err e = { "" };
	char text[64];

	assert_int_equal(
		interface_parse_shared(&local, &signalled, "0.0.0.0:5004", &e),
		-EINVAL);
	assert_non_null(strstr(e.text, "0.0.0.0!192.0.2.1"));
	assert_int_equal(
		interface_parse_shared(&local, &signalled, "192.0.2.1", &e),
		-EINVAL);
	assert_int_equal(interface_parse_shared(&local, &signalled,
						"0.0.0.0:5004!192.0.2.1", &e),
			 0);
	interface_text(&local, &signalled, address_port(&local), text,
		       sizeof(text));
	assert_string_equal(text, "192.0.2.1:5004");
	assert_int_equal(
		interface_parse_shared(&local, &signalled, "[::1]:5", &e), 0);
	assert_int_equal(signalled.ss_family, 0);
}

static const struct port_pairs_config any_ports = { .bytes = 1 << 16 };

static struct interfaces three(void)
{
	struct interfaces i = { .n = 0 };
	const struct interface_cfg cfg[] = { parsed("in/192.0.2.1"),
					     parsed("out/198.51.100.1"),
					     parsed("out/2001:db8::1") };
	struct cr_err e;

	assert_int_equal(interfaces_open(&i, cfg, 3, &any_ports, &e), 0);
	return i;
}

static int choose(struct interfaces *i, const char *name, const char *to,
		  struct cr_err *e)
{
	struct interface_request request = { .name = name,
					     .path = "",
					     .to_path = "out.address" };
	struct interface *found;
	int err;

	assert_int_equal(address_parse(to, &request.to), 0);
	err = interfaces_choose(i, &request, &found, e);
	return err ? err : (int)(found - i->one);
}

static void the_first_that_fits_is_chosen(void **state)
{
	struct interfaces i = three();
	struct cr_err e = { "" };

	assert_int_equal(choose(&i, NULL, "127.0.0.1:9", &e), 0);
	assert_int_equal(choose(&i, NULL, "[::1]:9", &e), 2);
	assert_int_equal(choose(&i, "in", "127.0.0.1:9", &e), 0);
	assert_int_equal(choose(&i, "out", "127.0.0.1:9", &e), 1);
	assert_int_equal(choose(&i, "out", "[::1]:9", &e), 2);
	assert_int_equal(choose(&i, "in", "[::1]:9", &e), -EINVAL);
	assert_non_null(strstr(e.text, "in has no IPv6 address"));
	assert_int_equal(choose(&i, "lan", "[::1]:9", &e), -EINVAL);
	assert_non_null(strstr(e.text, "there are: in, out"));
	i.n = 2;
	port_pairs_free(i.one[2].ports);
	assert_int_equal(choose(&i, NULL, "[::1]:9", &e), -EINVAL);
	assert_non_null(strstr(e.text, "no IPv6 address for calls"));
	interfaces_close(&i);
}

static void two_of_a_name_and_family_are_refused(void **state)
{
	const struct interface_cfg cfg[] = { parsed("a/192.0.2.1"),
					     parsed("a/::1"),
					     parsed("a/192.0.2.2") };
	struct interfaces i = { .n = 0 };
	struct cr_err e = { "" };

	assert_int_equal(interfaces_open(&i, cfg, 2, &any_ports, &e), 0);
	interfaces_close(&i);
	assert_int_equal(interfaces_open(&i, cfg, 3, &any_ports, &e), -EINVAL);
	assert_non_null(strstr(e.text, "called a"));
	assert_int_equal(i.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(interfaces_are_read),
		cmocka_unit_test(what_is_no_interface_is_refused),
		cmocka_unit_test(the_shared_address_needs_one_that_can_be_told),
		cmocka_unit_test(the_first_that_fits_is_chosen),
		cmocka_unit_test(two_of_a_name_and_family_are_refused),
	};

	return cmocka_run_group_tests_name("interfaces", tests, NULL, NULL);
}
