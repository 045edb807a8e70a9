/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scheduler over the control protocol: set, tuned, queried, and never a
 * file of the peer's choice.
 */
#include "cmocka_cr.h"
#include "desk.h"

#include <stdio.h>
#include <string.h>

#include "schedulers/registry.h"

static void the_scheduler_is_set_and_tuned_by_name(void **state)
{
	struct client c;
	struct scratch d;
	json_t *o;

	client_open_desk(&c, &d, &(struct desk_options){ .scheduler = "fifo" });
	o = client_ask(&c, "scheduler.set", "{'scheduler': 'rr,quantum=3ms'}");
	assert_string_equal(json_string_value(json_object_get(o, "scheduler")),
			    "rr,quantum=3ms");
	json_decref(o);
	o = client_ask(&c, "scheduler.tune", "{'options': 'quantum=4ms'}");
	assert_string_equal(json_string_value(json_object_get(o, "scheduler")),
			    "rr,quantum=4ms");
	json_decref(o);
	client_refused(&c, "scheduler.set", "{'scheduler': 'edff'}",
		       RPC_UNSUPPORTED, "did you mean 'edf'");
	client_refused(&c, "scheduler.set", "{'scheduler': 'rr,quantom=1ms'}",
		       RPC_INVALID_PARAMS, "quantum");
	client_refused(&c, "scheduler.set", NULL, RPC_INVALID_PARAMS,
		       "scheduler: is missing");
	client_refused(&c, "scheduler.tune", "{'options': 'quantom=1ms'}",
		       RPC_INVALID_PARAMS, "quantum");
	client_refused(&c, "scheduler.tune", "{'options': 'quantum=-1'}",
		       RPC_INVALID_PARAMS, "quantum");
	client_refused(&c, "scheduler.tune", NULL, RPC_INVALID_PARAMS,
		       "options: is missing");
	o = client_ask(&c, "schedulers", NULL);
	assert_string_equal(json_string_value(json_object_get(o, "scheduler")),
			    "rr,quantum=4ms");
	assert_true(json_array_size(json_object_get(o, "schedulers")) >= 3);
	json_decref(o);
	client_close_desk(&c, &d);
}

/* Each has a name, a value and a unit, and all of explain() are there. */
static void shows_what_it_explains(struct client *c, const char *query,
				   const struct cr_sched_ops *ops)
{
	json_t *o = client_ask(c, "stream.query", query);
	const json_t *policy = json_object_get(o, "policy"), *v;
	size_t i;

	assert_string_equal(json_string_value(json_object_get(o, "scheduler")),
			    ops->name);
	if ((json_array_size(policy) > 0) != (ops->explain != NULL))
		fail_msg("%s: %zu numbers", ops->name, json_array_size(policy));
	json_array_foreach (policy, i, v) {
		assert_true(json_is_integer(json_object_get(v, "value")));
		assert_true(json_string_length(json_object_get(v, "name")) > 0);
		assert_true(json_string_length(json_object_get(v, "unit")) > 0);
	}
	assert_true(desk_number(o, "now_ns") > 0);
	json_decref(o);
}

static void a_query_shows_every_policys_own_numbers(void **state)
{
	struct fixture_sender s;
	struct client c;
	struct scratch d;
	char query[64], set[64];
	unsigned id, explained = 0;

	client_open_desk(&c, &d, &(struct desk_options){ 0 });
	id = client_start(&c, "");
	s = desk_sender(&d, id);
	(void)snprintf(query, sizeof(query), "{'stream': %u}", id);
	for (unsigned i = 0; cr_schedulers[i]; i++) {
		(void)snprintf(set, sizeof(set), "{'scheduler': '%s'}",
			       cr_schedulers[i]->name);
		client_do(&c, "scheduler.set", set);
		desk_echo(&s, 1);
		shows_what_it_explains(&c, query, cr_schedulers[i]);
		explained += cr_schedulers[i]->explain != NULL;
	}
	assert_true(explained > 0);
	client_close_desk(&c, &d);
}

static void every_scheduler_says_how_it_admits(void **state)
{
	struct client c;
	struct scratch d;
	json_t *o, *list, *s;
	size_t i;

	client_open_desk(&c, &d, &(struct desk_options){ 0 });
	o = client_ask(&c, "schedulers", NULL);
	list = json_object_get(o, "schedulers");
	json_array_foreach (list, i, s) {
		const char *rule =
			json_string_value(json_object_get(s, "admission"));

		assert_string_equal(
			json_string_value(json_object_get(s, "name")),
			cr_schedulers[i]->name);
		assert_non_null(rule);
		assert_true(strlen(rule) > 1);
		if (!cr_schedulers[i]->admit)
			assert_string_equal(rule, "sum of cost / period "
						  "<= capacity");
	}
	assert_null(cr_schedulers[i]);
	json_decref(o);
	client_close_desk(&c, &d);
}

/* Loading a file is running its code. */
static void peers_cannot_make_the_node_load_any_file(void **state)
{
	struct client c;
	struct scratch d;

	client_open_desk(&c, &d, &(struct desk_options){ 0 });
	client_refused(&c, "scheduler.set", "{'scheduler': './evil.so'}",
		       RPC_INVALID_PARAMS, "without a path");
	client_refused(&c, "scheduler.set", "{'scheduler': '/tmp/evil,a=1'}",
		       RPC_INVALID_PARAMS, "without a path");
	client_refused(&c, "scheduler.set", "{'scheduler': 'mine.so'}",
		       RPC_INVALID_PARAMS, "--plugin-dir");
	client_close_desk(&c, &d);
	client_open_desk(
		&c, &d, &(struct desk_options){ .plugin_dir = "/nonexistent" });
	client_refused(&c, "scheduler.set", "{'scheduler': '../mine.so'}",
		       RPC_INVALID_PARAMS, "without a path");
	client_refused(&c, "scheduler.set", "{'scheduler': 'mine.so,a=1'}",
		       RPC_UNSUPPORTED, "/nonexistent/mine.so");
	client_close_desk(&c, &d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_scheduler_is_set_and_tuned_by_name),
		cmocka_unit_test(a_query_shows_every_policys_own_numbers),
		cmocka_unit_test(every_scheduler_says_how_it_admits),
		cmocka_unit_test(peers_cannot_make_the_node_load_any_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
