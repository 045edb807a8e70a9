/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls over the control protocol, with good and with bad parameters: what is
 * asked for happens, and a refusal has its code and says the way out.
 */
#include "cmocka_cr.h"
#include "codecs/registry.h"
#include "desk.h"
#include "json_text.h"

#include <stdio.h>

#include "base/clock.h"
#include "codecs/common.h"

static void a_call_starts_is_queried_and_stops(void **state)
{
	struct fixture_sender s;
	struct client c;
	struct scratch d;
	char json[64];
	unsigned id;
	json_t *o;

	client_open_desk(&c, &d, &(struct desk_options){ 0 });
	id = client_start(&c, "'class': 'hard',");
	s = desk_sender(&d, id);
	desk_echo(&s, 5);
	(void)snprintf(json, sizeof(json), "{'stream': %u}", id);
	o = client_ask(&c, "stream.query", json);
	assert_string_equal(json_string_value(json_object_get(o, "class")),
			    "hard");
	assert_int_equal(desk_number(o, "count.packets_in"), 5);
	assert_int_equal(desk_number(o, "call"), id);
	json_decref(o);
	(void)snprintf(json, sizeof(json), "{'call': %u}", id);
	o = client_ask(&c, "call.query", json);
	assert_int_equal(desk_number(o, "call"), id);
	assert_int_equal(json_array_size(json_object_get(o, "streams")), 1);
	json_decref(o);
	o = client_ask(&c, "call.stop", json);
	assert_int_equal(desk_number(o, "call"), id);
	assert_int_equal(
		desk_number(json_array_get(json_object_get(o, "streams"), 0),
			    "count.packets_in"),
		5);
	json_decref(o);
	client_refused(&c, "call.query", json, RPC_NO_SUCH_CALL, "no call");
	client_refused(&c, "call.stop", json, RPC_NO_SUCH_CALL, "no call");
	client_close_desk(&c, &d);
}

static void a_bad_reference_to_a_call_is_explained(void **state)
{
	static const char *const methods[] = { "call.stop", "call.query" };
	struct client c;
	struct scratch d;

	client_open_desk(&c, &d, &(struct desk_options){ 0 });
	for (unsigned i = 0; i < 2; i++) {
		client_refused(&c, methods[i], NULL, RPC_INVALID_PARAMS,
			       "which call?");
		client_refused(&c, methods[i], "{'call': '1'}",
			       RPC_INVALID_PARAMS, "whole number");
		client_refused(&c, methods[i], "{'call': 0}",
			       RPC_INVALID_PARAMS, "from 1 to 4294967295");
		client_refused(&c, methods[i], "{'call': 4294967296}",
			       RPC_INVALID_PARAMS, "from 1 to 4294967295");
		client_refused(&c, methods[i], "{'cal': 1}", RPC_INVALID_PARAMS,
			       "did you mean 'call'");
		client_refused(&c, methods[i], "{'call': 77}", RPC_NO_SUCH_CALL,
			       "no call 77");
	}
	client_close_desk(&c, &d);
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
	struct scratch d;

	client_open_desk(&c, &d, &(struct desk_options){ 0 });
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		client_refused(&c, "call.start", wrong[i].json, wrong[i].code,
			       wrong[i].why);
	assert_int_equal(node_streams(d.rig.node), 0);
	client_close_desk(&c, &d);
}

static void an_ssrc_in_use_is_a_conflict(void **state)
{
	struct client c;
	struct scratch d;

	client_open_desk(&c, &d, &(struct desk_options){ 0 });
	(void)client_start(&c, "'ssrc': 4711,");
	client_refused(&c, "call.start",
		       "{'ssrc': 4711, 'in': {'codec': 'pcmu'}, 'out': "
		       "{'codec': 'pcma', 'address': '127.0.0.1:9'}}",
		       RPC_CONFLICT, "4711 is another call's");
	client_close_desk(&c, &d);
}

#define SPIN                                                                   \
	"{'in': {'codec': 'pcmu'}, 'out': {'codec': 'spin', 'spin': '5ms', "   \
	"'address': '127.0.0.1:9'}}"

static void admission_refuses_with_figures(void **state)
{
	struct client c;
	struct scratch d;
	json_t *o;

	client_open_desk(&c, &d, &(struct desk_options){ .admission = true });
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
	client_close_desk(&c, &d);
}

