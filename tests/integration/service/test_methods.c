/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every method of the control protocol, with good and with bad parameters:
 * what is asked for happens, and a refusal has its code and says the way out.
 */
#define _GNU_SOURCE
#include "cmocka_cr.h"
#include "desk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "schedulers/registry.h"

#define NB 160u

static const uint8_t silence[NB] = { 0xff };

static void hello_tells_who_is_there(void **state)
{
	struct client c;
	struct desk d;
	json_t *o;

	(void)state;
	desk_open(&d, &(struct desk_options){ .scheduler = "rr,quantum=2ms" });
	client_open(&c, &d, NULL);
	o = client_ask(&c, "hello", "{'client': 'test'}");
	assert_string_equal(json_string_value(json_object_get(o, "program")),
			    "codec-runner");
	assert_string_equal(json_string_value(json_object_get(o, "scheduler")),
			    "rr,quantum=2ms");
	assert_string_equal(json_string_value(json_object_get(o, "transport")),
			    "user");
	assert_string_equal(json_string_value(json_object_get(o, "session")),
			    c.session);
	assert_false(json_is_true(json_object_get(o, "draining")));
	assert_true(json_array_size(json_object_get(o, "codecs")) >= 6);
	assert_int_equal(desk_number(o, "capacity.workers"), 1);
	json_decref(o);
	client_refused(&c, "hello", "{'clint': 1}", RPC_INVALID_PARAMS,
		       "did you mean 'client'");
	client_refused(&c, "hello", "{'client': 1}", RPC_INVALID_PARAMS,
		       "string");
	client_refused(&c, "hello", "[]", RPC_INVALID_PARAMS, "object");
	client_refused(&c, "hello", "{'resume': '0'}", RPC_CONFLICT,
		       "no session '0'");
	client_refused(&c, "helo", NULL, RPC_NO_METHOD, "helo");
	client_close(&c);
	desk_close(&d);
}

static void a_call_starts_is_queried_and_stops(void **state)
{
	struct rig_sender s;
	struct client c;
	struct desk d;
	char json[64];
	unsigned id;
	json_t *o;

	(void)state;
	desk_open(&d, &(struct desk_options){ 0 });
	client_open(&c, &d, NULL);
	id = client_start(&c, "'class': 'hard',");
	s = rig_sender(&d.rig, node_call_find(d.rig.node, id), NB);
	for (unsigned i = 0; i < 5; i++) {
		uint8_t buf[2048];
		struct rtp_packet p;

		rig_send(&s, silence, NB);
		assert_true(rig_receive(&d.rig, buf, &p));
	}
	(void)snprintf(json, sizeof(json), "{'call': %u}", id);
	o = client_ask(&c, "call.query", json);
	assert_string_equal(json_string_value(json_object_get(o, "class")),
			    "hard");
	assert_int_equal(desk_number(o, "count.packets_in"), 5);
	json_decref(o);
	o = client_ask(&c, "call.stop", json);
	assert_int_equal(desk_number(o, "call"), id);
	json_decref(o);
	client_refused(&c, "call.query", json, RPC_NO_SUCH_CALL, "no call");
	client_refused(&c, "call.stop", json, RPC_NO_SUCH_CALL, "no call");
	client_close(&c);
	desk_close(&d);
}

static void a_bad_reference_to_a_call_is_explained(void **state)
{
	static const char *const methods[] = { "call.stop", "call.query" };
	struct client c;
	struct desk d;

	(void)state;
	desk_open(&d, &(struct desk_options){ 0 });
	client_open(&c, &d, NULL);
	for (unsigned i = 0; i < 2; i++) {
		client_refused(&c, methods[i], NULL, RPC_INVALID_PARAMS,
			       "which call?");
		client_refused(&c, methods[i], "{'call': '1'}",
			       RPC_INVALID_PARAMS, "whole number");
		client_refused(&c, methods[i], "{'call': 0}",
			       RPC_INVALID_PARAMS, "1..4294967295");
		client_refused(&c, methods[i], "{'call': 4294967296}",
			       RPC_INVALID_PARAMS, "1..4294967295");
		client_refused(&c, methods[i], "{'cal': 1}", RPC_INVALID_PARAMS,
			       "did you mean 'call'");
		client_refused(&c, methods[i], "{'call': 77}", RPC_NO_SUCH_CALL,
			       "no call 77");
	}
	client_close(&c);
	desk_close(&d);
}

