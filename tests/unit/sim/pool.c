/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool: every piece of work is done once, by round, and seen by the caller.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "cmocka_cr.h"
#include "sim/pool.h"

enum { PIECES = 100, ROUNDS = 2000 };

struct sums {
	unsigned done[PIECES];	  /* plain: each written by one at a time */
	atomic_uint signals_open; /* relaxed: read when all is over */
	pthread_t caller;
};

static void add(void *arg, unsigned i)
{
	struct sums *s = arg;
	sigset_t mask;

	s->done[i]++;
	(void)pthread_sigmask(SIG_BLOCK, NULL, &mask);
	if (!pthread_equal(pthread_self(), s->caller) &&
	    !sigismember(&mask, SIGINT))
		atomic_fetch_add_explicit(&s->signals_open, 1,
					  memory_order_relaxed);
}

static void every_piece_is_done_once_a_round(void **state)
{
	static const unsigned threads[] = { 1, 2, 7 };

	for (unsigned t = 0; t < 3; t++) {
		struct sums s = { .caller = pthread_self() };
		struct pool *c;

		assert_int_equal(pool_open(&c, threads[t]), 0);
		for (unsigned round = 1; round <= ROUNDS; round++) {
			pool_run(c, PIECES, add, &s);
			for (unsigned i = 0; i < PIECES; i++)
				assert_int_equal(s.done[i], round);
		}
		pool_close(c);
		assert_int_equal(s.signals_open, 0);
	}
}

static void a_pool_may_never_work(void **state)
{
	struct pool *c;

	assert_int_equal(pool_open(&c, 4), 0);
	pool_run(c, 0, add, NULL);
	pool_close(c);
	pool_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_piece_is_done_once_a_round),
		cmocka_unit_test(a_pool_may_never_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
