/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts that wait for a thread: their order, turns, and what has no room.
 */
#include "cmocka_cr.h"

#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "observe/async_writer.h"
#include "patience.h"

enum { SIZE = 8, NO_TIME = 1 };

/* Its thread works when the test lets it. */
static struct {
	struct async_writer async_writer;
	char buffers[2][SIZE];
	sem_t begun, go;
	atomic_uint turns;
	unsigned in_vain;   /* turns that fail */
	int fd;		    /* a pipe that nobody reads */
	char reported[128]; /* the thread's */
} t;

static void note_text(const char *text, size_t n)
{
	size_t len = strlen(t.reported);

	(void)snprintf(t.reported + len, sizeof(t.reported) - len, "%.*s",
		       (int)n, text);
}

static void write_it(void *arg, const char *text, size_t n)
{
	(void)arg;
	(void)sem_post(&t.begun);
	(void)sem_wait(&t.go);
	note_text("[", 1);
	note_text(text, n);
	note_text("]", 1);
	async_writer_count(&t.async_writer, n, 0); /* a text is a letter */
}

static cr_ns turn(void *arg, bool asked)
{
	bool done = atomic_fetch_add(&t.turns, 1) >= t.in_vain;

	(void)arg;
	note_text(asked ? "turn" : "again", 5);
	return done ? CR_NEVER : clock_now();
}

static size_t gap(void *arg, uint64_t lost, char *to, size_t room)
{
	(void)arg;
	if (room < 2)
		return 0;
	to[0] = '-';
	to[1] = (char)('0' + lost);
	return 2;
}

static void write_to_pipe(void *arg, const char *text, size_t n)
{
	(void)arg;
	(void)sem_post(&t.begun);
	while (cancellable_write(t.fd, text, n) >= 0)
		;
}

static const struct async_writer_owner owner = {
	.thread = "async_writer", .write = write_it, .turn = turn, .gap = gap
};
static const struct async_writer_owner silent = { .thread = "async_writer",
						  .write = write_it,
						  .turn = turn };
static const struct async_writer_owner stuck = { .thread = "async_writer",
						 .write = write_to_pipe,
						 .turn = turn };

static void begin(const struct async_writer_owner *o)
{
	memset(&t, 0, sizeof(t));
	assert_int_equal(sem_init(&t.begun, 0, 0), 0);
	assert_int_equal(sem_init(&t.go, 0, 0), 0);
	async_writer_init(&t.async_writer, o, NULL, t.buffers[0], t.buffers[1],
			  SIZE);
	assert_int_equal(async_writer_start(&t.async_writer), 0);
}

static bool put(const char *text)
{
	return async_writer_put(&t.async_writer, text, strlen(text), "");
}

/* The thread has it, and waits to be let go on. */
static void put_and_hold(const char *text)
{
	assert_true(put(text));
	assert_int_equal(sem_wait(&t.begun), 0);
}

static void let_go(unsigned writes)
{
	for (unsigned i = 0; i < writes; i++)
		assert_int_equal(sem_post(&t.go), 0);
}

static void end(const char *reported)
{
	assert_int_equal(async_writer_stop(&t.async_writer, PATIENCE),
			 ASYNC_WRITER_WRITTEN);
	async_writer_fini(&t.async_writer);
	assert_string_equal(t.reported, reported);
}

static void texts_come_in_their_order(void **state)
{
	begin(&owner);
	put_and_hold("a");
	assert_true(put("b"));
	assert_true(async_writer_put(&t.async_writer, "c", 1, "."));
	let_go(2);
	assert_true(async_writer_flush(&t.async_writer, PATIENCE));
	let_go(1);
	assert_true(put("d"));
	end("[a][bc.][d]");
}

static void a_turn_stands_between_texts(void **state)
{
	begin(&owner);
	put_and_hold("a");
	assert_true(put("b"));
	async_writer_reopen(&t.async_writer);
	assert_true(put("c"));
	let_go(3);
	end("[a][b]turn[c]");
}

/* Texts behind the first are not for the old place. */
static void a_turn_that_is_due_stays_where_it_is(void **state)
{
	begin(&owner);
	put_and_hold("a");
	async_writer_reopen(&t.async_writer);
	assert_true(put("b"));
	async_writer_reopen(&t.async_writer);
	assert_true(put("c"));
	assert_false(async_writer_flush(&t.async_writer, NO_TIME));
	let_go(2);
	end("[a]turn[bc]");
}

static void a_turn_in_vain_comes_again(void **state)
{
	begin(&owner);
	t.in_vain = 2;
	async_writer_reopen(&t.async_writer);
	while (atomic_load(&t.turns) < 3)
		(void)sched_yield();
	end("turnagainagain");
}

static void what_has_no_room_is_counted_and_told(void **state)
{
	struct async_writer_counts c;

	begin(&owner);
	put_and_hold("a");
	assert_true(put("12345678"));
	assert_false(put("b"));
	assert_false(async_writer_put(&t.async_writer, "", 0, "c"));
	let_go(3); /* the third: what is said when nothing else comes */
	assert_true(async_writer_flush(&t.async_writer, PATIENCE));
	async_writer_counts(&t.async_writer, &c);
	assert_int_equal(c.written, 1 + 8 + 2);
	assert_int_equal(c.dropped, 2);
	let_go(1);
	assert_true(put("d"));
	end("[a][12345678][-2][d]");
}

static void a_text_larger_than_all_has_no_room(void **state)
{
	struct async_writer_counts c;

	begin(&silent);
	assert_false(put("123456789"));
	assert_false(async_writer_put(&t.async_writer, "12345678", 8, "9"));
	async_writer_counts(&t.async_writer, &c);
	assert_int_equal(c.dropped, 2);
	let_go(1);
	assert_true(put("12345678"));
	end("[12345678]");
}

/* And what it had is known to who ends the process. */
static void a_thread_that_is_stuck_is_cut(void **state)
{
	int ends[2];
	size_t n;

	assert_int_equal(pipe(ends), 0);
	begin(&stuck);
	t.fd = ends[1];
	put_and_hold("a");
	assert_true(put("b"));
	assert_int_equal(async_writer_stop(&t.async_writer, NO_TIME),
			 ASYNC_WRITER_CUT);
	assert_memory_equal(async_writer_rest(&t.async_writer, 0, &n), "a", 1);
	assert_int_equal(n, 1);
	assert_memory_equal(async_writer_rest(&t.async_writer, 1, &n), "b", 1);
	assert_int_equal(n, 1);
	async_writer_fini(&t.async_writer);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_come_in_their_order),
		cmocka_unit_test(a_turn_stands_between_texts),
		cmocka_unit_test(a_turn_that_is_due_stays_where_it_is),
		cmocka_unit_test(a_turn_in_vain_comes_again),
		cmocka_unit_test(what_has_no_room_is_counted_and_told),
		cmocka_unit_test(a_text_larger_than_all_has_no_room),
		cmocka_unit_test(a_thread_that_is_stuck_is_cut),
	};

	return cmocka_run_group_tests_name("async_writer", tests, NULL, NULL);
}