static void a_bad_call_is_refused_and_leaves_nothing(void **state)
{
	static const struct {
		const char *json;
		int code;
		const char *why;
	} wrong[] = {
		{ NULL, RPC_INVALID_PARAMS, "in.codec: is missing" },
		{ "[1]", RPC_INVALID_PARAMS, "must be an object" },
		{ "{'in': {'codec': 'pcmu'}, 'out': {'codec': 'pcma'}}",
		  RPC_INVALID_PARAMS, "out.address: is missing" },
		{ "{'in': {'codec': 'pcmu'}, 'out': {'codec': 'pcma', "
		  "'address': '[::1]:9'}}",
		  RPC_INVALID_PARAMS, "out.address" },
		{ "{'in': {'codec': 'pcmu', 'source': '[::1]:9'}, 'out': "
		  "{'codec': 'pcma', 'address': '127.0.0.1:9'}}",
		  RPC_INVALID_PARAMS, "in.source" },
		{ "{'in': {'codec': 'pcmu'}, 'out': {'codec': 'pcma', "
		  "'address': '127.0.0.1:9'}, 'class': 'firm'}",
		  RPC_INVALID_PARAMS, "class" },
		{ "{'in': {'codec': 'pcmu'}, 'out': {'codec': 'pcma', "
		  "'address': '127.0.0.1:9'}, 'ptime': '1h'}",
		  RPC_INVALID_PARAMS, "ptime" },
	};
	struct client c;
	struct desk d;

	(void)state;
	desk_open(&d, &(struct desk_options){ 0 });
	client_open(&c, &d, NULL);
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		client_refused(&c, "call.start", wrong[i].json, wrong[i].code,
			       wrong[i].why);
	assert_int_equal(node_calls(d.rig.node), 0);
	client_close(&c);
	desk_close(&d);
}

static void an_ssrc_in_use_is_a_conflict(void **state)
{
	struct client c;
	struct desk d;

	(void)state;
	desk_open(&d, &(struct desk_options){ 0 });
	client_open(&c, &d, NULL);
	(void)client_start(&c, "'ssrc': 4711,");
	client_refused(&c, "call.start",
		       "{'ssrc': 4711, 'in': {'codec': 'pcmu'}, 'out': "
		       "{'codec': 'pcma', 'address': '127.0.0.1:9'}}",
		       RPC_CONFLICT, "4711 is another call's");
	client_close(&c);
	desk_close(&d);
}

#define SPIN                                                                   \
	"{'in': {'codec': 'pcmu'}, 'out': {'codec': 'spin', 'spin': '5ms', "   \
	"'address': '127.0.0.1:9'}}"

static void admission_refuses_with_figures(void **state)
{
	struct client c;
	struct desk d;
	json_t *o;

	(void)state;
	desk_open(&d, &(struct desk_options){ .admission = true });
	client_open(&c, &d, NULL);
	/* the third would leave no room for a frame that cannot be
	 * preempted */
	for (unsigned i = 0; i < 2; i++)
		client_do(&c, "call.start", SPIN);
	client_refused(&c, "call.start", SPIN, RPC_NO_CAPACITY,
		       "no-capacity: need 0.25");
	client_refused(&c, "call.start", SPIN, RPC_NO_CAPACITY, ", free 0.");
	client_refused(&c, "call.start", SPIN, RPC_NO_CAPACITY,
		       " of 1.00 under edf");
	o = client_ask(&c, "stats", NULL);
	assert_int_equal(desk_number(o, "calls_refused"), 3);
	assert_int_equal(desk_number(o, "calls_started"), 2);
	json_decref(o);
	client_close(&c);
	desk_close(&d);
}

