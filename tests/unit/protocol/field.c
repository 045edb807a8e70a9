/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of members: what JSON becomes in a struct, how what is wrong is
 * refused, and what comes out again.
 */
#include "cmocka_cr.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_text.h"
#include "protocol/field_json.h"

static const char *const colours[] = { "red", "green", NULL };

struct inner {
	cr_ns mean;
	int64_t rate;
};

struct basics {
	uint32_t weight;
	bool keep;
};

struct pair {
	const char *key;
	int64_t value;
};

struct sample {
	struct basics basics;
	uint8_t pt;
	int nice;
	uint32_t colour;
	const char *text;
	char name[8];
	cr_ns ptime;
	struct sockaddr_storage to;
	struct inner contract;
	const struct inner *bound;
	struct pair pairs[3];
	unsigned npairs;
	struct inner list[2];
	unsigned nlist;
	struct field_each made;
	double load;
	unsigned long long delay;
};

FIELD_TABLE_DECLARE(inner, struct inner);
FIELD_TABLE_DECLARE(basics, struct basics);
FIELD_TABLE_DECLARE(pair, struct pair);
FIELD_TABLE_DECLARE(sample, struct sample);

const struct field inner_fields[] = {
	{ ROW_TIME(inner, "mean", mean, "us"), .min = 1, .max = CR_SEC,
	  .flags = FIELD_OMIT_ZERO },
	{ ROW_RATE(inner, "rate", rate), .flags = FIELD_OMIT_ZERO },
	{ 0 },
};

const struct field basics_fields[] = {
	{ ROW_INT(basics, "weight", weight), .min = 1, .max = 1000,
	  .dflt = 100 },
	{ ROW_BOOL(basics, "keep", keep) },
	{ 0 },
};

const struct field pair_fields[] = {
	{ ROW_TEXT(pair, "key", key) },
	{ ROW_INT(pair, "value", value) },
	{ 0 },
};

const struct field sample_fields[] = {
	{ ROW_INLINE(sample, basics, basics) },
	{ ROW_INT(sample, "pt", pt), .max = 127, .dflt = 96 },
	{ ROW_INT(sample, "nice", nice), .min = -20, .max = 19 },
	{ ROW_CHOICE(sample, "colour", colour, colours), .dflt = 1 },
	{ ROW_TEXT(sample, "text", text), .required = "which text?",
	  .flags = FIELD_NULL },
	{ ROW_TEXT(sample, "name", name) },
	{ ROW_TIME(sample, "ptime", ptime, "ms"), .min = 5 * CR_MS,
	  .max = 60 * CR_MS, .dflt = 20 * CR_MS },
	{ ROW_ADDRESS(sample, "to", to) },
	{ ROW_OBJECT(sample, "contract", contract, inner) },
	{ ROW_POINTER(sample, "bound", bound, inner) },
	{ ROW_MAP(sample, "pairs", pairs, npairs, pair) },
	{ ROW_LIST(sample, "list", list, nlist, inner) },
	{ ROW_EACH(sample, "made", made, pair) },
	{ ROW_REAL(sample, "load", load) },
	{ ROW_TIME(sample, "delay", delay, "ns") },
	{ ROW_FIXED("ssrc", "cannot change") },
	{ 0 },
};

static int read_text(const char *json, struct sample *s, struct cr_err *e)
{
	json_t *o = json_text(json);
	int err = field_read(sample_fields, o, s, e);

	json_decref(o);
	return err;
}

static void what_is_given_goes_into_the_struct(void **state)
{
	struct sample s;
	struct cr_err e = { "" };

	field_defaults(sample_fields, &s);
	assert_int_equal(
		read_text("{'weight': 7, 'keep': true, 'pt': 127, 'nice': -20, "
			  "'colour': 'red', 'name': 'seven77', 'ptime': "
			  "'30ms', 'to': '127.0.0.1:5004', 'contract': "
			  "{'mean_us': 70.5, 'rate': '0.5/s'}}",
			  &s, &e),
		0);
	assert_int_equal(s.basics.weight, 7);
	assert_true(s.basics.keep);
	assert_int_equal(s.pt, 127);
	assert_int_equal(s.nice, -20);
	assert_int_equal(s.colour, 0);
	assert_string_equal(s.name, "seven77");
	assert_int_equal(s.ptime, 30 * CR_MS);
	assert_int_equal(s.to.ss_family, AF_INET);
	assert_int_equal(s.contract.mean, 70500);
	assert_int_equal(s.contract.rate, 500000);
}

