/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec-ctl's results are readable: as tables, lines and the page of watch.
 */
#include <stdlib.h>
#include <string.h>

#include "cmocka_cr.h"
#include "app/ctl/ctl.h"

/* What @words show of the result @json. */
static char *viewed(const char *const *words, unsigned n, const char *json)
{
	json_t *result = json_loads(json, 0, NULL);
	struct ctl_request r;
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(result);
	assert_int_equal(ctl_request(&r, words, n, NULL), 0);
	ctl_print(&r, result, f);
	(void)fclose(f);
	json_decref(result);
	json_decref(r.params);
	return text;
}

static char *view_stream(const char *json)
{
	return viewed((const char *const[]){ "stream", "7" }, 2, json);
}

/* clang-format off */
#define NUMBER(name, unit, value)                                              \
	"{\"name\": \"" name "\", \"unit\": \"" unit "\", \"value\": "       \
	value "}"
#define POLICY                                                                 \
	"\"policy\": [" NUMBER("deadline", "clock_ns", "9004500000") ", "      \
	NUMBER("virtual_deadline", "clock_ns", "8999000000") ", "              \
	NUMBER("wake", "ns", "9223372036854775807") ", "                       \
	NUMBER("laxity_zero_at", "clock_ns", "9001000000") ", "                \
	NUMBER("density", "ppm", "3488") ", " NUMBER("lag", "count", "-2") ", " \
	NUMBER("vruntime", "ns", "1500") "]"
/* clang-format on */

static void a_stream_shows_the_policys_numbers_with_units(void **state)
{
	char *text = view_stream(
		"{\"stream\": 7, \"call\": 7, \"class\": \"soft\", "
		"\"transcoding\": "
		"\"a>b\", "
		"\"age_s\": 2.5, \"in\": {\"codec\": \"a\", \"mode\": "
		"\"1\", "
		"\"pt\": 0}, \"out\": {\"codec\": \"b\", \"mode\": "
		"\"2\", "
		"\"pt\": 96}, \"rtp\": \"h:1\", \"to\": \"h:2\", "
		"\"ssrc\": 3, "
		"\"out_ssrc\": 4, \"lost\": 5, \"waiting\": 5, \"count\": "
		"{\"done\": 2, "
		"\"late\": 1, \"packets_in\": 8, \"packets_out\": 2, "
		"\"overwritten\": 1, \"expired\": 0, \"shed\": 4, "
		"\"pauses\": 3, \"concealed\": 0, \"malformed\": 0, "
		"\"cancelled\": 0, \"missing\": 7, \"send_failed\": 0, "
		"\"codec_ns\": 3000, "
		"\"delay_max_ns\": "
		"2500000, \"violations\": 6}, \"contract\": "
		"{\"rate_per_s\": 40.0, "
		"\"burst\": 2, \"worst_us\": 250.0}, \"admitted\": "
		"{\"load\": "
		"0.0125, \"cost_us\": 250.0}, \"deadline_ms\": 15.0, "
		"\"max_age_ms\": 60.0, "
		"\"weight\": "
		"1024, \"nice\": -3, "
		"\"scheduler\": \"edf\", \"now_ns\": 9000000000, " POLICY "}");

	assert_string_equal(
		text,
		"stream       7 of call 7, soft, a>b, up 2.5 s\n"
		"in           a 1, PT 0, SSRC 3, at h:1\n"
		"out          b 2, PT 96, SSRC 4, to h:2\n"
		"contract     rate 40/s, burst 2 packets, worst 250 us, 6 "
		"packets beyond it\n"
		"admitted     0.0125 CPUs, 250 us a frame, deadline 15 ms, "
		"max-age 60 ms, weight 1024, nice -3\n"
		"frames       2 done, 1 late, 8 packets in, 2 packets out\n"
		"lost         5: 1 overwritten, 0 expired, 4 shed (3 of them "
		"pauses), 0 concealed\n"
		"other        0 malformed, 0 cancelled, 7 missing, 0 not "
		"sent\n"
		"times        1.5 us a frame in the codecs, 2.5 ms the longest "
		"delay\n"
		"waiting      5 frames\n"
		"scheduler    edf\n"
		"  deadline            in 4.5 ms\n"
		"  virtual_deadline    1 ms ago\n"
		"  wake                never\n"
		"  laxity_zero_at      in 1 ms\n"
		"  density             0.3488 %\n"
		"  lag                 -2\n"
		"  vruntime            1.5 us\n");
	free(text);
}