static void the_most_calls_are_a_limit_too(void **state)
{
	struct client c;
	struct desk d;
	json_t *o;

	(void)state;
	desk_open(&d, &(struct desk_options){ .max_calls = 2 });
	client_open(&c, &d, NULL);
	(void)client_start(&c, "");
	(void)client_start(&c, "");
	client_refused(&c, "call.start",
		       "{'in': {'codec': 'pcmu'}, 'out': {'codec': 'pcma', "
		       "'address': '127.0.0.1:9'}}",
		       RPC_NO_CAPACITY, "2 calls are the most");
	o = client_ask(&c, "stats", NULL);
	assert_int_equal(desk_number(o, "calls_refused"), 1);
	json_decref(o);
	client_close(&c);
	desk_close(&d);
}

static void a_list_of_500_comes_page_by_page(void **state)
{
	unsigned seen = 0, pages = 0, last = 0, stopped;
	struct client c;
	struct desk d;
	char json[64];
	bool more = true;

	(void)state;
	desk_open(&d, &(struct desk_options){ 0 });
	client_open(&c, &d, NULL);
	for (unsigned i = 0; i < 500; i++)
		stopped = client_start(&c, "");
	/* a call that is ending is not there any more */
	(void)snprintf(json, sizeof(json), "{'call': %u}", stopped);
	client_do(&c, "call.stop", json);
	for (; more; pages++) {
		json_t *o, *call;
		size_t i;

		(void)snprintf(json, sizeof(json),
			       "{'after': %u, 'limit': 100}", last);
		o = client_ask(&c, "list", json);
		json_array_foreach (json_object_get(o, "calls"), i, call) {
			assert_true(desk_number(call, "call") > last);
			last = (unsigned)desk_number(call, "call");
			seen++;
		}
		more = json_is_true(json_object_get(o, "more"));
		json_decref(o);
	}
	assert_int_equal(seen, 499);
	assert_int_equal(pages, 5);
	client_refused(&c, "list", "{'limit': 0}", RPC_INVALID_PARAMS, "limit");
	client_refused(&c, "list", "{'limit': 201}", RPC_INVALID_PARAMS,
		       "1..200");
	client_refused(&c, "list", "{'after': -1}", RPC_INVALID_PARAMS,
		       "after");
	client_close(&c);
	desk_close(&d);
}

static void the_scheduler_is_set_and_tuned_by_name(void **state)
{
	struct client c;
	struct desk d;
	json_t *o;

	(void)state;
	desk_open(&d, &(struct desk_options){ .scheduler = "fifo" });
	client_open(&c, &d, NULL);
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
	client_close(&c);
	desk_close(&d);
}

static void one_frame(struct rig_sender *s)
{
	struct rtp_packet p;
	uint8_t buf[2048];

	rig_send(s, silence, NB);
	assert_true(rig_receive(s->rig, buf, &p));
}

/* Each member is one of explain()'s keys, and all of them are there. */
static void shows_what_it_explains(struct client *c, const char *query,
				   const struct cr_sched_ops *ops)
{
	json_t *o = client_ask(c, "call.query", query);
	const json_t *policy = json_object_get(o, "policy"), *v;
	const char *key;

	assert_string_equal(json_string_value(json_object_get(o, "scheduler")),
			    ops->name);
	if ((json_object_size(policy) > 0) != (ops->explain != NULL))
		fail_msg("%s: %u numbers", ops->name,
			 (unsigned)json_object_size(policy));
	json_object_foreach ((json_t *)policy, key, v) {
		assert_true(json_is_integer(v));
		assert_true(*key);
	}
	assert_true(desk_number(o, "now_ns") > 0);
	json_decref(o);
}

static void a_query_shows_every_policys_own_numbers(void **state)
{
	struct rig_sender s;
	struct client c;
	struct desk d;
	char query[64], set[64];
	unsigned id, explained = 0;

	(void)state;
	desk_open(&d, &(struct desk_options){ 0 });
	client_open(&c, &d, NULL);
	id = client_start(&c, "");
	s = rig_sender(&d.rig, node_call_find(d.rig.node, id), NB);
	(void)snprintf(query, sizeof(query), "{'call': %u}", id);
	for (unsigned i = 0; cr_schedulers[i]; i++) {
		(void)snprintf(set, sizeof(set), "{'scheduler': '%s'}",
			       cr_schedulers[i]->name);
		client_do(&c, "scheduler.set", set);
		one_frame(&s);
		shows_what_it_explains(&c, query, cr_schedulers[i]);
		explained += cr_schedulers[i]->explain != NULL;
	}
	assert_true(explained > 0);
	client_close(&c);
	desk_close(&d);
}

