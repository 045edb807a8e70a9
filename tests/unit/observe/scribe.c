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
#include "observe/scribe.h"
#include "observe/stall.h"
#include "patience.h"

enum { SIZE = 8, NO_TIME = 1 };

/* What its thread does, it does when the test lets it. */
static struct {
	struct scribe scribe;
	char buffers[2][SIZE];
	sem_t begun, go;
	atomic_uint turns;
	unsigned in_vain; /* turns that fail */
	int fd;		  /* a pipe that nobody reads */
	char told[128];	  /* the thread's */
} t;

static void tell(const char *text, size_t n)
{
	size_t len = strlen(t.told);

	(void)snprintf(t.told + len, sizeof(t.told) - len, "%.*s", (int)n,
		       text);
}

static void write_it(void *arg, const char *text, size_t n)
{
	(void)arg;
	(void)sem_post(&t.begun);
	(void)sem_wait(&t.go);
	tell("[", 1);
	tell(text, n);
	tell("]", 1);
	scribe_count(&t.scribe, n, 0); /* a text is a letter */
}

static cr_ns turn(void *arg, bool asked)
{
	bool done = atomic_fetch_add(&t.turns, 1) >= t.in_vain;

	(void)arg;
	tell(asked ? "turn" : "again", 5);
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
	while (stall_write(t.fd, text, n) >= 0)
		;
}

static const struct scribe_owner owner = {
	.thread = "scribe", .write = write_it, .turn = turn, .gap = gap
};
static const struct scribe_owner silent = { .thread = "scribe",
					    .write = write_it,
					    .turn = turn };
static const struct scribe_owner stuck = { .thread = "scribe",
					   .write = write_to_pipe,
					   .turn = turn };

static void begin(const struct scribe_owner *o)
{
	memset(&t, 0, sizeof(t));
	assert_int_equal(sem_init(&t.begun, 0, 0), 0);
	assert_int_equal(sem_init(&t.go, 0, 0), 0);
	scribe_init(&t.scribe, o, NULL, t.buffers[0], t.buffers[1], SIZE);
	assert_int_equal(scribe_start(&t.scribe), 0);
}

static bool put(const char *text)
{
	return scribe_put(&t.scribe, text, strlen(text), "");
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

static void end(const char *told)
{
	assert_int_equal(scribe_stop(&t.scribe, PATIENCE), SCRIBE_WRITTEN);
	scribe_fini(&t.scribe);
	assert_string_equal(t.told, told);
}

static void texts_come_in_their_order(void **state)
{
	(void)state;
	begin(&owner);
	put_and_hold("a");
	assert_true(put("b"));
	assert_true(scribe_put(&t.scribe, "c", 1, "."));
	let_go(2);
	assert_true(scribe_flush(&t.scribe, PATIENCE));
	let_go(1);
	assert_true(put("d"));
	end("[a][bc.][d]");
}

static void a_turn_stands_between_texts(void **state)
{
	(void)state;
	begin(&owner);
	put_and_hold("a");
	assert_true(put("b"));
	scribe_turn(&t.scribe);
	assert_true(put("c"));
	let_go(3);
	end("[a][b]turn[c]");
}

/* What was put behind the first is not for the old place. */
static void a_turn_that_is_due_stays_where_it_is(void **state)
{
	(void)state;
	begin(&owner);
	put_and_hold("a");
	scribe_turn(&t.scribe);
	assert_true(put("b"));
	scribe_turn(&t.scribe);
	assert_true(put("c"));
	assert_false(scribe_flush(&t.scribe, NO_TIME));
	let_go(2);
	end("[a]turn[bc]");
}

static void a_turn_in_vain_comes_again(void **state)
{
	(void)state;
	begin(&owner);
	t.in_vain = 2;
	scribe_turn(&t.scribe);
	while (atomic_load(&t.turns) < 3)
		(void)sched_yield();
	end("turnagainagain");
}

static void what_has_no_room_is_counted_and_told(void **state)
{
	struct scribe_counts c;

	(void)state;
	begin(&owner);
	put_and_hold("a");
	assert_true(put("12345678"));
	assert_false(put("b"));
	assert_false(scribe_put(&t.scribe, "", 0, "c"));
	let_go(3); /* the third: what is said when nothing else comes */
	assert_true(scribe_flush(&t.scribe, PATIENCE));
	scribe_counts(&t.scribe, &c);
	assert_int_equal(c.written, 1 + 8 + 2);
	assert_int_equal(c.dropped, 2);
	let_go(1);
	assert_true(put("d"));
	end("[a][12345678][-2][d]");
}

static void a_text_larger_than_all_has_no_room(void **state)
{
	struct scribe_counts c;

	(void)state;
	begin(&silent);
	assert_false(put("123456789"));
	assert_false(scribe_put(&t.scribe, "12345678", 8, "9"));
	scribe_counts(&t.scribe, &c);
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

	(void)state;
	assert_int_equal(pipe(ends), 0);
	begin(&stuck);
	t.fd = ends[1];
	put_and_hold("a");
	assert_true(put("b"));
	assert_int_equal(scribe_stop(&t.scribe, NO_TIME), SCRIBE_CUT);
	assert_memory_equal(scribe_rest(&t.scribe, 0, &n), "a", 1);
	assert_int_equal(n, 1);
	assert_memory_equal(scribe_rest(&t.scribe, 1, &n), "b", 1);
	assert_int_equal(n, 1);
	scribe_fini(&t.scribe);
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

	return cmocka_run_group_tests_name("scribe", tests, NULL, NULL);
}