static void a_stream_shows_what_is_promised_or_why_not(void **state)
{
	char *text =
		view_stream("{\"bound\": {\"rule\": \"so it is\", "
			    "\"lateness_ms\": 1.25, \"buffer_ms\": 21.25}}");

	assert_non_null(strstr(text, "\nbound        late by 1.25 ms, play-out "
				     "buffer 21.25 ms\n             so it "
				     "is\n"));
	free(text);
	text = view_stream("{\"bound\": null, \"bound_why\": \"it is late\"}");
	assert_non_null(strstr(text, "\nbound        none: it is late\n"));
	assert_null(strstr(text, "max-age"));
	free(text);
}

static void a_stream_shows_what_both_sides_report(void **state)
{
	char *text =
		view_stream("{\"rtcp\": {\"received\": 300, \"lost\": 2, "
			    "\"jitter_us\": 1500.0, \"far\": {\"reports\": 4, "
			    "\"lost_mean\": 0.125, \"jitter_us\": 250.0, "
			    "\"rtt_mean_us\": 20500.0}}}");

	assert_non_null(strstr(text, "\nrtcp in      300 received, 2 lost, "
				     "jitter 1.5 ms\n"
				     "rtcp out     12.5 % lost, jitter 250 "
				     "us, round trip 20.5 ms, by 4 "
				     "reports\n"));
	free(text);
	text = view_stream("{\"rtcp\": {\"far\": {\"reports\": "
			   "0}}}");
	assert_non_null(strstr(text, "\nrtcp out     no report yet\n"));
	free(text);
	text = view_stream("{\"rtcp\": null}");
	assert_null(strstr(text, "rtcp"));
	free(text);
}

static void only_the_scheduler_in_use_is_shown(void **state)
{
	char *text = viewed(
		(const char *const[]){ "scheduler" }, 1,
		"{\"scheduler\": \"rr,quantum=2ms\", \"schedulers\": "
		"[{\"name\": \"r\", \"help\": \"no\", \"options\": []}, "
		"{\"name\": \"rr\", \"help\": \"a ring\", \"in_use\": true, "
		"\"admission\": "
		"\"sum\", \"options\": [{\"name\": \"quantum\", \"help\": "
		"\"quantum=TIME  a turn\"}]}]}");

	assert_string_equal(text, "scheduler: rr,quantum=2ms\n"
				  "rr           a ring\n"
				  "             quantum=TIME  a turn\n"
				  "             admits by: sum\n");
	free(text);
}

/* One second apart: call 1 did 50 frames, call 2 is new, call 3 loses. */
/* clang-format off */
#define CALL(id, class, in, lost)                                              \
	"{\"stream\": " id ", \"class\": \"" class "\", \"in\": {\"codec\": "      \
	"\"pcmu\", \"mode\": \"64\"}, \"out\": {\"codec\": \"amr\", "            \
	"\"mode\": \"12.2\"}, \"count\": {\"packets_in\": " in ", "            \
	"\"packets_out\": " in ", \"late\": 0, \"delay_max_ns\": 1500000}, "   \
	"\"lost\": " lost "}"
#define STATS(up, in, busy)                                                    \
	"{\"uptime_s\": " up ", \"scheduler\": \"edf\", \"calls\": 3, "        \
	"\"load\": 0.5, \"measured_load\": 0.4, \"bound\": 0.97, "             \
	"\"queued\": 2, \"lost\": 0, \"totals\": {\"packets_in\": " in ", "      \
	"\"done\": " in ", \"late\": 0}, \"workers\": [{\"busy_ns\": " busy "," \
	"\"jobs\": " in "}], \"delay\": {\"p50_ns\": 100000, \"p99_ns\": 0, "  \
	"\"p999_ns\": 0, \"max_ns\": 2000000}}"
#define FIRST                                                                  \
	"{\"streams\": [" CALL("1", "soft", "100", "0") ","                      \
	CALL("3", "hard", "100", "3") "]}"
#define SECOND                                                                 \
	"{\"streams\": [" CALL("1", "soft", "150", "0") ","                      \
	CALL("2", "soft", "10", "0") "," CALL("3", "hard", "150", "8") "]}"
/* clang-format on */