static void every_scheduler_says_how_it_admits(void **state)
{
	struct client c;
	struct desk d;
	json_t *o, *list, *s;
	size_t i;

	(void)state;
	desk_open(&d, &(struct desk_options){ 0 });
	client_open(&c, &d, NULL);
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
			assert_string_equal(rule, "sum of mean cost / period "
						  "<= capacity");
	}
	assert_null(cr_schedulers[i]);
	json_decref(o);
	client_close(&c);
	desk_close(&d);
}

/* Loading a file is running its code. */
static void peers_cannot_make_the_node_load_any_file(void **state)
{
	struct client c;
	struct desk d;

	(void)state;
	desk_open(&d, &(struct desk_options){ 0 });
	client_open(&c, &d, NULL);
	client_refused(&c, "scheduler.set", "{'scheduler': './evil.so'}",
		       RPC_INVALID_PARAMS, "without a path");
	client_refused(&c, "scheduler.set", "{'scheduler': '/tmp/evil,a=1'}",
		       RPC_INVALID_PARAMS, "without a path");
	client_refused(&c, "scheduler.set", "{'scheduler': 'mine.so'}",
		       RPC_INVALID_PARAMS, "--plugin-dir");
	client_close(&c);
	desk_close(&d);
	desk_open(&d, &(struct desk_options){ .plugin_dir = "/nonexistent" });
	client_open(&c, &d, NULL);
	client_refused(&c, "scheduler.set", "{'scheduler': '../mine.so'}",
		       RPC_INVALID_PARAMS, "without a path");
	client_refused(&c, "scheduler.set", "{'scheduler': 'mine.so,a=1'}",
		       RPC_UNSUPPORTED, "/nonexistent/mine.so");
	client_close(&c);
	desk_close(&d);
}

static void a_trace_goes_into_its_folder_only(void **state)
{
	static const char *const bad[] = {
		"{'name': '../x'}",   "{'name': '/tmp/x'}", "{'name': 'a/b'}",
		"{'name': '..'}",     "{'name': '.'}",	    "{'name': ''}",
		"{'name': '.hidden'}"
	};
	char dir[] = "/tmp/cr-trace-XXXXXX", path[64];
	struct client c;
	struct stat st;
	struct desk d;
	json_t *o;

	(void)state;
	assert_non_null(mkdtemp(dir));
	desk_open(&d, &(struct desk_options){ .trace_dir = dir });
	client_open(&c, &d, NULL);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		client_refused(&c, "trace.start", bad[i], RPC_INVALID_PARAMS,
			       "not a plain file name");
	client_refused(&c, "trace.start", NULL, RPC_INVALID_PARAMS,
		       "name: is missing");
	client_refused(&c, "trace.stop", NULL, RPC_CONFLICT, "no trace");
	client_do(&c, "trace.start", "{'name': 'run.trace'}");
	client_refused(&c, "trace.start", "{'name': 'other'}", RPC_CONFLICT,
		       "");
	(void)client_start(&c, ""); /* one record: the call's description */
	o = client_ask(&c, "trace.stop", NULL);
	(void)snprintf(path, sizeof(path), "%s/run.trace", dir);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(desk_number(o, "records"), 1);
	assert_int_equal(desk_number(o, "lost"), 0);
	assert_int_equal(desk_number(o, "bytes"), st.st_size);
	json_decref(o);
	client_refused(&c, "trace.start", "{'name': 'run.trace'}", RPC_CONFLICT,
		       "run.trace");
	client_do(&c, "trace.start",
		  "{'name': 'run.trace', 'overwrite': true}");
	client_do(&c, "trace.stop", NULL);
	client_close(&c);
	desk_close(&d);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
}

static void without_a_folder_there_is_no_trace(void **state)
{
	struct client c;
	struct desk d;

	(void)state;
	desk_open(&d, &(struct desk_options){ 0 });
	client_open(&c, &d, NULL);
	client_refused(&c, "trace.start", "{'name': 'run.trace'}",
		       RPC_INVALID_PARAMS, "--trace-dir");
	client_close(&c);
	desk_close(&d);
}

