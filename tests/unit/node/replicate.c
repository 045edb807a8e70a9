/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The copy of calls in a store: where a store is, and what a batch has.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmocka_cr.h"
#include "node/replica_books.h"
#include "node/replica_store.h"

/* --- URLs --- */

static void urls_are_read(void **state)
{
	struct replica_url u;
	struct cr_err e = { "" };

	(void)state;
	assert_int_equal(replica_url_parse(&u, "redis://10.0.0.1", &e), 0);
	assert_string_equal(u.host, "10.0.0.1");
	assert_int_equal(u.port, 6379);
	assert_int_equal(u.db, 0);
	assert_string_equal(u.password, "");
	assert_int_equal(replica_url_parse(&u,
					   "redis://us%65r:p%40ss:w/"
					   "d@store.example:7000/3"
					   "?name=node-1&ca=/etc/ca.pem",
					   &e),
			 -EINVAL); /* a / needs %2F */
	assert_int_equal(replica_url_parse(&u,
					   "redis://us%65r:p%40ss:w%2Fd@"
					   "store.example:7000/3"
					   "?name=node-1&ca=/etc/ca.pem",
					   &e),
			 0);
	assert_string_equal(u.user, "user");
	assert_string_equal(u.password, "p@ss:w/d");
	assert_string_equal(u.host, "store.example");
	assert_int_equal(u.port, 7000);
	assert_int_equal(u.db, 3);
	assert_string_equal(u.name, "node-1");
	assert_string_equal(u.ca, "/etc/ca.pem");
	assert_int_equal(
		replica_url_parse(&u, "redis://:secret@[::1]:6380?name=a", &e),
		0);
	assert_string_equal(u.user, "");
	assert_string_equal(u.password, "secret");
	assert_string_equal(u.host, "::1");
	assert_int_equal(u.port, 6380);
	assert_false(u.tls);
}

static void what_is_no_url_is_refused(void **state)
{
	static const char *const wrong[] = {
		"",
		"10.0.0.1",
		"http://10.0.0.1",
		"redis:/10.0.0.1",
		"redis://",
		"redis://:6379",
		"redis://a:",
		"redis://a:0",
		"redis://a:65536",
		"redis://a:1x",
		"redis://::1:6379",
		"redis://[::1",
		"redis://[::1]x",
		"redis://secret@a",
		"redis://secret:@a",
		"redis://u:s%zz@a",
		"redis://u:s%0@a",
		"redis://u:s%00@a",
		"redis://a/x",
		"redis://a/1/2",
		"redis://a?name=",
		"redis://a?name",
		"redis://a?more=1",
		"redis://a/99999999999",
	};
	const size_t n = sizeof(wrong) / sizeof(wrong[0]);
	struct replica_url u = { .port = 7 };

	(void)state;
	for (size_t i = 0; i < n; i++) {
		struct cr_err e = { "" };
		int err = replica_url_parse(&u, wrong[i], &e);

		if (err != -EINVAL)
			fail_msg("%s is taken", wrong[i]);
		assert_true(*e.text);
		assert_null(strstr(e.text, "secret"));
		assert_int_equal(u.port, 7);
	}
}

/* --- batches --- */

static struct {
	struct state_memory *m;
	struct state_slot *slot[3];
	struct replica_books *b;
	struct replica_batch batch;
} my;

static int set_up(void **state)
{
	(void)state;
	my.m = state_memory_new(NULL);
	my.b = calloc(1, sizeof(*my.b));
	if (my.b)
		my.b->text_of = strdup;
	for (unsigned i = 0; i < 3; i++)
		my.slot[i] = state_slot_take(my.m);
	return !my.m || !my.b || !my.slot[2];
}

static int tear_down(void **state)
{
	(void)state;
	replica_batch_free(&my.batch);
	free(my.b);
	state_memory_free(my.m);
	return 0;
}

/* The next batch, which the store takes; all slots have been looked at. */
static unsigned next_batch(void)
{
	replica_batch_free(&my.batch);
	assert_true(replica_batch_next(my.b, my.m, 0, &my.batch));
	replica_batch_done(my.b, &my.batch);
	return my.batch.n;
}

static void only_changes_are_sent(void **state)
{
	const struct state_sent sent = { .ssrc = 7, .at = 1000 };

	(void)state;
	assert_int_equal(next_batch(), 0);
	(void)state_put_text(my.slot[0], "zero", 4);
	(void)state_put_text(my.slot[2], "two", 3);
	assert_int_equal(next_batch(), 2);
	assert_int_equal(my.batch.change[1].slot, 2);
	assert_string_equal(my.batch.change[1].text, "two");
	assert_int_equal(my.b->calls, 2);
	assert_int_equal(next_batch(), 0);
	state_put_sent(&my.slot[0]->stream[1], &sent);
	assert_int_equal(next_batch(), 1);
	assert_int_equal(my.batch.change[0].slot, 0);
	assert_null(my.batch.change[0].text);
	(void)state_put_text(my.slot[2], "TWO", 3);
	assert_int_equal(next_batch(), 1);
	assert_string_equal(my.batch.change[0].text, "TWO");
	assert_int_equal(my.b->calls, 2);
}

static void what_has_ended_is_deleted_once(void **state)
{
	(void)state;
	(void)state_put_text(my.slot[1], "one", 3);
	assert_int_equal(next_batch(), 1);
	state_slot_end(my.slot[1]);
	assert_int_equal(next_batch(), 1);
	assert_int_equal(my.batch.change[0].is.text, 0);
	assert_null(my.batch.change[0].text);
	assert_int_equal(my.b->calls, 0);
	assert_int_equal(next_batch(), 0);
}

