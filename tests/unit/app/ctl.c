/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec-ctl's words become the requests they mean; what they cannot mean is
 * told.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_cr.h"
#include "app/ctl/ctl.h"

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
	assert_string_equal(r.name, method);
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
	asks("hello", "hello", "null");
	asks("call stop 7", "call.stop", "{\"call\": 7}");
	asks("call query 7", "call.query", "{\"call\": 7}");
	asks("call 7", "call.query", "{\"call\": 7}");
	asks("change 7 class=hard contract.worst=250us contract.rate=50/s "
	     "out.mode=7.95 deadline=null nice=-3",
	     "call.change",
	     "{\"call\": 7, \"class\": \"hard\", \"contract\": {\"worst\": "
	     "\"250us\", \"rate\": \"50/s\"}, \"out\": {\"mode\": "
	     "\"7.95\"}, \"deadline\": null, \"nice\": -3}");
	asks("call change 7 deadline_ms=15", "call.change",
	     "{\"call\": 7, \"deadline_ms\": 15}");
	asks("scheduler", "schedulers", "null");
	asks("scheduler set rr", "scheduler.set", "{\"scheduler\": \"rr\"}");
	asks("scheduler tune x=1", "scheduler.tune", "{\"options\": \"x=1\"}");
	asks("scheduler rr,quantum=2ms", "scheduler.set",
	     "{\"scheduler\": \"rr,quantum=2ms\"}");
	asks("tune quantum=5ms x=1", "scheduler.tune",
	     "{\"options\": \"quantum=5ms,x=1\"}");
	asks("trace start a.trace", "trace.start", "{\"name\": \"a.trace\"}");
	asks("trace start a.trace overwrite", "trace.start",
	     "{\"name\": \"a.trace\", \"overwrite\": true}");
	asks("trace stop", "trace.stop", "null");
	asks("drain", "drain", "null");
	asks("drain 5s", "drain", "{\"limit\": \"5s\"}");
	asks("raw {\"method\":\"m\",\"params\":[1]}", "m", "[1]");
	asks("raw m {\"a\":1}", "m", "{\"a\": 1}");
	asks("raw m", "m", "null");
}

static void members_are_nested_and_typed(void **state)
{
	asks("call start in.codec=pcmu in.pt=0 out.mode=12.2 out.dtx=yes "
	     "ptime=20 deadline_ms=20 ssrc=4294967295 port=own "
	     "contract.rate=50/s contract.peak_per_s=60",
	     "call.start",
	     "{\"in\": {\"codec\": \"pcmu\", \"pt\": 0}, \"out\": {\"mode\": "
	     "\"12.2\", \"dtx\": true}, \"ptime\": \"20\", \"ssrc\": "
	     "4294967295, "
	     "\"deadline_ms\": 20, \"contract\": {\"rate\": \"50/s\", "
	     "\"peak_per_s\": 60}, \"port\": \"own\", \"keep\": true}");
	asks("call start out.address=[::1]:5004 deadline=20 keep=no "
	     "release={\"model\":\"lbap\"}",
	     "call.start",
	     "{\"out\": {\"address\": \"[::1]:5004\"}, \"deadline\": \"20\", "
	     "\"keep\": false, \"release\": {\"model\": \"lbap\"}}");
}

/* By two words, and by one with a dot: the tables are enough. */
static void every_method_has_the_command_of_its_name(void **state)
{
	static const char *const rests[] = { "", " 7", " 7 nice=1", " a=1",
					     " a b" };

	for (const struct method *m = methods; m->name; m++) {
		char line[80], *dot;
		unsigned found = 0;

		if (!strcmp(m->name, "bye"))
			continue; /* each command ends with it */
		for (unsigned i = 0; i < 10; i++) {
			struct ctl_request r = { 0 };

			(void)snprintf(line, sizeof(line), "%s%s", m->name,
				       rests[i / 2]);
			dot = strchr(line, '.');
			if (i % 2 && dot)
				*dot = ' ';
			if (!request(&r, line, NULL)) {
				assert_string_equal(r.name, m->name);
				found |= 1u << i % 2;
			}
			json_decref(r.params);
		}
		assert_int_equal(found, 3);
	}
}

/* Of an empty result, and of lists with an empty object in them. */
static void print_empty(const struct ctl_request *r)
{
	json_t *result = json_object();
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	for (const struct field *m = r->method->result; m->name; m++)
		if (m->kind == FIELD_LIST)
			(void)json_object_set_new(result, m->name,
						  json_pack("[{}]"));
	ctl_print(r, result, f);
	(void)fclose(f);
	free(text);
	json_decref(result);
}

