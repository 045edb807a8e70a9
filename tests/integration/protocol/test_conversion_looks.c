/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between convert.start and its answer the node looks at files: a disk that
 * does not answer holds nobody else, who asks at once with others gets one
 * file, and who does not wait for the answer has a conversion all the same.
 */
#include "cmocka_cr.h"
#include "desk.h"
#include "spool.h"

#include <fcntl.h>
#include <string.h>
#include <sys/fanotify.h>
#include <unistd.h>

#include "json_text.h"

/* Answers to convert.start. */
struct answers {
	unsigned all, taken;
	char why[200]; /* of the last refusal */
};

static void on_answer(void *arg, const json_t *result, const json_t *error)
{
	struct answers *a = arg;
	const char *why = json_string_value(json_object_get(error, "message"));

	a->all++;
	a->taken += !!result;
	if (why)
		(void)snprintf(a->why, sizeof(a->why), "%s", why);
}

static void submit(struct client *c, const char *json, struct answers *a)
{
	assert_int_equal(rpc_client_call(c->rpc, "convert.start",
					 json_text(json), on_answer, a),
			 0);
}

/* Opens of the file wait until let_open(); -1: not allowed to do that here. */
static int hold_opens(struct test_spool *sp, const char *name)
{
	int fd = fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC, O_RDONLY);

	if (fd >= 0 && fanotify_mark(fd, FAN_MARK_ADD, FAN_OPEN_PERM, AT_FDCWD,
				     test_spool_path(sp, name))) {
		(void)close(fd);
		fd = -1;
	}
	return fd;
}

static void wait_for_open(int hold, struct fanotify_event_metadata *event)
{
	assert_int_equal(read(hold, event, sizeof(*event)), sizeof(*event));
	assert_true(event->mask & FAN_OPEN_PERM);
}

static void let_open(int hold, const struct fanotify_event_metadata *event)
{
	const struct fanotify_response r = { .fd = event->fd,
					     .response = FAN_ALLOW };

	assert_int_equal(fanotify_mark(hold, FAN_MARK_FLUSH, 0, AT_FDCWD, NULL),
			 0);
	assert_int_equal(write(hold, &r, sizeof(r)), sizeof(r));
	(void)close(event->fd);
	(void)close(hold);
}

static bool was_asked(void *arg)
{
	struct client *c = arg;
	json_t *o = client_ask(c, "stats", NULL);
	bool asked = desk_number(o, "conversions.waiting") == 1;

	json_decref(o);
	return asked;
}

static void a_disk_that_does_not_answer_holds_nobody(void **state)
{
	struct fanotify_event_metadata event;
	struct answers a = { 0 };
	struct client c, other;
	struct test_spool sp;
	struct scratch d;
	int hold;

	test_spool_make(&sp);
	test_spool_wav(&sp, "slow.wav", 8000, 1600, 1);
	client_open_desk(&c, &d, &(struct desk_options){ .spool = sp.dir });
	client_open(&other, &d, NULL);
	hold = hold_opens(&sp, "slow.wav");
	if (hold >= 0) {
		submit(&c, "{'in': 'slow.wav', 'out': 'a.amr'}", &a);
		while (!was_asked(&other))
			;
		wait_for_open(hold, &event);
		client_do(&other, "call.list", NULL);
		assert_int_equal(a.all, 0);
		let_open(hold, &event);
		desk_wait_for(&d, &c.conversions_ended, 1);
		assert_int_equal(a.taken, 1);
		assert_true(test_spool_has(&sp, "a.amr"));
	}
	client_close(&c);
	client_close(&other);
	desk_close(&d);
	if (hold < 0)
		skip(); /* it takes CAP_SYS_ADMIN */
}

/* Its session waits for who takes it over, and that one is told of the end. */
static void who_is_lost_while_files_are_looked_at_is_waited_for(void **state)
{
	struct fanotify_event_metadata event;
	struct client c, other, next;
	struct answers a = { 0 };
	struct test_spool sp;
	struct scratch d;
	int hold;

	test_spool_make(&sp);
	test_spool_wav(&sp, "slow.wav", 8000, 1600, 1);
	client_open_desk(&c, &d, &(struct desk_options){ .spool = sp.dir });
	client_open(&other, &d, NULL);
	hold = hold_opens(&sp, "slow.wav");
	if (hold >= 0) {
		submit(&c, "{'in': 'slow.wav', 'out': 'a.amr'}", &a);
		while (!was_asked(&other))
			;
		wait_for_open(hold, &event);
		client_close(&c);
		client_wait_alone(&other);
		client_open(&next, &d, c.session);
		let_open(hold, &event);
		desk_wait_for(&d, &next.conversions_ended, 1);
		client_close(&next);
	} else {
		client_close(&c);
	}
	client_close(&other);
	desk_close(&d);
	if (hold < 0)
		skip(); /* it takes CAP_SYS_ADMIN */
}

static void of_two_asked_for_at_once_one_makes_the_file(void **state)
{
	struct answers a = { 0 };
	struct test_spool sp;
	struct client c;
	struct scratch d;

	test_spool_make(&sp);
	test_spool_endless(&sp, "endless.wav");
	test_spool_wav(&sp, "a.wav", 8000, 1600, 1);
	client_open_desk(&c, &d, &(struct desk_options){ .spool = sp.dir });
	submit(&c, "{'in': 'endless.wav', 'out': 'a.awb'}", &a);
	submit(&c, "{'in': 'a.wav', 'out': 'a.awb', 'overwrite': true}", &a);
	submit(&c, "{'in': 'a.wav', 'out': 'b.awb'}", &a);
	desk_wait_for(&d, &a.all, 3);
	assert_int_equal(a.taken, 2);
	assert_string_equal(a.why, "a.awb: conversion 1 makes that file");
	client_close_desk(&c, &d);
	assert_int_equal(test_spool_count(&sp),
			 2 + test_spool_has(&sp, "b.awb"));
}

static void who_does_not_wait_has_a_conversion(void **state)
{
	struct client c, other;
	struct answers a = { 0 };
	struct test_spool sp;
	struct scratch d;
	json_t *o;
	long long done;

	test_spool_make(&sp);
	test_spool_wav(&sp, "a.wav", 8000, 1600, 1);
	client_open_desk(&c, &d, &(struct desk_options){ .spool = sp.dir });
	client_open(&other, &d, NULL);
	submit(&c, "{'in': 'a.wav', 'out': 'a.amr'}", &a);
	client_close(&c);
	assert_int_equal(a.all,
			 1); /* by the client itself, if by nobody else */
	do {
		o = client_ask(&other, "stats", NULL);
		done = desk_number(o, "conversions.done");
		json_decref(o);
	} while (!done);
	assert_true(test_spool_has(&sp, "a.amr"));
	client_close(&other);
	desk_close(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_disk_that_does_not_answer_holds_nobody),
		cmocka_unit_test(
			who_is_lost_while_files_are_looked_at_is_waited_for),
		cmocka_unit_test(of_two_asked_for_at_once_one_makes_the_file),
		cmocka_unit_test(who_does_not_wait_has_a_conversion),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