static void figures_come_from_stats_and_codecs(void **state)
{
	struct client c;
	struct desk d;
	json_t *o;

	(void)state;
	desk_open(&d, &(struct desk_options){ 0 });
	client_open(&c, &d, NULL);
	o = client_ask(&c, "stats", NULL);
	assert_int_equal(desk_number(o, "calls"), 0);
	assert_int_equal(desk_number(o, "control.associations"), 1);
	assert_int_equal(desk_number(o, "totals.done"), 0);
	assert_int_equal(json_array_size(json_object_get(o, "workers")), 1);
	json_decref(o);
	o = client_ask(&c, "codecs", NULL);
	assert_true(json_array_size(json_object_get(o, "codecs")) >= 6);
	json_decref(o);
	client_refused(&c, "stats", "{'x': 1}", RPC_INVALID_PARAMS, "unknown");
	client_refused(&c, "codecs", "{'x': 1}", RPC_INVALID_PARAMS, "unknown");
	client_refused(&c, "schedulers", "{'x': 1}", RPC_INVALID_PARAMS,
		       "unknown");
	client_refused(&c, "trace.stop", "{'x': 1}", RPC_INVALID_PARAMS,
		       "unknown");
	client_refused(&c, "drain", "{'limit': -1}", RPC_INVALID_PARAMS,
		       "limit");
	client_close(&c);
	desk_close(&d);
}

struct tally {
	unsigned replies, good;
};

static void count_reply(void *arg, const json_t *result, const json_t *error)
{
	struct tally *t = arg;

	t->replies++;
	t->good += result && !error;
}

static void a_thousand_calls_start_without_waiting(void **state)
{
	enum { CALLS = 1000 };
	struct tally t = { 0 };
	struct client c;
	struct desk d;
	char json[200];
	cr_ns begin;

	(void)state;
	desk_open(&d, &(struct desk_options){ 0 });
	client_open(&c, &d, NULL);
	(void)snprintf(json, sizeof(json),
		       "{'in': {'codec': 'pcmu'}, 'out': {'codec': 'amr', "
		       "'mode': '12.2', 'address': '127.0.0.1:%u'}}",
		       d.rig.port);
	begin = clock_now();
	for (unsigned i = 0; i < CALLS; i++)
		assert_int_equal(rpc_client_call(c.rpc, "call.start",
						 desk_json(json), count_reply,
						 &t),
				 0);
	desk_wait_for(&d, &t.replies, CALLS);
	print_message("%d calls started in %.0f ms\n", CALLS,
		      (double)(clock_now() - begin) / 1e6);
	assert_int_equal(t.good, CALLS);
	assert_int_equal(node_calls(d.rig.node), CALLS);
	client_close(&c);
	desk_close(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hello_tells_who_is_there),
		cmocka_unit_test(a_call_starts_is_queried_and_stops),
		cmocka_unit_test(a_bad_reference_to_a_call_is_explained),
		cmocka_unit_test(a_bad_call_is_refused_and_leaves_nothing),
		cmocka_unit_test(an_ssrc_in_use_is_a_conflict),
		cmocka_unit_test(admission_refuses_with_figures),
		cmocka_unit_test(the_most_calls_are_a_limit_too),
		cmocka_unit_test(a_list_of_500_comes_page_by_page),
		cmocka_unit_test(the_scheduler_is_set_and_tuned_by_name),
		cmocka_unit_test(a_query_shows_every_policys_own_numbers),
		cmocka_unit_test(every_scheduler_says_how_it_admits),
		cmocka_unit_test(peers_cannot_make_the_node_load_any_file),
		cmocka_unit_test(a_trace_goes_into_its_folder_only),
		cmocka_unit_test(without_a_folder_there_is_no_trace),
		cmocka_unit_test(figures_come_from_stats_and_codecs),
		cmocka_unit_test(a_thousand_calls_start_without_waiting),
	};

	return cmocka_run_group_tests_name("methods", tests, NULL, NULL);
}
