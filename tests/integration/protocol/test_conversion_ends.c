/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How conversions end: cancelled in every state, by the node's end, and what a
 * crash left is removed at the next start.
 */
#include "cmocka_cr.h"
#include "desk.h"
#include "spool.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "convert/spool.h"

enum { LONG = 20000 * 320 }; /* samples: 400 s of speech, seconds of work */

static const char *text(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

/* a.wav becomes NUMBER.awb. */
static void submit(struct client *c, unsigned number)
{
	char params[60];

	(void)snprintf(params, sizeof(params),
		       "{'in': 'a.wav', 'out': '%u.awb'}", number);
	client_do(c, "convert.start", params);
}

static void expect_state(struct client *c, const char *method,
			 unsigned conversion, const char *expected)
{
	char params[40];
	json_t *o;

	(void)snprintf(params, sizeof(params), "{'conversion': %u}",
		       conversion);
	o = client_ask(c, method, params);
	assert_string_equal(text(o, "state"), expected);
	json_decref(o);
}

/* Until @conversion has transcoded something: then its temporary file is there.
 */
static void wait_frames(struct client *c, unsigned conversion)
{
	char params[40];
	json_t *o;
	long long n;

	(void)snprintf(params, sizeof(params), "{'conversion': %u}",
		       conversion);
	do {
		o = client_ask(c, "convert.query", params);
		n = desk_number(o, "frames");
		assert_string_not_equal(text(o, "state"), "done");
		json_decref(o);
	} while (n < 60);
}

static void a_conversion_is_cancelled_in_every_state(void **state)
{
	struct test_spool sp;
	struct client c;
	struct scratch d;

	test_spool_make(&sp);
	test_spool_wav(&sp, "a.wav", 16000, LONG, 1);
	test_spool_wav(&sp, "s.wav", 16000, 320, 1);
	desk_open(&d,
		  &(struct desk_options){ .spool = sp.dir, .conversions = 1 });
	client_open(&c, &d, NULL);
	client_do(&c, "convert.start", "{'in': 'a.wav', 'out': 'a.awb'}");
	client_do(&c, "convert.start", "{'in': 'a.wav', 'out': 'b.awb'}");
	client_do(&c, "convert.start", "{'in': 's.wav', 'out': 's.awb'}");
	client_refused(&c, "convert.start", "{'in': 's.wav', 'out': 'b.awb'}",
		       RPC_CONFLICT, "conversion 2 makes that file");
	wait_frames(&c, 1);
	assert_int_equal(test_spool_count(&sp), 3);
	/* waiting */
	expect_state(&c, "convert.query", 2, "waiting");
	expect_state(&c, "convert.cancel", 2, "cancelled");
	desk_wait_for(&d, &c.conversions_ended, 1);
	client_refused(&c, "convert.cancel", "{'conversion': 2}", RPC_CONFLICT,
		       "cancelled already");
	/* running, and a second time while it ends */
	expect_state(&c, "convert.cancel", 1, "ending");
	desk_wait_for(&d, &c.conversions_ended, 2);
	expect_state(&c, "convert.query", 1, "cancelled");
	client_refused(&c, "convert.cancel", "{'conversion': 1}", RPC_CONFLICT,
		       "cancelled already");
	/* the one behind it goes on; and done */
	desk_wait_for(&d, &c.conversions_ended, 3);
	assert_string_equal(text(c.last_conversion, "state"), "done");
	client_refused(&c, "convert.cancel", "{'conversion': 4}",
		       RPC_NO_SUCH_CONVERSION, "no conversion 4");
	client_refused(&c, "convert.cancel", "{'conversion': 3}", RPC_CONFLICT,
		       "done already");
	assert_int_equal(test_spool_count(&sp), 3);
	assert_true(test_spool_has(&sp, "s.awb"));
	client_close_desk(&c, &d);
}

/* A conversion has two files. They leave to others what these need. */
static void few_descriptors_let_few_run(void **state)
{
	struct test_spool sp;
	struct rlimit limit, few;
	struct client c;
	struct scratch d;
	json_t *o;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	test_spool_make(&sp);
	test_spool_wav(&sp, "a.wav", 16000, LONG, 1);
	desk_open(&d,
		  &(struct desk_options){ .spool = sp.dir, .conversions = 32 });
	client_open(&c, &d, NULL);
	few = (struct rlimit){ 64, limit.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	for (unsigned i = 1; i <= 7; i++)
		submit(&c, i);
	wait_frames(&c, 1);
	o = client_ask(&c, "stats", NULL);
	/* on a busy machine the last of them may not have begun */
	while (desk_number(o, "conversions.running") < 64 / 8 / 2) {
		json_decref(o);
		o = client_ask(&c, "stats", NULL);
	}
	assert_int_equal(desk_number(o, "conversions.running"), 64 / 8 / 2);
	assert_int_equal(desk_number(o, "conversions.waiting"), 3);
	json_decref(o);
	/* room again: with the next one all run */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	submit(&c, 8);
	o = client_ask(&c, "stats", NULL);
	assert_int_equal(desk_number(o, "conversions.running"), 8);
	json_decref(o);
	client_close_desk(&c, &d);
}

static void expect_failed(struct client *c, unsigned conversion,
			  const char *why)
{
	char params[40];
	json_t *o;

	(void)snprintf(params, sizeof(params), "{'conversion': %u}",
		       conversion);
	o = client_ask(c, "convert.query", params);
	assert_string_equal(text(o, "state"), "failed");
	if (!strstr(text(o, "why"), why))
		fail_msg("%s", text(o, "why"));
	json_decref(o);
}

/* What was true when a conversion was submitted is looked at again. */
static void files_change_while_conversions_wait(void **state)
{
	struct test_spool sp;
	struct client c;
	struct scratch d;
	uint8_t *mine;
	size_t n;

	test_spool_make(&sp);
	test_spool_wav(&sp, "long.wav", 16000, LONG, 1);
	test_spool_wav(&sp, "s.wav", 16000, 320, 1);
	test_spool_wav(&sp, "t.wav", 16000, 320, 1);
	test_spool_wav(&sp, "u.wav", 16000, 320, 1);
	desk_open(&d,
		  &(struct desk_options){ .spool = sp.dir, .conversions = 1 });
	client_open(&c, &d, NULL);
	client_do(&c, "convert.start", "{'in': 'long.wav', 'out': 'long.awb'}");
	client_do(&c, "convert.start", "{'in': 's.wav', 'out': 's.awb'}");
	client_do(&c, "convert.start", "{'in': 't.wav', 'out': 't.awb'}");
	client_do(&c, "convert.start", "{'in': 'u.wav', 'out': 'u.awb'}");
	test_spool_write(&sp, "s.awb", "mine", 4);
	test_spool_wav(&sp, "t.wav", 8000, 320, 1);
	assert_int_equal(remove(test_spool_path(&sp, "u.wav")), 0);
	client_do(&c, "convert.cancel", "{'conversion': 1}");
	desk_wait_for(&d, &c.conversions_ended, 4);
	expect_failed(&c, 2, "s.awb: File exists");
	expect_failed(&c, 3, "another sample rate");
	expect_failed(&c, 4, "u.wav: No such file");
	mine = test_spool_read(&sp, "s.awb", &n);
	assert_string_equal((char *)mine, "mine");
	free(mine);
	assert_int_equal(test_spool_count(&sp), 4);
	client_close_desk(&c, &d);
}

/* A folder becomes a link to another while the conversion that writes there
 * waits: nothing is written outside the spool. */
static void a_folder_that_becomes_a_link_is_not_followed(void **state)
{
	struct test_spool sp, other;
	struct client c;
	struct scratch d;

	test_spool_make(&sp);
	test_spool_make(&other);
	test_spool_wav(&sp, "a.wav", 16000, LONG, 1);
	test_spool_wav(&sp, "s.wav", 16000, 320, 1);
	assert_int_equal(mkdir(test_spool_path(&sp, "sub"), 0777), 0);
	desk_open(&d,
		  &(struct desk_options){ .spool = sp.dir, .conversions = 1 });
	client_open(&c, &d, NULL);
	submit(&c, 1);
	client_do(&c, "convert.start", "{'in': 's.wav', 'out': 'sub/s.awb'}");
	assert_int_equal(rmdir(test_spool_path(&sp, "sub")), 0);
	assert_int_equal(symlink(other.dir, test_spool_path(&sp, "sub")), 0);
	client_do(&c, "convert.cancel", "{'conversion': 1}");
	desk_wait_for(&d, &c.conversions_ended, 2);
	expect_failed(&c, 2, "symbolic links are not followed");
	assert_int_equal(test_spool_count(&other), 0);
	assert_int_equal(test_spool_count(&sp), 3);
	client_close_desk(&c, &d);
}

/* The disk is full after 20000 octets: a limit of this process says so. */
static void a_full_disk_leaves_nothing(void **state)
{
	struct rlimit before, small;
	struct test_spool sp;
	struct client c;
	struct scratch d;

	(void)signal(SIGXFSZ, SIG_IGN);
	test_spool_make(&sp);
	test_spool_wav(&sp, "a.wav", 16000, 2000 * 320, 1);
	client_open_desk(&c, &d, &(struct desk_options){ .spool = sp.dir });
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = before;
	small.rlim_cur = 20000;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	submit(&c, 1);
	desk_wait_for(&d, &c.conversions_ended, 1);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	expect_failed(&c, 1, "cannot be written: File too large");
	assert_int_equal(test_spool_count(&sp), 1);
	client_close_desk(&c, &d);
}

static void cancels_at_any_moment_leave_nothing(void **state)
{
	struct test_spool sp;
	struct client c;
	struct scratch d;
	char params[80];

	test_spool_make(&sp);
	test_spool_wav(&sp, "a.wav", 16000, LONG, 1);
	desk_open(&d,
		  &(struct desk_options){ .spool = sp.dir, .conversions = 3 });
	client_open(&c, &d, NULL);
	for (unsigned i = 1; i <= 60; i++) {
		submit(&c, i);
		for (unsigned k = 0; k < i % 5; k++)
			client_do(&c, "stats", NULL);
		(void)snprintf(params, sizeof(params), "{'conversion': %u}", i);
		client_do(&c, "convert.cancel", params);
	}
	desk_wait_for(&d, &c.conversions_ended, 60);
	assert_int_equal(test_spool_count(&sp), 1);
	client_close_desk(&c, &d);
}

static void the_nodes_end_cancels_all(void **state)
{
	struct test_spool sp;
	struct client c;
	struct scratch d;

	test_spool_make(&sp);
	test_spool_wav(&sp, "a.wav", 16000, LONG, 1);
	desk_open(&d,
		  &(struct desk_options){ .spool = sp.dir, .conversions = 2 });
	client_open(&c, &d, NULL);
	for (unsigned i = 1; i <= 20; i++)
		submit(&c, i);
	wait_frames(&c, 1);
	client_do(&c, "drain", "{'limit': '1h'}");
	client_refused(&c, "convert.start", "{'in': 'a.wav', 'out': 'z.awb'}",
		       RPC_DRAINING, "no new conversions");
	assert_int_equal(d.drained, 0); /* for the conversions */
	client_close_desk(&c, &d);
	assert_int_equal(test_spool_count(&sp), 1);
}

/* The submitter may go: a conversion outlives it. */
static void a_conversion_outlives_its_session(void **state)
{
	struct test_spool sp;
	struct client c, other;
	struct scratch d;
	json_t *o;

	test_spool_make(&sp);
	test_spool_wav(&sp, "a.wav", 16000, 320 * 300, 1);
	client_open_desk(&c, &d,
			 &(struct desk_options){ .spool = sp.dir, .grace = 1 });
	client_open(&other, &d, NULL);
	client_do(&c, "convert.start", "{'in': 'a.wav', 'out': 'a.awb'}");
	client_close(&c);
	do {
		o = client_ask(&other, "convert.query", "{'conversion': 1}");
		if (!strcmp(text(o, "state"), "done"))
			break;
		assert_string_not_equal(text(o, "state"), "cancelled");
		json_decref(o);
	} while (true);
	json_decref(o);
	assert_true(test_spool_has(&sp, "a.awb"));
	client_close(&other);
	desk_close(&d);
}

/* A session that has only a conversion waits for who takes it over; when that
 * has ended, for nobody. */
static void who_takes_a_session_over_hears_of_its_conversions(void **state)
{
	struct client c, other, next;
	struct test_spool sp;
	struct scratch d;
	char json[60];

	test_spool_make(&sp);
	test_spool_endless(&sp, "a.wav");
	client_open_desk(&c, &d, &(struct desk_options){ .spool = sp.dir });
	client_open(&other, &d, NULL);
	client_do(&c, "convert.start", "{'in': 'a.wav', 'out': 'a.awb'}");
	client_close(&c);
	client_wait_alone(&other);
	client_open(&next, &d, c.session);
	client_do(&other, "convert.cancel", "{'conversion': 1}");
	desk_wait_for(&d, &next.conversions_ended, 1);
	assert_string_equal(text(next.last_conversion, "state"), "cancelled");
	client_close(&next);
	client_wait_alone(&other);
	(void)snprintf(json, sizeof(json), "{'resume': '%s'}", c.session);
	client_refused(&other, "hello", json, RPC_CONFLICT, "no session");
	client_close(&other);
	desk_close(&d);
}

/* What it had before is told as before, under its new name. */
static void who_takes_a_session_over_keeps_its_own_conversions(void **state)
{
	struct client c, other, next;
	struct test_spool sp;
	struct scratch d;
	char json[60];

	test_spool_make(&sp);
	test_spool_endless(&sp, "a.wav");
	client_open_desk(&c, &d, &(struct desk_options){ .spool = sp.dir });
	client_open(&other, &d, NULL);
	client_do(&c, "convert.start", "{'in': 'a.wav', 'out': 'a.awb'}");
	client_close(&c);
	client_wait_alone(&other);
	client_open(&next, &d, NULL);
	client_do(&next, "convert.start", "{'in': 'a.wav', 'out': 'b.awb'}");
	(void)snprintf(json, sizeof(json), "{'resume': '%s'}", c.session);
	client_do(&next, "hello", json);
	client_do(&other, "convert.cancel", "{'conversion': 1}");
	client_do(&other, "convert.cancel", "{'conversion': 2}");
	desk_wait_for(&d, &next.conversions_ended, 2);
	client_close(&next);
	client_close(&other);
	desk_close(&d);
}

/* A floor that no idle node has room for: said at once, not waited for, and
 * those behind it are not kept waiting either. */
static void what_can_never_have_room_fails(void **state)
{
	struct test_spool sp;
	struct client c;
	struct scratch d;

	test_spool_make(&sp);
	test_spool_wav(&sp, "a.wav", 16000, 320, 1);
	client_open_desk(&c, &d,
			 &(struct desk_options){ .spool = sp.dir,
						 .scheduler = "fifo",
						 .admission = true,
						 .capacity_ppm = 100,
						 .convert_floor = 1000 });
	client_do(&c, "convert.start", "{'in': 'a.wav', 'out': 'a.awb'}");
	client_do(&c, "convert.start", "{'in': 'a.wav', 'out': 'b.awb'}");
	desk_wait_for(&d, &c.conversions_ended, 2);
	expect_failed(&c, 1, "no-capacity: need");
	expect_failed(&c, 2, "of 0.00");
	client_close_desk(&c, &d);
}

static void opening_removes_what_a_crash_left(void **state)
{
	struct test_spool sp;
	struct spool first, second;
	struct cr_err e;

	test_spool_make(&sp);
	test_spool_write(&sp, ".codec-runner-convert-7", "half", 4);
	test_spool_write(&sp, "a.amr", "mine", 4);
	assert_int_equal(spool_open(&first, sp.dir, 1000, &e), 0);
	assert_int_equal(test_spool_count(&sp), 1);
	assert_true(test_spool_has(&sp, "a.amr"));
	/* not those of a daemon that runs */
	test_spool_write(&sp, ".codec-runner-convert-8", "half", 4);
	assert_int_equal(spool_open(&second, sp.dir, 1000, &e), -EBUSY);
	assert_non_null(strstr(e.text, "another codec-runner"));
	assert_int_equal(test_spool_count(&sp), 2);
	spool_close(&first);
	spool_close(&first);
	assert_int_equal(spool_open(&second, sp.dir, 1000, &e), 0);
	assert_int_equal(test_spool_count(&sp), 1);
	spool_close(&second);
	assert_int_equal(remove(test_spool_path(&sp, "a.amr")), 0);
	assert_int_equal(remove(sp.dir), 0);
	assert_int_equal(spool_open(&second, sp.dir, 1000, &e), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_conversion_is_cancelled_in_every_state),
		cmocka_unit_test(few_descriptors_let_few_run),
		cmocka_unit_test(files_change_while_conversions_wait),
		cmocka_unit_test(a_folder_that_becomes_a_link_is_not_followed),
		cmocka_unit_test(a_full_disk_leaves_nothing),
		cmocka_unit_test(cancels_at_any_moment_leave_nothing),
		cmocka_unit_test(the_nodes_end_cancels_all),
		cmocka_unit_test(a_conversion_outlives_its_session),
		cmocka_unit_test(
			who_takes_a_session_over_hears_of_its_conversions),
		cmocka_unit_test(
			who_takes_a_session_over_keeps_its_own_conversions),
		cmocka_unit_test(what_can_never_have_room_fails),
		cmocka_unit_test(opening_removes_what_a_crash_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
