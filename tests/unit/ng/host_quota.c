/* SPDX-License-Identifier: Apache-2.0 */
/* What each host has of the node, and that nobody has all of it. */
#include "loopback.h"

#include <errno.h>
#include <string.h>

#include "ng/dialog.h"

static struct ng_host_quota s;
static struct ng_due a, b, c;
static struct cr_err e;

static int fresh(void **state)
{
	s = (struct ng_host_quota){ .most = { 10, 7, 2, 4 } };
	RB_INIT(&s.tree);
	a = b = c = (struct ng_due){ 0 };
	return 0;
}

static void begin(struct ng_due *d, const char *host)
{
	const struct sockaddr_storage from = address_at(host);

	assert_int_equal(ng_due_open(&s, d, &from, &e), 0);
}

static void a_host_has_its_bound_whatever_its_ports(void **state)
{
	begin(&a, "192.0.2.1:5000");
	begin(&b, "192.0.2.1:6000");
	assert_int_equal(ng_due_change(&s, &a, 4, 0, &e), 0);
	assert_int_equal(ng_due_change(&s, &b, 4, 0, &e), -ENOSPC);
	assert_non_null(strstr(e.text, "--ng-host-lines 7"));
	assert_int_equal(b.lines, 0);
	assert_int_equal(ng_due_change(&s, &b, 3, 0, &e), 0);
	assert_int_equal(ng_due_change(&s, &a, 5, 0, &e), -ENOSPC);
	assert_int_equal(ng_due_change(&s, &a, 1, 0, &e), 0);
	assert_int_equal(ng_due_change(&s, &b, 6, 0, &e), 0);
	assert_int_equal(s.lines, 7);
	ng_due_close(&s, &a);
	ng_due_close(&s, &b);
	assert_int_equal(s.lines, 0);
	assert_true(RB_EMPTY(&s.tree));
}

static void all_hosts_have_theirs(void **state)
{
	begin(&a, "192.0.2.1:5000");
	begin(&b, "[2001:db8::1]:5000");
	begin(&c, "192.0.2.1:5000");
	assert_int_equal(ng_due_change(&s, &a, 7, 0, &e), 0);
	assert_int_equal(ng_due_change(&s, &b, 4, 0, &e), -ENOSPC);
	assert_non_null(strstr(e.text, "--ng-lines 10"));
	assert_int_equal(ng_due_change(&s, &b, 3, 0, &e), 0);
	ng_due_close(&s, &a);
	assert_int_equal(ng_due_change(&s, &c, 7, 0, &e), 0);
	ng_due_close(&s, &b);
	ng_due_close(&s, &c);
	ng_due_close(&s, &c); /* nobody's */
	assert_true(RB_EMPTY(&s.tree));
}

static void memory_is_bounded_with_the_lines(void **state)
{
	begin(&a, "192.0.2.1:5000");
	begin(&b, "192.0.2.2:5000");
	assert_int_equal(ng_due_change(&s, &a, 1, 7 * NG_LINE_OCTETS + 1, &e),
			 -ENOSPC);
	assert_int_equal(a.lines, 0);
	assert_int_equal(ng_due_change(&s, &a, 1, 7 * NG_LINE_OCTETS, &e), 0);
	assert_int_equal(ng_due_change(&s, &b, 1, 3 * NG_LINE_OCTETS + 1, &e),
			 -ENOSPC);
	assert_int_equal(ng_due_change(&s, &b, 1, 3 * NG_LINE_OCTETS, &e), 0);
	ng_due_close(&s, &a);
	ng_due_close(&s, &b);
	assert_int_equal(s.octets, 0);
}

static void offers_of_a_host_ring_until_they_are_answered(void **state)
{
	begin(&a, "192.0.2.1:5000");
	begin(&b, "192.0.2.1:6000");
	begin(&c, "192.0.2.1:7000");
	assert_int_equal(ng_due_ring(&s, &a, true, &e), 0);
	assert_int_equal(ng_due_ring(&s, &a, true, &e), 0); /* again */
	assert_int_equal(ng_due_ring(&s, &b, true, &e), 0);
	assert_int_equal(ng_due_ring(&s, &c, true, &e), -ENOSPC);
	assert_non_null(strstr(e.text, "--ng-host-offers 2"));
	assert_int_equal(ng_due_ringing(&c), 2);
	assert_int_equal(ng_due_ring(&s, &a, false, &e), 0);
	assert_int_equal(ng_due_ring(&s, &c, true, &e), 0);
	ng_due_close(&s, &c);
	assert_int_equal(ng_due_ringing(&b), 1);
	assert_int_equal(ng_due_ringing(&c), 0);
	ng_due_close(&s, &a);
	ng_due_close(&s, &b);
	assert_true(RB_EMPTY(&s.tree));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_host_has_its_bound_whatever_its_ports,
				       fresh),
		cmocka_unit_test_setup(all_hosts_have_theirs, fresh),
		cmocka_unit_test_setup(
			offers_of_a_host_ring_until_they_are_answered, fresh),
		cmocka_unit_test_setup(memory_is_bounded_with_the_lines, fresh),
	};

	return cmocka_run_group_tests_name("ng shares", tests, NULL, NULL);
}
