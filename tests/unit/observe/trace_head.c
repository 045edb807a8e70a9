/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The header of a node's trace is JSON that any reader takes, whatever the
 * names in it: a plug-in may be called anything.
 */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "cmocka_cr.h"
#include "observe/trace_writer.h"
#include "seed.h"

static json_t *head_with(const char *options)
{
	const struct trace_head h = { .program = "codec-runner",
				      .version = "1.2",
				      .scheduler = "rr",
				      .options = options,
				      .workers = 4,
				      .cpus_per_rq = 2,
				      .ring_frames = 8,
				      .max_age = -1,
				      .shed = "quiet" };
	char *text = trace_head_text(&h);
	json_error_t e;
	json_t *o;

	assert_non_null(text);
	o = json_loads(text, JSON_REJECT_DUPLICATES, &e);
	if (!o)
		fail_msg("%s: %s", e.text, text);
	free(text);
	return o;
}

static const char *text_of(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	assert_non_null(text);
	return text;
}

static void every_member_is_there(void **state)
{
	json_t *o = head_with("rr,quantum=2ms"), *machine;

	assert_int_equal(json_object_size(o), 12);
	assert_string_equal(text_of(o, "program"), "codec-runner");
	assert_string_equal(text_of(o, "version"), "1.2");
	assert_string_equal(text_of(o, "scheduler"), "rr");
	assert_string_equal(text_of(o, "options"), "rr,quantum=2ms");
	assert_int_equal(json_integer_value(json_object_get(o, "workers")), 4);
	assert_int_equal(json_integer_value(json_object_get(o, "cpus_per_rq")),
			 2);
	assert_int_equal(json_integer_value(json_object_get(o, "ring_frames")),
			 8);
	assert_int_equal(json_integer_value(json_object_get(o, "max_age_ns")),
			 -1);
	assert_string_equal(text_of(o, "shed"), "quiet");
	assert_true(json_is_true(json_object_get(o, "live")));
	machine = json_object_get(o, "machine");
	assert_true(strlen(text_of(machine, "node")) > 0);
	assert_true(strlen(text_of(machine, "kernel")) > 0);
	assert_true(strlen(text_of(machine, "arch")) > 0);
	json_decref(o);
}

static void reads(const char *options, const char *want)
{
	json_t *o = head_with(options);

	assert_string_equal(text_of(o, "options"), want);
	json_decref(o);
}

static void text_comes_back_as_it_was(void **state)
{
	static const char *const texts[] = { "",
					     "\"\\/\b\f\n\r\t\x01\x1f\x7f",
					     "./m\xc3\xb6ller.so",
					     "\xe0\xa0\x80 \xed\x9f\xbf",
					     "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf",
					     NULL };

	for (unsigned i = 0; texts[i]; i++)
		reads(texts[i], texts[i]);
}

/* Cut short, overlong, a surrogate, beyond Unicode. */
static void what_is_no_utf8_is_marked(void **state)
{
	reads("a\xc3", "a?");
	reads("\xe0\x80\x80", "???");
	reads("\xed\xa0\x80", "???");
	reads("\xf4\x90\x80\x80", "????");
	reads("\xf0\x9f\x98", "???");
	reads("\xff\xc0\xaf.", "???.");
}

static void any_text_makes_json(void **state)
{
	uint64_t seed = test_seed();
	char text[12];

	for (unsigned i = 0; i < 20000; i++) {
		for (unsigned k = 0; k + 1 < sizeof(text); k++)
			text[k] = (char)(test_below(&seed, 3)
						 ? 0x80 + test_below(&seed, 128)
						 : 1 + test_below(&seed, 127));
		text[sizeof(text) - 1] = '\0';
		json_decref(head_with(text));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_member_is_there),
		cmocka_unit_test(text_comes_back_as_it_was),
		cmocka_unit_test(what_is_no_utf8_is_marked),
		cmocka_unit_test(any_text_makes_json),
	};

	return cmocka_run_group_tests_name("trace_head", tests, NULL, NULL);
}
