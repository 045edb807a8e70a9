/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page of "codec-ctl top": rounded, with marks for who loses, and nothing
 * in it that a terminal acts on.
 */
#include "app/ctl/ctl.h"

#include <stdlib.h>
#include <string.h>

#include "cmocka_cr.h"
#include "json_text.h"

#define STATS                                                                  \
	"{'scheduler':'edf','calls':10000,'queued':2,'load':0.5,'bound':0.97," \
	"'measured_load':0.4,"                                                 \
	"'lost':8,'uptime_s':11.4,'draining':false}"
#define CALL(id, rest)                                                         \
	"{'stream':" id ",'class':'soft','transcoding':'pcmu>amr/12.2@20ms',"  \
	"'to':'192.0.2.7:4000','age_s':11.6,'in_per_s':49.98," rest "}"

static char *page_of(const char *calls, bool keys)
{
	struct ctl_sample s = { .stats = json_text(STATS) };
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	char result[4096];

	(void)snprintf(result, sizeof(result),
		       "{'streams':10000,'sort':'loss','window_s':1.04,"
		       "'top':[%s]}",
		       calls);
	s.calls = json_text(result);
	ctl_top_page(&s, keys, f);
	assert_int_equal(fclose(f), 0);
	ctl_sample_free(&s);
	return text;
}

/* clang-format off */
static const char rows[] =
	CALL("7", "'lost_per_s':2.04,'missing_per_s':1.0,'late_per_s':0.0,"
		  "'load':0.00351,'delay_ms':80.12345,'delay_max_ms':90.0,"
		  "'waiting':3") ","
	CALL("12", "'lost_per_s':0.0,'missing_per_s':0.5,'late_per_s':0.0,"
		   "'load':0.00349,'delay_ms':0.2,'delay_max_ms':1.0,"
		   "'waiting':0,'label':'a\\u001b[2J'") ","
	CALL("3", "'lost_per_s':0.0,'missing_per_s':0.0,'late_per_s':0.0,"
		  "'load':0.0,'delay_ms':0.0,'delay_max_ms':0.0,'waiting':0");
/* clang-format on */

static void it_says_who_loses_first(void **state)
{
	char *text = page_of(rows, true);

	assert_string_equal(
		text,
		"edf  10000 calls  load 0.5 of 0.97 CPUs (measured 0.4)  "
		"queued "
		"2  up 11.4 s\n"
		"by loss, over 1.04 s   lost since the start: 8 frames   keys: "
		"l "
		"loss, "
		"m missing, c cost, d delay, q quit\n"
		"\n"
		"\001STREAM  CLASS  IN/S  LOST/S  MISSING/S  LATE/S    LOAD  "
		"DELAY_MS  MAX_DELAY_MS  WAITING  AGE_S  TRANSCODING         "
		"TO              LABEL\n"
		"\002     7  soft     50       2          1       0  0.0035    "
		"80.123            90        3   11.6  pcmu>amr/12.2@20ms  "
		"192.0.2.7:4000  -\n"
		"\003    12  soft     50       0        0.5       0  0.0035    "
		"   0.2             1        0   11.6  pcmu>amr/12.2@20ms  "
		"192.0.2.7:4000  a?[2J\n"
		"     3  soft     50       0          0       0       0    "
		"     0             0        0   11.6  pcmu>amr/12.2@20ms  "
		"192.0.2.7:4000  -\n");
	free(text);
}

static void without_calls_there_is_a_head(void **state)
{
	char *text = page_of("", false);

	assert_non_null(strstr(text,
			       "by loss, over 1.04 s   lost since the start: "
			       "8 frames\n\n\001STREAM  "));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_says_who_loses_first),
		cmocka_unit_test(without_calls_there_is_a_head),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
