/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How run.json begins, and text that JSON cannot hold.
 */
#include <stdlib.h>
#include <string.h>

#include "cmocka_cr.h"
#include "run/run.h"

static const char text[] =
	"duration: 1s\n"
	"flows:\n  - {name: a, period: 10ms, cost: {mean: 1ms}}\n";

static void the_head_says_what_was_run_and_how(void **state)
{
	static const char *const names[] = { "program", "version",
					     "command", "campaign",
					     "seed",	"duration_ns" };
	char *argv[] = { (char *)"codec-sim", (char *)"c.yaml" };
	struct campaign *c;
	struct cr_err e;
	const char *key, *program, *path, *words;
	json_t *o, *value;
	json_int_t seed, duration;
	unsigned i = 0;

	assert_int_equal(
		campaign_parse(text, strlen(text), "c.yaml", NULL, &c, &e), 0);
	o = run_head_json(
		&(struct run_head){ "codec-sim", c, 7, CR_SEC, 2, argv });
	json_object_foreach (o, key, value)
		assert_string_equal(key, names[i++]);
	assert_int_equal(i, 6);
	assert_int_equal(json_unpack(o, "{s:s,s:{s:s,s:s},s:I,s:I}", "program",
				     &program, "campaign", "path", &path,
				     "text", &words, "seed", &seed,
				     "duration_ns", &duration),
			 0);
	assert_string_equal(program, "codec-sim");
	assert_string_equal(path, "c.yaml");
	assert_string_equal(words, text);
	assert_int_equal(seed, 7);
	assert_int_equal(duration, CR_SEC);
	value = json_object_get(o, "command");
	assert_int_equal(json_array_size(value), 2);
	assert_string_equal(json_string_value(json_array_get(value, 1)),
			    "c.yaml");
	json_decref(o);
	campaign_free(c);
}

static void text_that_is_no_utf8_is_null(void **state)
{
	json_t *o = json_object();
	char *got;

	run_put_text(o, "good", "a");
	run_put_text(o, "bad", "\xff");
	run_put_text(o, "none", NULL);
	run_put_int(o, "n", INT64_MAX);
	got = json_dumps(o, JSON_COMPACT);
	assert_string_equal(got, "{\"good\":\"a\",\"bad\":null,\"none\":null,"
				 "\"n\":9223372036854775807}");
	free(got);
	json_decref(o);
}

static void expect_print(const json_t *j, const char *want)
{
	char *s = NULL;
	size_t n;
	FILE *f = open_memstream(&s, &n);

	assert_non_null(f);
	run_json_print(j, f);
	(void)fclose(f);
	assert_string_equal(s, want);
	free(s);
}

static void a_histogram_tells_its_quantiles(void **state)
{
	static struct histogram h;
	json_int_t count, p50, max;
	json_t *json;

	for (int i = 1; i <= 100; i++)
		histogram_add(&h, i);
	json = run_histogram_json(&h);
	assert_int_equal(json_unpack(json, "{s:I, s:I, s:I}", "count", &count,
				     "p50_ns", &p50, "max_ns", &max),
			 0);
	assert_int_equal(count, 100);
	assert_int_equal(p50, 50);
	assert_int_equal(max, 100);
	json_decref(json);
}

static void printed_with_a_new_line_or_not_at_all(void **state)
{
	json_t *list = json_pack("[i]", 1);

	expect_print(list, "[\n 1\n]\n");
	expect_print(NULL, "");
	json_decref(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_head_says_what_was_run_and_how),
		cmocka_unit_test(text_that_is_no_utf8_is_null),
		cmocka_unit_test(a_histogram_tells_its_quantiles),
		cmocka_unit_test(printed_with_a_new_line_or_not_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