static void what_is_missing_stays_and_null_is_the_default(void **state)
{
	struct sample s;
	struct cr_err e = { "" };

	field_defaults(sample_fields, &s);
	assert_int_equal(s.basics.weight, 100);
	assert_int_equal(s.ptime, 20 * CR_MS);
	assert_int_equal(s.colour, 1);
	s.basics.weight = 5;
	s.nice = 3;
	s.contract = (struct inner){ 1, 2 };
	assert_int_equal(read_text("{'nice': null, 'ptime_ms': 40}", &s, &e),
			 0);
	assert_int_equal(s.basics.weight, 5);
	assert_int_equal(s.nice, 0);
	assert_int_equal(s.ptime, 40 * CR_MS);
	assert_int_equal(s.contract.mean, 1);
	assert_int_equal(read_text("{'weight': null, 'ptime_ms': null, "
				   "'contract': {'mean': null}}",
				   &s, &e),
			 0);
	assert_int_equal(s.basics.weight, 100);
	assert_int_equal(s.ptime, 20 * CR_MS);
	assert_int_equal(s.contract.mean, 0);
	assert_int_equal(s.contract.rate, 2);
	assert_int_equal(read_text("{'contract': null}", &s, &e), 0);
	assert_int_equal(s.contract.rate, 0);
}

static void what_is_wrong_is_named_with_the_way_out(void **state)
{
	static const struct {
		const char *json, *why;
	} wrong[] = {
		{ "[]", "params: must be an object" },
		{ "{'weigth': 1}",
		  "weigth: unknown member; did you mean 'weight'?" },
		{ "{'contract': {'meen': 1}}",
		  "contract.meen: unknown member; did you mean 'mean'?" },
		{ "{'contract': 5}", "contract: must be an object" },
		{ "{'weight': 1001}",
		  "weight=1001: needs a whole number from 1 to 1000" },
		{ "{'weight': 1.5}",
		  "weight=1.5: needs a whole number from 1 to 1000" },
		{ "{'keep': 1}", "keep=1: needs true or false" },
		{ "{'colour': 'gren'}",
		  "colour=gren: no such name; did you mean 'green'?" },
		{ "{'colour': 1}",
		  "colour=1: no such name; known: red, green" },
		/* it may be a secret */
		{ "{'text': 1}", "text: needs a string" },
		{ "{'text': ['s3cret']}", "text: needs a string" },
		{ "{'ptime': [1, 2]}", "ptime: needs a time with its unit" },
		{ "{'ptime_ms': 1.1}", "ptime_ms=1.1: needs a number of ms" },
		{ "{'name': '12345678'}", "name: is longer than 7 octets" },
		{ "{'to': '127.0.0.1'}",
		  "to=127.0.0.1: needs an address with a port, such as" },
		{ "{'ptime': 20}",
		  "ptime=20: needs a time with its unit (ns, us, ms, s) from "
		  "5ms to 60ms; a number of ms goes under the name ptime_ms" },
		{ "{'ptime': '20'}", "ptime=20: needs a time with its unit" },
		{ "{'ptime_ms': '20ms'}",
		  "ptime_ms=20ms: needs a number of ms from 5ms to 60ms" },
		{ "{'ptime_ms': -1}", "ptime_ms=-1: needs a number of ms" },
		{ "{'ptime_ms': 61}", "ptime_ms=61: needs a number of ms" },
		{ "{'ptime': '1s'}",
		  "ptime=1s: needs a time with its unit (ns, us, ms, s) from "
		  "5ms to 60ms" },
		{ "{'ptime': '20ms', 'ptime_ms': 20}",
		  "ptime: is there as ptime_ms, too: give one" },
		{ "{'contract': {'mean': '2s'}}",
		  "contract.mean=2s: needs a time with its unit (ns, us, ms, "
		  "s) "
		  "from 1ns to 1s" },
		{ "{'contract': {'rate': 50}}",
		  "contract.rate=50: needs a number per second, such as 5/s or "
		  "0.5/s, from 0.001/s to 100000/s; a number per second goes "
		  "under the name rate_per_s" },
		{ "{'contract': {'rate': '0/s'}}", "from 0.001/s to 100000/s" },
		{ "{'contract': {'rate_per_s': 1e9}}", "to 100000/s" },
		{ "{'ssrc': 1}", "ssrc: cannot change" },
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct sample s = { 0 };
		struct cr_err e = { "" };

		assert_int_equal(read_text(wrong[i].json, &s, &e), -22);
		if (!strstr(e.text, wrong[i].why))
			fail_msg("%s: '%s' lacks '%s'", wrong[i].json, e.text,
				 wrong[i].why);
	}
}

static void what_is_required_must_be_there(void **state)
{
	struct sample s = { 0 };
	struct cr_err e = { "" };

	assert_int_equal(field_complete(sample_fields, &s, &e), -22);
	assert_string_equal(e.text, "text: is missing: which text?");
	s.text = "";
	assert_int_equal(field_complete(sample_fields, &s, &e), 0);
}

static bool two_pairs(void *arg, unsigned i, void *item)
{
	static const char *const keys[] = { "first", "second" };

	(void)arg;
	if (i == 2)
		return false;
	*(struct pair *)item = (struct pair){ keys[i], i };
	return true;
}

