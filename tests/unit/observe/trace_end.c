/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace is ended while its disk takes its time: nobody waits but who asks
 * for that.
 */
#include <errno.h>
#include <semaphore.h>
#include <string.h>
#include <unistd.h>

#include "cmocka_cr.h"
#include "observe/trace_writer.h"
#include "scratch.h"

#define HEADER "{\"scheduler\":\"edf\"}"

/* --- a disk that waits for a word --- */

static sem_t asked, let;
static unsigned syncs;

int __real_fsync(int fd);
int __wrap_fsync(int fd);

int __wrap_fsync(int fd)
{
	syncs++;
	(void)sem_post(&asked);
	(void)sem_wait(&let);
	return __real_fsync(fd);
}

/* --- */

static struct {
	struct trace *t;
	char path[SCRATCH_MAX + 8];
	struct cr_err e;
	sem_t closed;
} fx;

static void on_closed(void *arg)
{
	(void)sem_post(arg);
}

static int set_up(void **state)
{
	char dir[SCRATCH_MAX];

	(void)sem_init(&asked, 0, 0);
	(void)sem_init(&let, 0, 0);
	(void)sem_init(&fx.closed, 0, 0);
	syncs = 0;
	(void)snprintf(fx.path, sizeof(fx.path), "%s/t.bin",
		       scratch_folder(dir));
	if (trace_open(&fx.t, 1, 16))
		return -1;
	trace_on_closed(fx.t, on_closed, &fx.closed);
	trace_set_over(fx.t, TRACE_OVER_FILE);
	return 0;
}

static int tear_down(void **state)
{
	trace_close(fx.t);
	return 0;
}

static void put_one(void)
{
	union cr_trace_record r;

	memset(&r, 0, sizeof(r));
	r.note = (struct cr_trace_note){ .kind = CR_TRACE_NOTE, .code = 1 };
	trace_put(trace_ring(fx.t, 0), &r);
}

static void who_ends_it_does_not_wait_for_the_disk(void **state)
{
	struct trace_totals totals;

	for (unsigned run = 0; run < 3; run++) {
		assert_int_equal(trace_start(fx.t, fx.path, HEADER, &fx.e), 0);
		put_one();
		assert_int_equal(trace_end(fx.t), 0);
		put_one(); /* behind the end */
		(void)sem_wait(&asked);
		assert_int_equal(trace_end(fx.t), -EALREADY);
		assert_int_equal(trace_start(fx.t, fx.path, HEADER, &fx.e),
				 -EBUSY);
		assert_int_equal(sem_trywait(&fx.closed), -1);
		(void)sem_post(&let);
		(void)sem_wait(&fx.closed);
		/* not before its totals have been taken */
		assert_int_equal(trace_start(fx.t, fx.path, HEADER, &fx.e),
				 -EBUSY);
		assert_int_equal(trace_stop(fx.t, &totals), 0);
		assert_int_equal(totals.written, 1);
		assert_int_equal(trace_stop(fx.t, &totals), -EALREADY);
		assert_int_equal(syncs, run + 1);
	}
}

static void to_close_is_to_stop(void **state)
{
	assert_int_equal(trace_start(fx.t, fx.path, HEADER, &fx.e), 0);
	assert_int_equal(trace_end(fx.t), 0);
	(void)sem_post(&let);
	trace_close(fx.t);
	fx.t = NULL;
	assert_int_equal(syncs, 1);
	assert_int_equal(sem_trywait(&fx.closed), 0);
}

/* Control would wait for the disk of a file that is removed anyway. */
static void a_trace_that_does_not_begin_is_not_synced(void **state)
{
	(void)sem_post(&let); /* for who asks nevertheless */
	assert_int_equal(trace_start(fx.t, fx.path, NULL, &fx.e), -ENOMEM);
	assert_int_equal(syncs, 0);
	assert_int_equal(trace_end(fx.t), -EALREADY);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(who_ends_it_does_not_wait_for_the_disk),
		TEST(to_close_is_to_stop),
		TEST(a_trace_that_does_not_begin_is_not_synced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
