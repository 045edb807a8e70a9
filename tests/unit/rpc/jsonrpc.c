/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON-RPC 2.0 as its specification's section 7 shows it, and the edges.
 */
#include <stdlib.h>
#include <string.h>

#include "base/sanitized.h"
#include "cmocka_cr.h"
#include "rpc/jsonrpc.h"

static struct jsonrpc_doc parse(const char *text)
{
	struct jsonrpc_doc doc;
	struct cr_err why = { 0 };

	if (jsonrpc_parse(&doc, text, strlen(text), &why))
		fail_msg("%s: %s", text, why.text);
	return doc;
}

/* The kinds in @text as letters: Call, Notification, Result, Error, Invalid. */
static void holds(const char *text, const char *kinds)
{
	struct jsonrpc_doc doc = parse(text);
	char seen[JSONRPC_BATCH_MAX + 1] = "";

	for (size_t i = 0; i < doc.count; i++)
		seen[i] = "CNREI"[jsonrpc_at(&doc, i).kind];
	assert_string_equal(seen, kinds);
	jsonrpc_doc_free(&doc);
}

static void refused(const char *text, int code)
{
	struct jsonrpc_doc doc;
	struct cr_err why = { 0 };

	assert_int_equal(jsonrpc_parse(&doc, text, strlen(text), &why), code);
	assert_string_not_equal(why.text, "");
}

/* @message is taken over; key order does not matter. */
static void is_text(json_t *message, const char *text)
{
	json_t *want = json_loads(text, 0, NULL);
	char *got = jsonrpc_text(json_incref(message));

	assert_non_null(want);
	if (!json_equal(message, want))
		fail_msg("%s is not %s", got, text);
	free(got);
	json_decref(message);
	json_decref(want);
}

static void calls_with_positional_parameters(void **state)
{
	struct jsonrpc_doc doc = parse(
		"{\"jsonrpc\": \"2.0\", \"method\": \"subtract\", \"params\": "
		"[42, 23], \"id\": 1}");
	struct jsonrpc_message m = jsonrpc_at(&doc, 0);

	assert_int_equal(m.kind, JSONRPC_CALL);
	assert_string_equal(m.method, "subtract");
	assert_int_equal(json_integer_value(json_array_get(m.params, 0)), 42);
	assert_int_equal(json_integer_value(json_array_get(m.params, 1)), 23);
	is_text(jsonrpc_result(m.id, json_integer(19)),
		"{\"jsonrpc\": \"2.0\", \"result\": 19, \"id\": 1}");
	jsonrpc_doc_free(&doc);
	is_text(jsonrpc_request("subtract", json_pack("[i, i]", 23, 42), 2),
		"{\"jsonrpc\": \"2.0\", \"method\": \"subtract\", \"params\": "
		"[23, 42], \"id\": 2}");
	holds("{\"jsonrpc\": \"2.0\", \"result\": -19, \"id\": 2}", "R");
}

static void calls_with_named_parameters(void **state)
{
	struct jsonrpc_doc doc = parse(
		"{\"jsonrpc\": \"2.0\", \"method\": \"subtract\", \"params\": "
		"{\"minuend\": 42, \"subtrahend\": 23}, \"id\": 4}");
	struct jsonrpc_message m = jsonrpc_at(&doc, 0);

	assert_int_equal(m.kind, JSONRPC_CALL);
	assert_int_equal(
		json_integer_value(json_object_get(m.params, "minuend")), 42);
	jsonrpc_doc_free(&doc);
}

static void notifications(void **state)
{
	holds("{\"jsonrpc\": \"2.0\", \"method\": \"update\", \"params\": "
	      "[1,2,3,4,5]}",
	      "N");
	holds("{\"jsonrpc\": \"2.0\", \"method\": \"foobar\"}", "N");
	is_text(jsonrpc_request("foobar", NULL, 0),
		"{\"jsonrpc\": \"2.0\", \"method\": \"foobar\"}");
}

