/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is asked of the node as a whole, with good and with bad parameters: who
 * it is, its figures, its trace.
 */
#include "cmocka_cr.h"
#include "desk.h"
#include "protocol/tables/method.h"
#include "scratch.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void hello_tells_who_is_there(void **state)
{
	struct client c;
	struct scratch d;
	json_t *o;

	client_open_desk(
		&c, &d,
		&(struct desk_options){ .scheduler = "rr,quantum=2ms" });
	o = client_ask(&c, "hello", "{'client': 'test'}");
	assert_string_equal(json_string_value(json_object_get(o, "program")),
			    "codec-runner");
	assert_string_equal(json_string_value(json_object_get(o, "scheduler")),
			    "rr,quantum=2ms");
	assert_string_equal(json_string_value(json_object_get(o, "transport")),
			    "user");
	assert_string_equal(json_string_value(json_object_get(o, "session")),
			    c.session);
	assert_false(json_is_true(json_object_get(o, "draining")));
	assert_true(json_array_size(json_object_get(o, "codecs")) >= 6);
	assert_int_equal(desk_number(o, "capacity.workers"), 1);
	json_decref(o);
	client_refused(&c, "hello", "{'clint': 1}", RPC_INVALID_PARAMS,
		       "did you mean 'client'");
	client_refused(&c, "hello", "{'client': 1}", RPC_INVALID_PARAMS,
		       "string");
	client_refused(&c, "hello", "[]", RPC_INVALID_PARAMS, "object");
	client_refused(&c, "hello", "{'resume': '0'}", RPC_CONFLICT,
		       "no session with this id");
	client_refused(&c, "helo", NULL, RPC_NO_METHOD, "helo");
	client_close_desk(&c, &d);
}

static void a_trace_goes_into_its_folder_only(void **state)
{
	static const char *const bad[] = {
		"{'name': '../x'}",    "{'name': '/tmp/x'}",
		"{'name': 'a/b'}",     "{'name': '..'}",
		"{'name': '.'}",       "{'name': ''}",
		"{'name': '.hidden'}", "{'name': 'a\\nb'}",
		"{'name': 'a\\u007f'}"
	};
	char dir[SCRATCH_MAX], path[SCRATCH_MAX + 10];
	struct client c;
	struct stat st;
	struct scratch d;
	json_t *o;

	(void)scratch_folder(dir);
	client_open_desk(&c, &d, &(struct desk_options){ .trace_dir = dir });
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		client_refused(&c, "trace.start", bad[i], RPC_INVALID_PARAMS,
			       "not a plain file name");
	client_refused(&c, "trace.start", NULL, RPC_INVALID_PARAMS,
		       "name: is missing");
	client_refused(&c, "trace.stop", NULL, RPC_CONFLICT, "no trace");
	client_do(&c, "trace.start", "{'name': 'run.trace'}");
	client_refused(&c, "trace.start", "{'name': 'other'}", RPC_CONFLICT,
		       "");
	(void)client_start(&c, ""); /* one record: the call's description */
	o = client_ask(&c, "trace.stop", NULL);
	(void)snprintf(path, sizeof(path), "%s/run.trace", dir);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(desk_number(o, "records"), 1);
	assert_int_equal(desk_number(o, "lost"), 0);
	assert_int_equal(desk_number(o, "bytes"), st.st_size);
	json_decref(o);
	client_refused(&c, "trace.start", "{'name': 'run.trace'}", RPC_CONFLICT,
		       "run.trace");
	client_do(&c, "trace.start",
		  "{'name': 'run.trace', 'overwrite': true}");
	client_do(&c, "trace.stop", NULL);
	client_close_desk(&c, &d);
}

/* Whoever may write into the folder does not choose what the node overwrites.
 */
static void a_trace_is_not_written_through_a_link(void **state)
{
	static const char *const ask[] = {
		"{'name': 'link'}", "{'name': 'link', 'overwrite': true}"
	};
	char dir[SCRATCH_MAX], link[SCRATCH_MAX + 10], to[SCRATCH_MAX];
	struct client c;
	struct stat st;
	struct scratch d;

	(void)snprintf(link, sizeof(link), "%s/link", scratch_folder(dir));
	(void)scratch_file(to);
	assert_int_equal(truncate(to, 8), 0);
	assert_int_equal(symlink(to, link), 0);
	client_open_desk(&c, &d, &(struct desk_options){ .trace_dir = dir });
	client_refused(&c, "trace.start", ask[0], RPC_CONFLICT, "exists");
	client_refused(&c, "trace.start", ask[1], RPC_BAD_FILE,
		       "is a symbolic link");
	assert_int_equal(stat(to, &st), 0);
	assert_int_equal(st.st_size, 8);
	assert_int_equal(unlink(link), 0);
	client_do(&c, "trace.start", ask[1]);
	client_do(&c, "trace.stop", NULL);
	client_close_desk(&c, &d);
}

static void a_trace_that_cannot_be_written_is_a_bad_file(void **state)
{
	char dir[SCRATCH_MAX], pipe[SCRATCH_MAX + 10];
	struct client c;
	struct scratch d;

	(void)snprintf(pipe, sizeof(pipe), "%s/pipe", scratch_folder(dir));
	assert_int_equal(mkfifo(pipe, 0600), 0);
	client_open_desk(&c, &d, &(struct desk_options){ .trace_dir = dir });
	client_refused(&c, "trace.start", "{'name': 'pipe'}", RPC_CONFLICT,
		       "exists");
	client_refused(&c, "trace.start", "{'name': 'pipe', 'overwrite': true}",
		       RPC_BAD_FILE, "is a pipe");
	assert_int_equal(unlink(pipe), 0);
	assert_int_equal(rmdir(dir), 0);
	client_refused(&c, "trace.start", "{'name': 'run'}", RPC_BAD_FILE,
		       "cannot create");
	client_close_desk(&c, &d);
}