static void watch_shows_rates_groups_and_who_loses(void **state)
{
	struct ctl_sample a = {
		.stats = json_loads(STATS("10.0", "200", "0"), 0, NULL),
		.calls = json_loads(FIRST, 0, NULL),
	};
	struct ctl_sample b = {
		.stats = json_loads(STATS("11.0", "310", "250000000"), 0, NULL),
		.calls = json_loads(SECOND, 0, NULL),
	};
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	assert_true(a.stats && a.calls && b.stats && b.calls);
	ctl_watch_page(&a, &b, f);
	(void)fclose(f);
	assert_string_equal(
		text,
		"edf  3 calls  load 0.5 of 0.97 CPUs (measured 0.4)  queued 2  "
		"up 11 s\n"
		"frames: in 110/s  done 110/s  late 0/s  lost 0/s   since the "
		"start: in 310  late 0  lost 0\n"
		"delay since the start: p50 100 us, p99 0 ns, p99.9 0 ns, max "
		"2 ms\n"
		"\n"
		"WORKER  BUSY_%  JOBS/S  WAKEUPS/S  STEALS/S\n"
		"     0      25     110          0         0\n"
		"\n"
		"CLASS  IN       OUT       STREAMS  IN_PKTS/S  OUT_PKTS/S  "
		"LOST/S  LATE/S\n"
		"soft   pcmu/64  amr/12.2        2         60          60      "
		" "
		"0       0\n"
		"hard   pcmu/64  amr/12.2        1         50          50      "
		" "
		"5       0\n"
		"\n"
		"STREAM  CLASS  IN       OUT       LOST/S  LOST  LATE  IN_PKTS "
		" "
		"MAX_DELAY_MS\n"
		"     3  hard   pcmu/64  amr/12.2       5     8     0      150 "
		" "
		"         1.5\n");
	free(text);
	ctl_sample_free(&a);
	ctl_sample_free(&b);
}

/* Thirty seconds apart, each of 40 calls has lost one frame more. */
static void watch_does_not_round_before_it_sums(void **state)
{
	struct ctl_sample at[2] = { { NULL, NULL }, { NULL, NULL } };
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	for (int i = 0; i < 2; i++) {
		at[i].stats = json_pack("{s:f}", "uptime_s", 30.0 * i);
		at[i].calls = json_pack("{s:[]}", "streams");
		for (int id = 0; id < 40; id++)
			(void)json_array_append_new(
				json_object_get(at[i].calls, "streams"),
				json_pack("{s:i,s:s,s:i}", "stream", id,
					  "class", "soft", "lost", i));
	}
	ctl_watch_page(&at[0], &at[1], f);
	(void)fclose(f);
	assert_non_null(strstr(text,
			       "soft   -/-  -/-       40          0           "
			       "0     1.3       0\n"));
	free(text);
	ctl_sample_free(&at[0]);
	ctl_sample_free(&at[1]);
}

static char *shown(const char *json)
{
	json_t *result = json_loads(json, 0, NULL);
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	ctl_show(result, NULL, NULL, f);
	(void)fclose(f);
	json_decref(result);
	return text;
}

static void results_are_aligned(void **state)
{
	char *text = shown("{\"call\": 1, \"rtp\": {\"address\": \"a:1\"}, "
			   "\"on\": true, \"list\": [{\"n\": 5, \"name\": "
			   "\"x\"}, {\"n\": 10, \"name\": \"long\"}], "
			   "\"modes\": [{\"name\": \"4.75\"}]}");

	assert_string_equal(text, "call:        1\n"
				  "rtp.address: a:1\n"
				  "on:          yes\n"
				  "\nlist\n"
				  " n  name\n"
				  " 5  x\n"
				  "10  long\n"
				  "\nmodes\n"
				  "name\n"
				  "4.75\n");
	free(text);
}

/* Without tables: values as they are. */
static void texts_have_values_and_parts(void **state)
{
	json_t *o = json_loads("{\"n\": 6, \"by\": 4, \"no\": 0, \"to\": "
			       "{\"text\": \"a|b\"}, \"list\": [{\"x\": 1}, "
			       "{\"x\": 2}], \"none\": []}",
			       0, NULL);
	const struct ctl_shown s = { .now = o, .seconds = 2 };
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	ctl_view("{n} {n/by} {n/s} {to.text} {to.text|} {to.text:4}. {gone}; "
		 "[n?yes ][!n?no ][no?yes ][!no?no ][gone?yes ][!gone?no ]"
		 "[list*<{x}[x?!]>][none*never][!none?empty]",
		 &s, f);
	(void)fclose(f);
	assert_string_equal(text, "6 1.5 3/s a|b a\\|b a|b . -; yes no "
				  "<1!><2!>empty");
	free(text);
	json_decref(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stream_shows_the_policys_numbers_with_units),
		cmocka_unit_test(a_stream_shows_what_is_promised_or_why_not),
		cmocka_unit_test(a_stream_shows_what_both_sides_report),
		cmocka_unit_test(only_the_scheduler_in_use_is_shown),
		cmocka_unit_test(watch_shows_rates_groups_and_who_loses),
		cmocka_unit_test(watch_does_not_round_before_it_sums),
		cmocka_unit_test(results_are_aligned),
		cmocka_unit_test(texts_have_values_and_parts),
	};

	return cmocka_run_group_tests_name("ctl_views", tests, NULL, NULL);
}