static void call_of_a_method_that_is_not_there(void **state)
{
	json_t *id = json_string("1");

	is_text(jsonrpc_error(id, RPC_NO_METHOD, "", NULL),
		"{\"jsonrpc\": \"2.0\", \"error\": {\"code\": -32601, "
		"\"message\": \"Method not found\"}, \"id\": \"1\"}");
	json_decref(id);
	holds("{\"jsonrpc\": \"2.0\", \"error\": {\"code\": -32601, "
	      "\"message\": \"Method not found\"}, \"id\": \"1\"}",
	      "E");
}

static void call_with_invalid_json(void **state)
{
	refused("{\"jsonrpc\": \"2.0\", \"method\": \"foobar, \"params\": "
		"\"bar\", \"baz]",
		RPC_PARSE_ERROR);
	is_text(jsonrpc_error(NULL, RPC_PARSE_ERROR, "", NULL),
		"{\"jsonrpc\": \"2.0\", \"error\": {\"code\": -32700, "
		"\"message\": \"Parse error\"}, \"id\": null}");
}

static void call_with_an_invalid_request_object(void **state)
{
	holds("{\"jsonrpc\": \"2.0\", \"method\": 1, \"params\": \"bar\"}",
	      "I");
	is_text(jsonrpc_error(NULL, RPC_INVALID_REQUEST, "", NULL),
		"{\"jsonrpc\": \"2.0\", \"error\": {\"code\": -32600, "
		"\"message\": \"Invalid Request\"}, \"id\": null}");
}

static void batches(void **state)
{
	refused("[{\"jsonrpc\": \"2.0\", \"method\": \"sum\", \"params\": "
		"[1,2,4], \"id\": \"1\"}, {\"jsonrpc\": \"2.0\", \"method\"]",
		RPC_PARSE_ERROR);
	refused("[]", RPC_INVALID_REQUEST);
	holds("[1]", "I");
	holds("[1,2,3]", "III");
	holds("[{\"jsonrpc\": \"2.0\", \"method\": \"sum\", \"params\": "
	      "[1,2,4], \"id\": \"1\"},"
	      "{\"jsonrpc\": \"2.0\", \"method\": \"notify_hello\", "
	      "\"params\": [7]},"
	      "{\"jsonrpc\": \"2.0\", \"method\": \"subtract\", \"params\": "
	      "[42,23], \"id\": \"2\"},"
	      "{\"foo\": \"boo\"},"
	      "{\"jsonrpc\": \"2.0\", \"method\": \"foo.get\", \"params\": "
	      "{\"name\": \"myself\"}, \"id\": \"5\"},"
	      "{\"jsonrpc\": \"2.0\", \"method\": \"get_data\", \"id\": "
	      "\"9\"}]",
	      "CNCICC");
	holds("[{\"jsonrpc\": \"2.0\", \"method\": \"notify_sum\", "
	      "\"params\": [1,2,4]},"
	      "{\"jsonrpc\": \"2.0\", \"method\": \"notify_hello\", "
	      "\"params\": [7]}]",
	      "NN");
}

static void a_batch_has_a_bound(void **state)
{
	char text[2 * (JSONRPC_BATCH_MAX + 1) + 2] = "[";
	struct jsonrpc_doc doc;

	for (unsigned i = 0; i < JSONRPC_BATCH_MAX; i++)
		(void)strcat(text, i ? ",1" : "1");
	(void)strcat(text, "]");
	doc = parse(text);
	assert_int_equal(doc.count, JSONRPC_BATCH_MAX);
	jsonrpc_doc_free(&doc);
	text[strlen(text) - 1] = '\0';
	(void)strcat(text, ",1]");
	refused(text, RPC_INVALID_REQUEST);
}

static void ids_are_strings_numbers_or_null(void **state)
{
	holds("{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":\"\"}", "C");
	holds("{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":1.5}", "C");
	holds("{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":null}", "C");
	holds("{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":true}", "I");
	holds("{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":[1]}", "I");
}

