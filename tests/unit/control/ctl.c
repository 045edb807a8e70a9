/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec-ctl's words become the requests they mean, its results readable.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_cr.h"
#include "control/ctl_command.h"
#include "control/ctl_show.h"

enum { WORDS_MAX = 16 };

/* Split @line at blanks. */
static unsigned split(char *line, const char **words)
{
	unsigned n = 0;
	char *save = NULL;

	for (char *w = strtok_r(line, " ", &save); w && n < WORDS_MAX;
	     w = strtok_r(NULL, " ", &save))
		words[n++] = w;
	return n;
}

static int request(struct ctl_request *r, const char *line, struct cr_err *e)
{
	const char *words[WORDS_MAX];
	char copy[512];

	(void)snprintf(copy, sizeof(copy), "%s", line);
	return ctl_request(r, words, split(copy, words), e);
}

static void asks(const char *line, const char *method, const char *params)
{
	struct ctl_request r;
	struct cr_err e = { 0 };
	json_t *want = json_loads(params, JSON_DECODE_ANY, NULL);

	if (request(&r, line, &e))
		fail_msg("%s: %s", line, e.text);
	assert_string_equal(r.method, method);
	if (r.params)
		assert_true(json_equal(r.params, want));
	else
		assert_true(json_is_null(want));
	json_decref(r.params);
	json_decref(want);
}

static void refused(const char *line, const char *hint)
{
	struct ctl_request r;
	struct cr_err e = { 0 };

	assert_int_equal(request(&r, line, &e), -EINVAL);
	if (!strstr(e.text, hint))
		fail_msg("%s: '%s' does not say '%s'", line, e.text, hint);
}

static void commands_become_requests(void **state)
{
	(void)state;
	asks("hello", "hello", "null");
	asks("call stop 7", "call.stop", "{\"call\": 7}");
	asks("call query 7", "call.query", "{\"call\": 7}");
	asks("scheduler rr,quantum=2ms", "scheduler.set",
	     "{\"scheduler\": \"rr,quantum=2ms\"}");
	asks("tune quantum=5ms x=1", "scheduler.tune",
	     "{\"options\": \"quantum=5ms,x=1\"}");
	asks("trace start a.trace", "trace.start",
	     "{\"name\": \"a.trace\", \"overwrite\": false}");
	asks("trace stop", "trace.stop", "null");
	asks("drain", "drain", "null");
	asks("drain 5s", "drain", "{\"limit\": \"5s\"}");
	asks("raw {\"method\":\"m\",\"params\":[1]}", "m", "[1]");
	asks("raw m {\"a\":1}", "m", "{\"a\": 1}");
	asks("raw m", "m", "null");
}

static void members_are_nested_and_typed(void **state)
{
	(void)state;
	asks("call start in.codec=pcmu in.pt=0 out.mode=12.2 out.dtx=yes "
	     "ptime=20 ssrc=4294967295 port=own",
	     "call.start",
	     "{\"in\": {\"codec\": \"pcmu\", \"pt\": 0}, \"out\": {\"mode\": "
	     "\"12.2\", \"dtx\": true}, \"ptime\": 20, \"ssrc\": 4294967295, "
	     "\"port\": \"own\", \"keep\": true}");
	asks("call start out.address=[::1]:5004 deadline=20 keep=no "
	     "release={\"model\":\"lbap\"}",
	     "call.start",
	     "{\"out\": {\"address\": \"[::1]:5004\"}, \"deadline\": \"20\", "
	     "\"keep\": false, \"release\": {\"model\": \"lbap\"}}");
}

static void mistakes_are_named(void **state)
{
	(void)state;
	refused("helo", "did you mean 'hello'");
	refused("call strat", "did you mean 'call start'");
	refused("call stop", "usage: codec-ctl call stop ID");
	refused("call stop seven", "seven");
	refused("call stop 0", "0");
	refused("hello world", "usage");
	refused("call start in", "KEY=VALUE");
	refused("call start =x", "KEY=VALUE");
	refused("call start a=1 a=2", "given twice");
	refused("call start a=1 a.b=2", "'a'");
	refused("call start a.=1", "without a name");
	refused("call start release={x", "not JSON");
	refused("raw {", "column");
	refused("raw {}", "method");
	refused("trace start a nonsense", "overwrite");
}

static char *shown(const char *json)
{
	json_t *result = json_loads(json, 0, NULL);
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	ctl_show(result, f);
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

	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commands_become_requests),
		cmocka_unit_test(members_are_nested_and_typed),
		cmocka_unit_test(mistakes_are_named),
		cmocka_unit_test(results_are_aligned),
	};

	return cmocka_run_group_tests_name("ctl", tests, NULL, NULL);
}