static void a_result_has_numbers_whose_names_end_in_their_unit(void **state)
{
	const struct inner bound = { .mean = 1500 };
	struct sample s = {
		.pt = 8,
		.ptime = 20 * CR_MS,
		.contract = { .rate = 33300000 },
		.pairs = { { "x", -1 }, { "y", 2 } },
		.npairs = 2,
		.list = { { 1000, 0 } },
		.nlist = 1,
		.made = { two_pairs, NULL },
		.load = 0.5,
		.delay = 223325865,
	};
	char *text;
	json_t *o;

	o = field_write(sample_fields, &s);
	text = json_dumps(o, JSON_COMPACT);
	assert_string_equal(
		text,
		"{\"weight\":0,\"keep\":false,\"pt\":8,\"nice\":0,\"colour\":"
		"\"red\",\"text\":null,\"name\":\"\",\"ptime_ms\":20.0,\"to\":"
		"\"?\",\"contract\":{\"rate_per_s\":33.299999999999997},"
		"\"bound\":null,\"pairs\":{\"x\":-1,\"y\":2},\"list\":[{"
		"\"mean_us\":1.0}],\"made\":[{\"key\":\"first\",\"value\":0},{"
		"\"key\":\"second\",\"value\":1}],\"load\":0.5,\"delay_ns\":"
		"223325865}");
	free(text);
	json_decref(o);
	s.bound = &bound;
	o = field_write(sample_fields, &s);
	assert_float_equal(json_number_value(json_object_get(
				   json_object_get(o, "bound"), "mean_us")),
			   1.5, 1e-9);
	json_decref(o);
}

FIELD_TABLE_DECLARE(asked, struct sample);

const struct field asked_fields[] = {
	{ ROW_INLINE(asked, basics, basics) },
	{ ROW_INT(asked, "pt", pt), .max = 127, .dflt = 96 },
	{ ROW_CHOICE(asked, "colour", colour, colours), .dflt = 1 },
	{ ROW_TEXT(asked, "text", text) },
	{ ROW_TIME(asked, "ptime", ptime, "ms"), .dflt = 20 * CR_MS },
	{ ROW_ADDRESS(asked, "to", to) },
	{ ROW_OBJECT(asked, "contract", contract, inner) },
	{ ROW_LIST(asked, "list", list, nlist, inner), .max = 2 },
	{ ROW_FIXED("ssrc", "cannot change") },
	{ 0 },
};

static void must_ask(const struct sample *s, const char *json)
{
	json_t *o = field_write_request(asked_fields, s);
	char *text = json_dumps(o, JSON_COMPACT);

	assert_string_equal(text, json);
	free(text);
	json_decref(o);
}

static void a_request_says_what_is_not_its_default(void **state)
{
	struct sample s = { .nice = 3 }, again = { .nice = 3 };
	struct cr_err e = { "" };
	json_t *o;

	field_defaults(asked_fields, &s);
	must_ask(&s, "{}");
	s.basics.keep = true;
	s.pt = 0;
	s.colour = 0;
	s.text = "";
	s.contract.mean = 70000;
	must_ask(&s, "{\"keep\":true,\"pt\":0,\"colour\":\"red\",\"text\":\"\","
		     "\"contract\":{\"mean_us\":70.0}}");
	o = field_write_request(asked_fields, &s);
	field_defaults(asked_fields, &again);
	assert_int_equal(field_read(asked_fields, o, &again, &e), 0);
	json_decref(o);
	again.text = s.text;
	assert_memory_equal(&again, &s, sizeof(s));
}

struct visits {
	char text[400];
};

static bool note(void *arg, const struct field *f, const char *path,
		 const char *name, const void *base)
{
	struct visits *v = arg;
	size_t n = strlen(v->text);

	(void)path;
	(void)base;
	if (f->kind == FIELD_TIME || f->kind == FIELD_INT)
		(void)snprintf(v->text + n, sizeof(v->text) - n, "%s ", name);
	return f->kind != FIELD_LIST;
}

static void a_walk_names_members_as_results_do(void **state)
{
	struct visits v = { "" };

	field_walk(sample_fields, NULL, note, &v);
	assert_string_equal(v.text, "weight pt nice ptime_ms contract.mean_us "
				    "bound.mean_us delay_ns ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_given_goes_into_the_struct),
		cmocka_unit_test(what_is_missing_stays_and_null_is_the_default),
		cmocka_unit_test(what_is_wrong_is_named_with_the_way_out),
		cmocka_unit_test(what_is_required_must_be_there),
		cmocka_unit_test(
			a_result_has_numbers_whose_names_end_in_their_unit),
		cmocka_unit_test(a_request_says_what_is_not_its_default),
		cmocka_unit_test(a_walk_names_members_as_results_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