static void invalid_messages_keep_a_good_id(void **state)
{
	struct jsonrpc_doc doc =
		parse("{\"jsonrpc\":\"1.0\",\"method\":\"m\",\"id\":7}");
	struct jsonrpc_message m = jsonrpc_at(&doc, 0);

	assert_int_equal(m.kind, JSONRPC_INVALID);
	assert_int_equal(json_integer_value(m.id), 7);
	assert_non_null(strstr(m.why, "2.0"));
	jsonrpc_doc_free(&doc);
}

static void responses_are_checked(void **state)
{
	holds("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":null}", "R");
	holds("{\"jsonrpc\":\"2.0\",\"result\":1}", "I");
	holds("{\"jsonrpc\":\"2.0\",\"id\":1}", "I");
	holds("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{}}", "I");
	holds("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":5}", "I");
	holds("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1,\"error\":"
	      "{\"code\":1,\"message\":\"m\"}}",
	      "I");
}

static void a_key_given_twice_is_a_parse_error(void **state)
{
	refused("{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"method\":\"b\"}",
		RPC_PARSE_ERROR);
	refused("{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"params\":"
		"{\"x\":1,\"x\":2}}",
		RPC_PARSE_ERROR);
	refused("", RPC_PARSE_ERROR);
	refused("{} {}", RPC_PARSE_ERROR);
}

static void nesting_has_a_bound(void **state)
{
	enum { DEEP = 5000 };
	char *text = calloc(1, DEEP + 1);

	memset(text, '[', DEEP);
	refused(text, RPC_PARSE_ERROR);
	free(text);
}

static void a_reason_cut_within_a_letter_is_kept(void **state)
{
	is_text(jsonrpc_error(NULL, RPC_NO_CAPACITY, "caf\xc3", NULL),
		"{\"jsonrpc\": \"2.0\", \"error\": {\"code\": 1, \"message\": "
		"\"caf?\"}, \"id\": null}");
}

/* None for the program; libraries have theirs. */
static bool no_memory;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

void *__wrap_malloc(size_t size)
{
	return no_memory ? NULL : __real_malloc(size);
}

/* jansson would write behind what it has: it is not asked. */
static void without_memory_nothing_is_read(void **state)
{
	static const char text[] = "{\"jsonrpc\": \"2.0\", \"method\": \"a\"}";
	struct cr_err why = { 0 };
	struct jsonrpc_doc doc;

	if (SANITIZED)
		skip(); /* its malloc() does not fail */
	no_memory = true;
	assert_int_equal(jsonrpc_parse(&doc, text, strlen(text), &why),
			 RPC_INTERNAL);
	no_memory = false;
	assert_non_null(strstr(why.text, "out of memory"));
	holds(text, "N");
}

/* Whatever was being built, and only once. */
static void what_lacks_memory_is_noted(void **state)
{
	json_t *o;

	jsonrpc_note_memory();
	o = json_pack("{s:i}", "a", 1);
	assert_false(jsonrpc_lacked());
	no_memory = true;
	(void)json_object_set_new(o, "b", json_integer(2));
	no_memory = false;
	assert_true(jsonrpc_lacked());
	assert_false(jsonrpc_lacked());
	assert_int_equal(json_object_size(o), 1);
	json_decref(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_memory_nothing_is_read),
		cmocka_unit_test(what_lacks_memory_is_noted),
		cmocka_unit_test(calls_with_positional_parameters),
		cmocka_unit_test(calls_with_named_parameters),
		cmocka_unit_test(notifications),
		cmocka_unit_test(call_of_a_method_that_is_not_there),
		cmocka_unit_test(call_with_invalid_json),
		cmocka_unit_test(call_with_an_invalid_request_object),
		cmocka_unit_test(batches),
		cmocka_unit_test(a_batch_has_a_bound),
		cmocka_unit_test(ids_are_strings_numbers_or_null),
		cmocka_unit_test(invalid_messages_keep_a_good_id),
		cmocka_unit_test(responses_are_checked),
		cmocka_unit_test(a_key_given_twice_is_a_parse_error),
		cmocka_unit_test(nesting_has_a_bound),
		cmocka_unit_test(a_reason_cut_within_a_letter_is_kept),
	};

	return cmocka_run_group_tests_name("jsonrpc", tests, NULL, NULL);
}