/* Another node may have a descriptor. */
static void a_trace_without_what_it_takes_is_no_capacity(void **state)
{
	char dir[SCRATCH_MAX];
	struct rlimit limit, none;
	struct client c;
	struct scratch d;

	desk_open(&d,
		  &(struct desk_options){ .trace_dir = scratch_folder(dir) });
	client_open(&c, &d, NULL);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){ .rlim_max = limit.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	client_refused(&c, "trace.start", "{'name': 'run'}", RPC_NO_CAPACITY,
		       "Too many open files");
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	client_do(&c, "trace.start", "{'name': 'run'}");
	client_do(&c, "trace.stop", NULL);
	client_close_desk(&c, &d);
}

static void without_a_folder_there_is_no_trace(void **state)
{
	struct client c;
	struct scratch d;

	client_open_desk(&c, &d, &(struct desk_options){ 0 });
	client_refused(&c, "trace.start", "{'name': 'run.trace'}",
		       RPC_INVALID_PARAMS, "--trace-dir");
	client_close_desk(&c, &d);
}

static void figures_come_from_stats_and_codecs(void **state)
{
	struct client c;
	struct scratch d;
	json_t *o;

	client_open_desk(&c, &d, &(struct desk_options){ 0 });
	o = client_ask(&c, "stats", NULL);
	assert_int_equal(desk_number(o, "calls"), 0);
	assert_int_equal(desk_number(o, "control.associations"), 1);
	assert_int_equal(desk_number(o, "totals.done"), 0);
	assert_int_equal(json_array_size(json_object_get(o, "workers")), 1);
	json_decref(o);
	o = client_ask(&c, "codecs", NULL);
	assert_true(json_array_size(json_object_get(o, "codecs")) >= 6);
	json_decref(o);
	client_refused(&c, "stats", "{'x': 1}", RPC_INVALID_PARAMS, "unknown");
	client_refused(&c, "codecs", "{'x': 1}", RPC_INVALID_PARAMS, "unknown");
	client_refused(&c, "schedulers", "{'x': 1}", RPC_INVALID_PARAMS,
		       "unknown");
	client_refused(&c, "trace.stop", "{'x': 1}", RPC_INVALID_PARAMS,
		       "unknown");
	client_refused(&c, "drain", "{'limit': -1}", RPC_INVALID_PARAMS,
		       "limit");
	client_close_desk(&c, &d);
}

/* Refuse @name, a member that nobody knows, where @path says: "'contract': {"
 * or "". */
static void refuse_name(struct client *c, const struct method *m,
			const char *path, const char *name, const char *why)
{
	char json[300];

	(void)snprintf(json, sizeof(json), "{%s'%s': 1%s", path, name,
		       *path ? "}}" : "}");
	client_refused(c, m->name, json, RPC_INVALID_PARAMS, why);
}

/* Every member of @table misspelt; true: there was one. */
static bool refuse_slips(struct client *c, const struct method *m,
			 const char *path, const struct field *table)
{
	char slip[80], why[120], inner[100];
	bool any = false;

	for (const struct field *f = table; f->name; f++) {
		if (f->kind == FIELD_INLINE) {
			any |= refuse_slips(c, m, path, f->members);
			continue;
		}
		any = true;
		if (f->kind == FIELD_OBJECT) {
			(void)snprintf(inner, sizeof(inner), "'%s': {",
				       f->name);
			(void)refuse_slips(c, m, inner, f->members);
			refuse_name(c, m, inner, "qqqqqqqqqqqqqqq", "known: ");
		}
		if (!f->name[1])
			continue; /* of one letter: nothing is near */
		(void)snprintf(slip, sizeof(slip), "%sq", f->name);
		(void)snprintf(why, sizeof(why),
			       "%sq: unknown member; did you mean '%s'?",
			       f->name, f->name);
		refuse_name(c, m, path, slip, why);
	}
	return any;
}

static void no_method_takes_what_it_does_not_know(void **state)
{
	char dir[SCRATCH_MAX];
	struct client c;
	struct scratch d;

	(void)scratch_folder(dir);
	client_open_desk(&c, &d, &(struct desk_options){ .trace_dir = dir });
	for (const struct method *m = methods; m->name; m++)
		if (refuse_slips(&c, m, "", m->params))
			refuse_name(&c, m, "", "qqqqqqqqqqqqqqq",
				    "unknown member; known: ");
		else
			refuse_name(&c, m, "", "qqqqqqqqqqqqqqq",
				    "unknown member");
	client_refused(&c, "call.strat", NULL, RPC_NO_METHOD,
		       "did you mean 'call.start'?");
	client_close_desk(&c, &d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hello_tells_who_is_there),
		cmocka_unit_test(a_trace_goes_into_its_folder_only),
		cmocka_unit_test(a_trace_is_not_written_through_a_link),
		cmocka_unit_test(a_trace_that_cannot_be_written_is_a_bad_file),
		cmocka_unit_test(a_trace_without_what_it_takes_is_no_capacity),
		cmocka_unit_test(without_a_folder_there_is_no_trace),
		cmocka_unit_test(no_method_takes_what_it_does_not_know),
		cmocka_unit_test(figures_come_from_stats_and_codecs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
