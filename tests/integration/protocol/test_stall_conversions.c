/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A conversion holds nobody up while it is measured what it costs, and a codec
 * that does not come back from being measured holds up those alone who need
 * it, or what is measured after it.
 */
#include "cmocka_cr.h"
#include "desk.h"

#include <string.h>

#include "node/measuring.h"
#include "spool.h"
#include "sticky.h"

struct office {
	struct test_spool sp;
	struct scratch d;
	struct client c;
	unsigned known; /* what sticky costs: how often that was told */
	struct node_cost_wait wait;
};

static void open_office(struct office *o)
{
	memset(o, 0, sizeof(*o));
	test_spool_make(&o->sp);
	test_spool_wav(&o->sp, "a.wav", 8000, 160 * 50L, 1);
	test_spool_wav(&o->sp, "b.wav", 16000, 320 * 50L, 1);
	desk_open(&o->d, &(struct desk_options){ .spool = o->sp.dir });
	client_open(&o->c, &o->d, NULL);
}

static void close_office(struct office *o)
{
	client_close(&o->c);
	desk_close(&o->d);
}

static unsigned measured(const struct office *o)
{
	return measuring_count(o->d.rig.node->measuring);
}

static void known(void *arg, int err, const struct cr_err *why)
{
	struct office *o = arg;

	assert_int_equal(err, 0);
	(void)why;
	o->known++;
}

/* From now on the thread that measures does not come back. */
static void block(struct office *o)
{
	atomic_store(&sticky_held, true);
	o->wait.done = known;
	o->wait.arg = o;
	sticky_measure(&o->d.rig, &o->wait);
}

static void unblock(void)
{
	atomic_store(&sticky_held, false);
}

static void expect(struct office *o, const char *method, const char *params,
		   const char *state, const char *why)
{
	json_t *r = client_ask(&o->c, method, params);
	const char *reported = json_string_value(json_object_get(r, "why"));

	assert_string_equal(json_string_value(json_object_get(r, "state")),
			    state);
	if (strcmp(reported ? reported : "", why))
		fail_msg("%s", reported ? reported : "not told why");
	json_decref(r);
}

static void expect_last(const struct office *o, const char *state)
{
	const json_t *last = o->c.last_conversion;

	assert_string_equal(json_string_value(json_object_get(last, "state")),
			    state);
}

/* --- tests --- */

static void what_a_conversion_costs_is_measured_beside_control(void **state)
{
	struct office o;

	open_office(&o);
	client_do(&o.c, "convert.start", "{'in': 'a.wav', 'out': 'a.amr'}");
	client_do(&o.c, "convert.start", "{'in': 'a.wav', 'out': 'b.amr'}");
	desk_wait_for(&o.d, &o.c.conversions_ended, 2);
	expect_last(&o, "done");
	assert_int_equal(measured(&o), 2); /* L16 at 8 kHz, and AMR */
	client_do(&o.c, "convert.start", "{'in': 'b.wav', 'out': 'c.amr'}");
	desk_wait_for(&o.d, &o.c.conversions_ended, 3);
	expect_last(&o, "done");
	assert_int_equal(measured(&o), 4); /* L16 at 16 kHz; 16 to 8 kHz */
	close_office(&o);
}

static void one_that_waits_for_its_cost_lets_others_go_first(void **state)
{
	struct office o;

	open_office(&o);
	client_do(&o.c, "convert.start", "{'in': 'a.wav', 'out': '1.amr'}");
	desk_wait_for(&o.d, &o.c.conversions_ended, 1);
	block(&o);
	client_do(&o.c, "convert.start", "{'in': 'b.wav', 'out': '2.awb'}");
	client_do(&o.c, "convert.start", "{'in': 'b.wav', 'out': '3.awb'}");
	client_do(&o.c, "convert.start", "{'in': 'a.wav', 'out': '4.amr'}");
	desk_wait_for(&o.d, &o.c.conversions_ended, 2);
	expect_last(&o, "done");
	assert_int_equal(desk_number(o.c.last_conversion, "conversion"), 4);
	expect(&o, "convert.query", "{'conversion': 2}", "waiting",
	       "its cost is being measured");
	client_refused(&o.c, "convert.start", "{'in': 'a.wav', 'out': '2.awb'}",
		       RPC_CONFLICT, "conversion 2 makes that file");
	/* nobody waits for the end of what hangs */
	expect(&o, "convert.cancel", "{'conversion': 2}", "cancelled", "");
	assert_int_equal(o.known, 0);
	unblock();
	desk_wait_for(&o.d, &o.c.conversions_ended, 4);
	expect_last(&o, "done");
	assert_int_equal(desk_number(o.c.last_conversion, "conversion"), 3);
	assert_int_equal(o.known, 1);
	assert_false(test_spool_has(&o.sp, "2.awb"));
	assert_true(test_spool_has(&o.sp, "3.awb"));
	close_office(&o);
}

/* Conversions that wait for a cost count: they are what a drain waits for. */
static void a_drain_waits_for_those_that_wait_for_their_cost(void **state)
{
	struct office o;

	open_office(&o);
	block(&o);
	client_do(&o.c, "convert.start", "{'in': 'b.wav', 'out': '1.awb'}");
	client_do(&o.c, "drain", "{'limit': '1h'}");
	assert_int_equal(o.d.drained, 0);
	expect(&o, "convert.query", "{'conversion': 1}", "waiting",
	       "its cost is being measured");
	unblock();
	desk_wait_for(&o.d, &o.c.conversions_ended, 1);
	expect_last(&o, "done");
	desk_wait_for(&o.d, &o.d.drained, 1);
	close_office(&o);
}

/* The node ends although the thread that measures hangs. */
static void a_node_ends_while_a_measurement_hangs(void **state)
{
	struct office o;

	open_office(&o);
	block(&o);
	client_do(&o.c, "convert.start", "{'in': 'b.wav', 'out': '1.awb'}");
	client_do(&o.c, "convert.start", "{'in': 'a.wav', 'out': '2.amr'}");
	close_office(&o);
	assert_int_equal(o.known, 0);
	assert_int_equal(test_spool_count(&o.sp), 2);
	assert_int_equal(atomic_load(&sticky_inside), 1); /* still */
	unblock();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			what_a_conversion_costs_is_measured_beside_control),
		cmocka_unit_test(
			one_that_waits_for_its_cost_lets_others_go_first),
		cmocka_unit_test(
			a_drain_waits_for_those_that_wait_for_their_cost),
		cmocka_unit_test(a_node_ends_while_a_measurement_hangs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