static void the_most_calls_are_a_limit_too(void **state)
{
	struct client c;
	struct scratch d;
	json_t *o;

	client_open_desk(&c, &d, &(struct desk_options){ .max_calls = 2 });
	(void)client_start(&c, "");
	(void)client_start(&c, "");
	client_refused(&c, "call.start",
		       "{'in': {'codec': 'pcmu'}, 'out': {'codec': 'pcma', "
		       "'address': '127.0.0.1:9'}}",
		       RPC_NO_CAPACITY, "2 calls are the most");
	o = client_ask(&c, "stats", NULL);
	assert_int_equal(desk_number(o, "calls_refused"), 1);
	json_decref(o);
	client_close_desk(&c, &d);
}

/* No decoder has memory. */
static bool poor;

int __real_codec_open_decoder(const struct cr_codec *c, void **dec,
			      const struct cr_codec_cfg *cfg, struct cr_err *e);
int __wrap_codec_open_decoder(const struct cr_codec *c, void **dec,
			      const struct cr_codec_cfg *cfg, struct cr_err *e);

int __wrap_codec_open_decoder(const struct cr_codec *c, void **dec,
			      const struct cr_codec_cfg *cfg, struct cr_err *e)
{
	return poor ? codec_no_memory(c, e)
		    : __real_codec_open_decoder(c, dec, cfg, e);
}

static void a_codec_without_memory_is_no_capacity(void **state)
{
	struct client c;
	struct scratch d;
	json_t *o;

	client_open_desk(&c, &d, &(struct desk_options){ .max_calls = 3 });
	(void)client_start(&c, ""); /* its cost is known now */
	poor = true;
	client_refused(&c, "call.start",
		       "{'in': {'codec': 'pcmu'}, 'out': {'codec': 'pcma', "
		       "'address': '127.0.0.1:9'}}",
		       RPC_NO_CAPACITY, "pcmu: no memory for one more state");
	poor = false;
	(void)client_start(&c, "");
	o = client_ask(&c, "stats", NULL);
	assert_int_equal(desk_number(o, "calls"), 2);
	assert_int_equal(desk_number(o, "calls_refused"), 1);
	json_decref(o);
	client_close_desk(&c, &d);
}

static void a_list_of_500_comes_page_by_page(void **state)
{
	unsigned seen = 0, pages = 0, last = 0, stopped;
	struct client c;
	struct scratch d;
	char json[64];
	bool more = true;

	client_open_desk(&c, &d, &(struct desk_options){ 0 });
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
		o = client_ask(&c, "call.list", json);
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
	client_refused(&c, "call.list", "{'limit': 0}", RPC_INVALID_PARAMS,
		       "limit");
	client_refused(&c, "call.list", "{'limit': 201}", RPC_INVALID_PARAMS,
		       "from 1 to 200");
	client_refused(&c, "call.list", "{'after': -1}", RPC_INVALID_PARAMS,
		       "after");
	client_close_desk(&c, &d);
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
	struct scratch d;
	char json[200];
	cr_ns begin;

	client_open_desk(&c, &d, &(struct desk_options){ 0 });
	(void)snprintf(json, sizeof(json),
		       "{'in': {'codec': 'pcmu'}, 'out': {'codec': 'amr', "
		       "'mode': '12.2', 'address': '127.0.0.1:%u'}}",
		       d.rig.port);
	begin = clock_now();
	for (unsigned i = 0; i < CALLS; i++)
		assert_int_equal(rpc_client_call(c.rpc, "call.start",
						 json_text(json), count_reply,
						 &t),
				 0);
	desk_wait_for(&d, &t.replies, CALLS);
	print_message("%d calls started in %.0f ms\n", CALLS,
		      (double)(clock_now() - begin) / 1e6);
	assert_int_equal(t.good, CALLS);
	assert_int_equal(node_streams(d.rig.node), CALLS);
	client_close_desk(&c, &d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_starts_is_queried_and_stops),
		cmocka_unit_test(a_bad_reference_to_a_call_is_explained),
		cmocka_unit_test(a_bad_call_is_refused_and_leaves_nothing),
		cmocka_unit_test(an_ssrc_in_use_is_a_conflict),
		cmocka_unit_test(admission_refuses_with_figures),
		cmocka_unit_test(the_most_calls_are_a_limit_too),
		cmocka_unit_test(a_codec_without_memory_is_no_capacity),
		cmocka_unit_test(a_list_of_500_comes_page_by_page),
		cmocka_unit_test(a_thousand_calls_start_without_waiting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
