/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scheduler from outside breaks its contract under 200 calls. The node says
 * so, counts it, goes on with fifo, and no call loses a frame; a debug build
 * aborts. SABOTEUR is the path of the policy's object.
 */
#include "cmocka_cr.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "observe/log.h"
#include "scratch.h"
#include "traffic.h"

enum { CALLS = 200 };

static bool is_fifo(void *arg)
{
	struct node_fixture *r = arg;
	char spec[320];

	node_scheduler(r->node, spec, sizeof(spec));
	return !strcmp(spec, "fifo,order=frame");
}

static void set(struct node_fixture *r, const char *mischief)
{
	char spec[4096];
	struct cr_err e = { "" };

	(void)snprintf(spec, sizeof(spec), SABOTEUR ",mischief=%s,after=300",
		       mischief);
	if (node_scheduler_set(r->node, spec, &e))
		fail_msg("%s", e.text);
}

/* What stats tell about faults: how many, and the last one. */
static unsigned faults(struct node_fixture *r, char *last, size_t size)
{
	json_t *o = fixture_stats(r);
	const json_t *f = json_object_get(o, "scheduler_faults");
	unsigned n = (unsigned)json_integer_value(json_object_get(f, "count"));

	(void)snprintf(last, size, "%s",
		       json_string_value(json_object_get(f, "last")));
	json_decref(o);
	return n;
}

/* The log of all that, an object a line: each fault has its parts as values. */
static void expect_log(const char *path, unsigned n)
{
	static const char *const parts[] = { "policy", "callback", "what", "rq",
					     "cpu",    "task",	   "said" };
	FILE *f = fopen(path, "r");
	json_t *o;

	assert_non_null(f);
	while ((o = json_loadf(f, JSON_DISABLE_EOF_CHECK, NULL))) {
		const char *event =
			json_string_value(json_object_get(o, "event"));
		bool fault = !strcmp(event, "scheduler-fault");

		for (unsigned i = 0; fault && i < 7; i++)
			if (!json_object_get(o, parts[i]))
				fail_msg("no %s", parts[i]);
		n -= fault;
		json_decref(o);
	}
	assert_int_equal(n, 0);
	(void)fclose(f);
}

/* One run queue: exactly one fault a mischief. More: each may commit one. */
static void sabotage(unsigned workers, unsigned cpus_per_rq)
{
	static const struct {
		const char *mischief, *says;
	} acts[] = {
		{ "lose", "what=\"nothing, with a task waiting" },
		{ "stall", "what=\"nothing, with a task waiting" },
		{ "sleeper", "what=\"a task that " },
		{ "twice", "what=\"a task that " },
	};
	const struct fixture_options o = { .scheduler = "edf",
					   .workers = workers,
					   .cpus_per_rq = cpus_per_rq };
	unsigned nrq = cpus_per_rq ? workers / cpus_per_rq : 1, before = 0;
	char last[512], path[SCRATCH_MAX];
	const struct log_config log = { .level = LOG_ERROR,
					.format = LOG_JSON,
					.path = scratch_file(path) };
	struct traffic t;
	struct cr_err e;
	struct node_fixture r;

	assert_int_equal(log_open(&log, &e), 0);
	fixture_open(&r, &o);
	assert_int_equal(faults(&r, last, sizeof(last)), 0);
	assert_string_equal(last, "");
	traffic_begin(&t, &r, CALLS);
	for (unsigned i = 0; i < sizeof(acts) / sizeof(acts[0]); i++) {
		unsigned n;

		set(&r, acts[i].mischief);
		assert_true(fixture_wait(&r, is_fifo, &r));
		traffic_flows(&t, CALLS);
		n = faults(&r, last, sizeof(last));
		assert_in_range(n, before + 1, before + nrq);
		before = n;
		if (!strstr(last, acts[i].says) ||
		    !strstr(last, "policy=saboteur callback=pick") ||
		    !strstr(last, "alibi="))
			fail_msg("%s: '%s'", acts[i].mischief, last);
	}
	traffic_end(&t);
	traffic_balance(&t);
	fixture_close(&r);
	log_close();
	expect_log(path, before);
}

#ifdef CR_DEBUG

static void a_debug_build_aborts(void **state)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		(void)signal(SIGABRT, SIG_DFL);
		sabotage(1, 0);
		_exit(0);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

#else

static void no_frame_is_lost_with_one_run_queue(void **state)
{
	sabotage(1, 0);
	sabotage(2, 0);
}

static void no_frame_is_lost_with_several(void **state)
{
	sabotage(2, 1);
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
#ifdef CR_DEBUG
		cmocka_unit_test(a_debug_build_aborts),
#else
		cmocka_unit_test(no_frame_is_lost_with_one_run_queue),
		cmocka_unit_test(no_frame_is_lost_with_several),
#endif
	};

	return cmocka_run_group_tests_name("fault", tests, NULL, NULL);
}