/* Two calls one after the other, within one interval, in one slot. */
static void another_call_in_a_slot_is_a_change(void **state)
{
	(void)state;
	(void)state_put_text(my.slot[1], "one", 3);
	assert_int_equal(next_batch(), 1);
	state_slot_give(my.m, my.slot[1]);
	(void)state_put_text(my.slot[1], "two", 3);
	assert_int_equal(next_batch(), 1);
	assert_string_equal(my.batch.change[0].text, "two");
}

/* The store did not take it: the next batch has it again. */
static void what_was_not_taken_is_sent_again(void **state)
{
	(void)state;
	(void)state_put_text(my.slot[1], "one", 3);
	assert_true(replica_batch_next(my.b, my.m, 0, &my.batch));
	assert_int_equal(my.batch.n, 1);
	assert_int_equal(next_batch(), 1);
	assert_string_equal(my.batch.change[0].text, "one");
}

/* Of a process before this one. */
static void what_the_store_has_too_much_is_deleted(void **state)
{
	(void)state;
	(void)state_put_text(my.slot[0], "zero", 4);
	assert_true(replica_books_found(my.b, 0));
	assert_true(replica_books_found(my.b, 200));
	assert_false(replica_books_found(my.b, STATE_SLOTS));
	assert_int_equal(next_batch(), 2);
	assert_string_equal(my.batch.change[0].text, "zero");
	assert_int_equal(my.batch.change[1].slot, 200);
	assert_int_equal(my.batch.change[1].is.text, 0);
	assert_int_equal(my.b->calls, 1);
	assert_int_equal(next_batch(), 0);
}

/* Until they have ended: what comes after them is ours. */
static void nothing_is_sent_of_calls_that_were_taken_over(void **state)
{
	(void)state;
	(void)state_put_text(my.slot[0], "zero", 4);
	(void)state_put_text(my.slot[1], "one", 3);
	assert_int_equal(next_batch(), 2);
	state_memory_taken_over(my.m);
	replica_books_clear(my.b);
	(void)state_put_text(my.slot[0], "ZERO", 4);
	assert_int_equal(next_batch(), 0);
	assert_int_equal(my.b->ntaken_over, 2);
	(void)state_put_text(my.slot[2], "two", 3);
	assert_int_equal(next_batch(), 1);
	state_slot_end(my.slot[1]);
	assert_int_equal(next_batch(), 0);
	assert_int_equal(my.b->ntaken_over, 1);
	state_slot_give(my.m, my.slot[1]);
	for (unsigned i = 0; state_slot_take(my.m) != my.slot[1]; i++)
		assert_true(i < STATE_SLOTS);
	(void)state_put_text(my.slot[1], "ONE", 3);
	assert_int_equal(next_batch(), 1);
	assert_int_equal(my.b->calls, 2);
}

/* Which calls those are outlives the process. */
static void a_new_process_sends_nothing_of_them_either(void **state)
{
	struct state_memory *again;

	(void)state;
	(void)state_put_text(my.slot[0], "zero", 4);
	state_memory_taken_over(my.m);
	(void)state_put_text(state_slot_take(my.m), "three", 5);
	again = state_memory_adopt(dup(state_memory_fd(my.m)), NULL);
	assert_non_null(again);
	state_memory_free(my.m);
	my.m = again;
	assert_int_equal(next_batch(), 1);
	assert_string_equal(my.batch.change[0].text, "three");
	assert_int_equal(my.b->ntaken_over, 1);
}

/* The store gets what may be there. */
static char *without_secret(const char *kept)
{
	return strdup(strchr(kept, ' ') + 1);
}

static void a_secret_is_not_sent(void **state)
{
	(void)state;
	my.b->text_of = without_secret;
	(void)state_put_text(my.slot[0], "secret call", 11);
	assert_int_equal(next_batch(), 1);
	assert_string_equal(my.batch.change[0].text, "call");
	assert_int_equal(next_batch(), 0);
}

static void many_changes_take_several_batches(void **state)
{
	unsigned sent = 0, batches = 1;

	(void)state;
	for (unsigned i = 0; i < 2 * REPLICA_BATCH; i++)
		(void)state_put_text(i < 3 ? my.slot[i] : state_slot_take(my.m),
				     "call", 4);
	while (!replica_batch_next(my.b, my.m, 0, &my.batch)) {
		assert_int_equal(my.batch.n, REPLICA_BATCH);
		replica_batch_done(my.b, &my.batch);
		replica_batch_free(&my.batch);
		sent += REPLICA_BATCH;
		batches++;
	}
	assert_int_equal(sent + my.batch.n, 2 * REPLICA_BATCH);
	assert_int_equal(batches, 3);
}

#define WITH_MEMORY(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(urls_are_read),
		cmocka_unit_test(what_is_no_url_is_refused),
		WITH_MEMORY(only_changes_are_sent),
		WITH_MEMORY(what_has_ended_is_deleted_once),
		WITH_MEMORY(another_call_in_a_slot_is_a_change),
		WITH_MEMORY(what_was_not_taken_is_sent_again),
		WITH_MEMORY(what_the_store_has_too_much_is_deleted),
		WITH_MEMORY(nothing_is_sent_of_calls_that_were_taken_over),
		WITH_MEMORY(a_new_process_sends_nothing_of_them_either),
		WITH_MEMORY(a_secret_is_not_sent),
		WITH_MEMORY(many_changes_take_several_batches),
	};

	return cmocka_run_group_tests_name("replicate", tests, NULL, NULL);
}