/* A path that is in no table would abort. */
static void screens_name_rows_of_tables(void **state)
{
	static const char *const rests[] = { "", " 7", " 7 nice=1", " a=1",
					     " a b" };
	const struct cli_line *c = ctl_commands();
	unsigned shown = 0;

	for (; c->left; c++)
		for (unsigned i = 0; i < 5; i++) {
			struct ctl_request r = { 0 };
			char line[80];
			int words =
				(int)strcspn(c->left, "[ABCDEFGHIKLMNOPRST");

			(void)snprintf(line, sizeof(line), "%.*s%s", words,
				       c->left, rests[i]);
			if (request(&r, line, NULL))
				continue;
			if (r.action == CTL_ASK)
				print_empty(&r);
			shown += r.action == CTL_ASK;
			json_decref(r.params);
		}
	assert_true(shown > 30);
}

static char *helped(const char *line)
{
	struct ctl_request r;
	struct cr_err e = { 0 };
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (request(&r, line, &e))
		fail_msg("%s: %s", line, e.text);
	assert_true(ctl_print_own(&r, f));
	(void)fclose(f);
	return text;
}

static void tells(const char *line, const char *what)
{
	char *text = helped(line);

	if (!strstr(text, what))
		fail_msg("%s does not say '%s' but:\n%s", line, what, text);
	free(text);
}

static void help_comes_from_the_tables(void **state)
{
	for (const struct method *m = methods; m->name; m++) {
		char line[80];

		tells("help", m->name);
		tells("help", m->help);
		(void)snprintf(line, sizeof(line), "help %s", m->name);
		tells(line, m->help);
	}
	tells("help", "stream.ended");
	tells("help", "-32602");
	tells("help call start", "  ptime ");
	tells("help stats", "  workers[].busy_ns ");
	refused("help call.strat", "did you mean 'call start'");
}

static void mistakes_are_named(void **state)
{
	refused("helo", "did you mean 'hello'");
	refused("call strat", "did you mean 'call start'");
	refused("call stop", "usage: codec-ctl call stop ID");
	refused("call", "usage: codec-ctl call ID");
	refused("call 7 8", "usage: codec-ctl call ID");
	refused("change", "usage: codec-ctl change ID [KEY=VALUE...]");
	refused("change x nice=1",
		"change: call=x: needs a whole number from 1");
	refused("change 7 nice", "should be KEY=VALUE");
	refused("watch 1", "=1: needs a time with its unit");
	refused("watch 1ms", "interval=1ms: needs a time with its unit (ns, "
			     "us, ms, s) from 10ms");
	refused("drain 1", "=1: needs a time with its unit");
	refused("watch 1s x", "times=x: needs a whole number from 1");
	refused("watch 1s 1 1", "usage: codec-ctl watch");
	refused("call stop seven", "seven");
	refused("call stop 0", "0");
	refused("hello world", "should be KEY=VALUE");
	refused("stats all", "usage: codec-ctl stats");
	refused("call start in", "KEY=VALUE");
	refused("call start =x", "KEY=VALUE");
	refused("call start a=1 a=2", "given twice");
	refused("call start a=1 a.b=2", "before the dot");
	refused("call start a.=1", "without a name");
	refused("call start release={x", "not JSON");
	refused("raw {", "column");
	refused("raw {}", "method");
	refused("trace start a nonsense", "codec-ctl help trace.start");
}

static void watch_takes_how_often_and_how_many_times(void **state)
{
	struct ctl_request r;
	struct cr_err e = { 0 };

	assert_int_equal(request(&r, "watch", &e), 0);
	assert_int_equal(r.interval, CR_SEC);
	assert_int_equal(r.times, 0);
	assert_int_equal(request(&r, "watch 250ms 3", &e), 0);
	assert_int_equal(r.interval, 250 * CR_MS);
	assert_int_equal(r.times, 3);
	assert_int_equal(request(&r, "hello", &e), 0);
	assert_int_equal(r.interval, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commands_become_requests),
		cmocka_unit_test(members_are_nested_and_typed),
		cmocka_unit_test(every_method_has_the_command_of_its_name),
		cmocka_unit_test(screens_name_rows_of_tables),
		cmocka_unit_test(help_comes_from_the_tables),
		cmocka_unit_test(mistakes_are_named),
		cmocka_unit_test(watch_takes_how_often_and_how_many_times),
	};

	return cmocka_run_group_tests_name("ctl", tests, NULL, NULL);
}
