/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expectations judged: what is met, what is missed, in which order, and how
 * both are reported.
 */
#include <stdlib.h>
#include <string.h>

#include "cmocka_cr.h"
#include "run/run.h"

#define FLOWS 2

/* Lines 3, 7 and 8 expect; flow b does not. */
static const char text[] = "duration: 1s\n"
			   "expect:\n"
			   "  p99-delay: <= 20ms\n"
			   "flows:\n"
			   "  - name: a\n"
			   "    expect:\n"
			   "      loss: < 1%\n"
			   "      admitted: '>= 50%'\n"
			   "    period: 10ms\n"
			   "    cost: {mean: 1ms}\n"
			   "  - {name: b, period: 10ms, cost: {mean: 1ms}}\n";

/* What a run came to. Values that nobody expects anything of stay unset; to ask
 * for one fails the test. */
struct outcome {
	int64_t whole[NMETRICS], flow[FLOWS][NMETRICS], conversions[NMETRICS];
};

static int64_t value(const void *arg, int flow, enum campaign_metric m)
{
	const struct outcome *o = arg;
	int64_t v;

	if (flow == VERDICT_CONVERSIONS)
		return o->conversions[m];
	assert_in_range(flow + 1, 0, FLOWS);
	v = flow == VERDICT_WHOLE_RUN ? o->whole[m] : o->flow[flow][m];
	assert_int_not_equal(v, 0);
	return v;
}

static struct campaign *campaign_of(const char *s)
{
	struct campaign *c;
	struct cr_err e;

	if (campaign_parse(s, strlen(s), "c.yaml", NULL, &c, &e))
		fail_msg("%s", e.text);
	return c;
}

static struct verdicts judged(const struct campaign *c, struct outcome o)
{
	struct verdicts v;
	struct cr_err e;

	assert_int_equal(verdicts_judge(c, value, &o, &v, &e), 0);
	return v;
}

static struct outcome all_met(void)
{
	struct outcome o = { .whole[METRIC_P99_DELAY] = 20 * CR_MS };

	o.flow[0][METRIC_LOSS] = 9999;
	o.flow[0][METRIC_ADMITTED] = 500000;
	return o;
}

static void met_up_to_the_bound(void **state)
{
	struct campaign *c = campaign_of(text);
	struct verdicts v = judged(c, all_met());

	assert_int_equal(v.count, 3);
	assert_true(verdicts_met(&v));
	verdicts_fini(&v);
	campaign_free(c);
}

static void one_missed_is_not_met(void **state)
{
	struct campaign *c = campaign_of(text);
	struct outcome o = all_met();
	struct verdicts v;

	o.flow[0][METRIC_ADMITTED]--;
	v = judged(c, o);
	assert_false(verdicts_met(&v));
	assert_true(v.item[0].met && v.item[1].met && !v.item[2].met);
	verdicts_fini(&v);
	o = all_met();
	o.whole[METRIC_P99_DELAY]++;
	v = judged(c, o);
	assert_false(verdicts_met(&v));
	verdicts_fini(&v);
	campaign_free(c);
}

/* The campaign's own first, then flow by flow in the order of the metrics. */
static void each_knows_its_flow_metric_and_value(void **state)
{
	struct campaign *c = campaign_of(text);
	struct verdicts v = judged(c, all_met());

	assert_null(v.item[0].flow);
	assert_int_equal(v.item[0].metric, METRIC_P99_DELAY);
	assert_int_equal(v.item[0].value, 20 * CR_MS);
	assert_ptr_equal(v.item[0].expect, &c->expect[METRIC_P99_DELAY]);
	assert_string_equal(v.item[1].flow, "a");
	assert_int_equal(v.item[1].metric, METRIC_LOSS);
	assert_int_equal(v.item[1].value, 9999);
	assert_string_equal(v.item[2].flow, "a");
	assert_int_equal(v.item[2].metric, METRIC_ADMITTED);
	verdicts_fini(&v);
	campaign_free(c);
}

