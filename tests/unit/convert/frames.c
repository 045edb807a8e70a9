/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frames of a file, as schedulers see them.
 */
#include <stdlib.h>

#include "cmocka_cr.h"
#include "convert/conversion.h"

/* A chunk is read at once, but it is no backlog: by arrival all of its frames
 * would go before those of calls that came a little later. */
static void a_frame_arrives_when_the_one_before_it_is_done(void **state)
{
	struct conversion *cv = calloc(1, sizeof(*cv));
	struct core_task *t;
	struct cr_job seen;

	assert_non_null(cv);
	t = &cv->lt.core;
	cv->chunk = calloc(2, sizeof(*cv->chunk));
	assert_non_null(cv->chunk);
	assert_false(conversion_peek(t, &seen));
	cv->chunk[0].filled = 100;
	cv->chunk[0].frames = 2;
	atomic_store(&cv->chunk[0].full, true);
	assert_true(conversion_peek(t, &seen));
	assert_int_equal(seen.arrival, 100);
	assert_true(conversion_claim(t, seen.seq));
	cv->ready = 170;
	assert_true(conversion_peek(t, &seen));
	assert_int_equal(seen.arrival, 170);
	assert_int_equal(seen.eligible, 170);
	assert_true(conversion_claim(t, seen.seq));
	assert_false(conversion_peek(t, &seen));
	free(cv->chunk);
	free(cv);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_frame_arrives_when_the_one_before_it_is_done),
	};

	return cmocka_run_group_tests_name("conversion frames", tests, NULL,
					   NULL);
}
