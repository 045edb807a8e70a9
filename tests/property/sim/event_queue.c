/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue of events against the plainest one there is, a table of times that
 * is searched: random owners, periods with and without a run, events moved and
 * taken back, owners that join.
 */
#include <stdbool.h>

#include "cmocka_cr.h"
#include "sim/event_queue.h"
#include "seed.h"

enum { OWNERS = 400, STEPS = 200000 };

struct model {
	cr_ns at[OWNERS]; /* CR_NEVER: none */
	uint32_t count;
};

static uint32_t model_first(const struct model *m)
{
	uint32_t first = 0;

	for (uint32_t i = 1; i < m->count; i++)
		if (m->at[i] < m->at[first])
			first = i;
	return first;
}

static void set(struct event_queue *q, struct model *m, uint32_t owner,
		cr_ns at, cr_ns now)
{
	event_queue_set(q, owner, at, now);
	m->at[owner] = at;
}

/* Five periods, one more than there are runs; now and then another time. */
static cr_ns next_time(uint64_t *seed, uint32_t owner, cr_ns now)
{
	static const cr_ns period[] = { 20, 30, 10, 60, 7 };

	if (test_below(seed, 10) == 0)
		return now + 1 + (cr_ns)test_below(seed, 50);
	return now + period[owner % 5];
}

static void join(struct event_queue *q, struct model *m, uint64_t *seed,
		 cr_ns now)
{
	uint32_t owner = m->count;

	assert_int_equal(event_queue_grow(q, owner + 1), 0);
	m->count++;
	set(q, m, owner, now + (cr_ns)test_below(seed, 100), now);
}

static void it_gives_what_a_search_gives(void **state)
{
	static const cr_ns expected[] = { 20, 30, 20, 10, 60, 7 };
	uint64_t seed = test_seed();
	struct model m = { 0 };
	struct event_queue q;
	cr_ns now = 0;

	event_queue_init(&q);
	for (unsigned i = 0; i < 6; i++)
		event_queue_expect(&q, expected[i]);
	join(&q, &m, &seed, now);
	for (unsigned i = 0; i < STEPS; i++) {
		uint32_t first = model_first(&m), any;

		assert_int_equal(event_queue_next(&q), m.at[first]);
		if (m.at[first] != CR_NEVER) {
			assert_int_equal(q.first.owner, first);
			now = m.at[first];
			set(&q, &m, first, next_time(&seed, first, now), now);
		}
		any = test_below(&seed, m.count);
		switch (test_below(&seed, 40)) {
		case 0:
			set(&q, &m, any, CR_NEVER, now);
			break;
		case 1:
			set(&q, &m, any, next_time(&seed, any, now), now);
			break;
		case 2:
			if (m.count < OWNERS)
				join(&q, &m, &seed, now);
			break;
		default:
			break;
		}
	}
	event_queue_fini(&q);
}

/* Nothing of a period goes to the heap once all have come: that is the point.
 */
static void periodic_events_run(void **state)
{
	struct event_queue q;
	cr_ns now = 0;

	event_queue_init(&q);
	assert_int_equal(event_queue_grow(&q, 3), 0);
	event_queue_expect(&q, 20);
	event_queue_expect(&q, 30);
	for (uint32_t i = 0; i < 3; i++)
		event_queue_set(&q, i, i, 0);
	assert_int_equal(q.heaped, 3);
	for (unsigned i = 0; i < 1000; i++) {
		uint32_t owner = q.first.owner;

		now = event_queue_next(&q);
		event_queue_set(&q, owner, now + (owner ? 20 : 30), now);
		if (i >= 3)
			assert_int_equal(q.heaped, 0);
	}
	event_queue_fini(&q);
}

/* Times so few that many are equal: then the lower number is first. Without a
 * period, all are in the heap. */
static void few_owners_get_what_a_search_gives(void **state)
{
	static const uint32_t sizes[] = { 1, 2, 3, 5, 64, 200, 256 };
	uint64_t seed = test_seed();

	for (unsigned n = 0; n < sizeof(sizes) / sizeof(sizes[0]); n++) {
		struct model m = { .count = sizes[n] };
		struct event_queue q;

		event_queue_init(&q);
		assert_int_equal(event_queue_grow(&q, m.count), 0);
		for (uint32_t i = 0; i < m.count; i++)
			m.at[i] = CR_NEVER;
		for (unsigned i = 0; i < STEPS / 10; i++) {
			uint32_t any = test_below(&seed, m.count);
			bool none = test_below(&seed, 3) == 0;

			set(&q, &m, any,
			    none ? CR_NEVER : (cr_ns)test_below(&seed, 300), 0);
			assert_int_equal(event_queue_at(&q, any), m.at[any]);
			any = model_first(&m);
			assert_int_equal(event_queue_next(&q), m.at[any]);
			if (m.at[any] != CR_NEVER)
				assert_int_equal(q.first.owner, any);
		}
		event_queue_fini(&q);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_owners_get_what_a_search_gives),
		cmocka_unit_test(it_gives_what_a_search_gives),
		cmocka_unit_test(periodic_events_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