static void json_names_unit_and_expectation(void **state)
{
	struct campaign *c = campaign_of(text);
	struct outcome o = all_met();
	struct verdicts v;
	json_t *j;
	char *got;

	o.flow[0][METRIC_LOSS] = 10000;
	v = judged(c, o);
	j = verdicts_json(&v);
	got = json_dumps(j, JSON_COMPACT);
	assert_string_equal(
		got,
		"[{\"flow\":null,\"metric\":\"p99-delay\",\"expect\":\"<= 20ms"
		"\",\"unit\":\"ns\",\"value\":20000000,\"met\":true},"
		"{\"flow\":\"a\",\"metric\":\"loss\",\"expect\":\"< 1%\","
		"\"unit\":\"ppm\",\"value\":10000,\"met\":false},"
		"{\"flow\":\"a\",\"metric\":\"admitted\",\"expect\":\">= 50%\","
		"\"unit\":\"ppm\",\"value\":500000,\"met\":true}]");
	free(got);
	json_decref(j);
	verdicts_fini(&v);
	campaign_free(c);
}

static char *printed(const struct verdicts *v)
{
	char *s = NULL;
	size_t n;
	FILE *f = open_memstream(&s, &n);

	assert_non_null(f);
	verdicts_print(v, "c.yaml", f);
	(void)fclose(f);
	return s;
}

static void people_read_line_expectation_and_value(void **state)
{
	struct campaign *c = campaign_of(text);
	struct outcome o = all_met();
	struct verdicts v;
	char *got;

	o.whole[METRIC_P99_DELAY] = 20123456; /* reported to the microsecond */
	v = judged(c, o);
	got = printed(&v);
	assert_string_equal(
		got, "MISSED c.yaml:3: p99-delay <= 20ms, is 20.123ms\n"
		     "met    c.yaml:7: loss < 1%, is 0.9999% (flow a)\n"
		     "met    c.yaml:8: admitted >= 50%, is 50% (flow a)\n");
	free(got);
	verdicts_fini(&v);
	campaign_free(c);
}

static void conversions_are_judged_last(void **state)
{
	struct campaign *c =
		campaign_of("duration: 1s\n"
			    "conversions:\n  count: 3\n  out: {codec: amr}\n"
			    "  expect: {finished: 100%, max-turnaround: 2s}\n"
			    "flows:\n  - name: a\n    expect: {loss: 1%}\n"
			    "    period: 10ms\n    cost: {mean: 1ms}\n");
	struct outcome o = { .flow[0][METRIC_LOSS] = 1 };
	struct verdicts v;
	char *got;

	o.conversions[METRIC_FINISHED] = 666666;
	o.conversions[METRIC_MAX_TURNAROUND] = CR_SEC;
	v = judged(c, o);
	assert_false(verdicts_met(&v));
	got = printed(&v);
	assert_string_equal(got,
			    "met    c.yaml:8: loss <= 1%, is 0.0001% (flow a)\n"
			    "MISSED c.yaml:5: finished >= 100%, is 66.6666%\n"
			    "met    c.yaml:5: max-turnaround <= 2s, is 1s\n");
	free(got);
	verdicts_fini(&v);
	campaign_free(c);
}

static void nothing_expected_is_met_and_silent(void **state)
{
	struct campaign *c = campaign_of(
		"duration: 1s\n"
		"flows:\n  - {name: a, period: 10ms, cost: {mean: 1ms}}\n");
	struct verdicts v = judged(c, (struct outcome){ 0 });
	json_t *j = verdicts_json(&v);
	char *got = printed(&v);

	assert_int_equal(v.count, 0);
	assert_true(verdicts_met(&v));
	assert_int_equal(json_array_size(j), 0);
	assert_string_equal(got, "");
	free(got);
	json_decref(j);
	verdicts_fini(&v);
	campaign_free(c);
}

static void freed_twice_is_fine(void **state)
{
	struct campaign *c = campaign_of(text);
	struct verdicts v = judged(c, all_met());

	verdicts_fini(&v);
	assert_int_equal(v.count, 0);
	verdicts_fini(&v);
	campaign_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(met_up_to_the_bound),
		cmocka_unit_test(one_missed_is_not_met),
		cmocka_unit_test(each_knows_its_flow_metric_and_value),
		cmocka_unit_test(json_names_unit_and_expectation),
		cmocka_unit_test(people_read_line_expectation_and_value),
		cmocka_unit_test(conversions_are_judged_last),
		cmocka_unit_test(nothing_expected_is_met_and_silent),
		cmocka_unit_test(freed_twice_is_fine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
