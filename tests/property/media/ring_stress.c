/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame ring with a producer and a consumer at once: order kept, nothing
 * torn or seen twice, and at the end pushed == claimed + dropped + waiting,
 * whoever is the faster one.
 */
#define _GNU_SOURCE /* CPU affinity */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "media/frame_ring.h"
#include "cmocka_cr.h"
#include "seed.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define FRAMES UINT64_C(200000)
#else
#define FRAMES UINT64_C(2000000)
#endif

#define FRAME 96u

/* One frame in so many is followed by giving the CPU away: both threads get on
 * with it on one CPU, too. */
#define YIELD_EACH 512u

static uint64_t seed;

struct stress {
	struct frame_ring *ring;
	unsigned produce_spin, consume_spin; /* most idle turns per frame */
	pthread_barrier_t start;
	_Atomic bool done;

	/* the producer's, read after it was joined */
	uint64_t dropped;
	uint64_t last_dropped;
	bool producer_ok;

	/* the consumer's */
	uint64_t claimed, lapped, last_claimed;
	const char *wrong; /* first thing seen that must not be */
};

/* Work that no compiler leaves out and no scheduler notices. */
static void idle(uint64_t *s, unsigned most)
{
	_Atomic unsigned turns = 0;
	unsigned n = most ? test_below(s, most) : 0;

	if (!test_below(s, YIELD_EACH))
		(void)sched_yield();
	while (atomic_fetch_add_explicit(&turns, 1, memory_order_relaxed) < n)
		;
}

static void fill(uint8_t *p, uint64_t seq)
{
	for (size_t i = 0; i < FRAME / sizeof(seq); i++) {
		uint64_t v = seq * (2 * i + 1);

		memcpy(p + i * sizeof(v), &v, sizeof(v));
	}
}

static bool filled(const uint8_t *p, uint64_t seq)
{
	for (size_t i = 0; i < FRAME / sizeof(seq); i++) {
		uint64_t v;

		memcpy(&v, p + i * sizeof(v), sizeof(v));
		if (v != seq * (2 * i + 1))
			return false;
	}
	return true;
}

static struct cr_frame_meta meta_for(uint64_t seq)
{
	return (struct cr_frame_meta){
		.seq = seq,
		.arrival = (cr_ns)(seq * 3),
		.rtp_ts = (uint32_t)(seq * 160),
		.rtp_seq = (uint16_t)seq,
		.bytes = FRAME,
		.marker = seq & 1,
	};
}

static bool meta_is(const struct cr_frame_meta *m, uint64_t seq)
{
	struct cr_frame_meta want = meta_for(seq);

	return m->seq == seq && m->arrival == want.arrival &&
	       m->rtp_ts == want.rtp_ts && m->rtp_seq == want.rtp_seq &&
	       m->bytes == want.bytes && m->marker == want.marker;
}

/* Two threads, two CPUs, if we have them: otherwise the kernel may run one
 * after the other for a whole test. */
static void pin(unsigned nth)
{
	cpu_set_t all, one;

	CPU_ZERO(&one);
	if (sched_getaffinity(0, sizeof(all), &all))
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all) && nth-- == 0)
			CPU_SET(cpu, &one);
	if (CPU_COUNT(&one))
		(void)pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
}

static void *produce(void *arg)
{
	struct stress *t = arg;
	uint64_t s = seed * 2 + 1;

	t->producer_ok = true;
	pin(0);
	(void)pthread_barrier_wait(&t->start);
	for (uint64_t seq = 0; seq < FRAMES; seq++) {
		struct cr_frame_meta m = meta_for(seq), lost;

		fill(frame_ring_reserve(t->ring), seq);
		if (frame_ring_push(t->ring, &m, &lost)) {
			if (!meta_is(&lost, lost.seq) ||
			    (t->dropped && lost.seq <= t->last_dropped))
				t->producer_ok = false;
			t->last_dropped = lost.seq;
			t->dropped++;
		}
		idle(&s, t->produce_spin);
	}
	atomic_store_explicit(&t->done, true, memory_order_release);
	return NULL;
}

static void take(struct stress *t, uint64_t seq, uint64_t *s)
{
	struct cr_frame_meta m;
	const uint8_t *p = frame_ring_claim(t->ring, seq, &m);

	if (!p) {
		t->lapped++;
		return;
	}
	if (!meta_is(&m, seq))
		t->wrong = "claimed metadata torn";
	if (t->claimed && seq <= t->last_claimed)
		t->wrong = "order";
	t->claimed++;
	t->last_claimed = seq;
	if (!filled(p, seq))
		t->wrong = "bytes torn at claim";
	idle(s, t->consume_spin);
	if (!filled(p, seq))
		t->wrong = "bytes torn while held";
}

static void *consume(void *arg)
{
	struct stress *t = arg;
	uint64_t s = seed * 2 + 3;
	bool done = false;
	struct cr_frame_meta m;

	pin(1);
	(void)pthread_barrier_wait(&t->start);
	while (!t->wrong) {
		if (frame_ring_waiting(t->ring) > 7)
			t->wrong = "more waiting than slots";
		if (!frame_ring_peek(t->ring, &m)) {
			if (done)
				break;
			/* Once more after the producer's last frame. */
			done = atomic_load_explicit(&t->done,
						    memory_order_acquire);
			idle(&s, 0);
			continue;
		}
		if (!meta_is(&m, m.seq))
			t->wrong = "peeked metadata torn";
		take(t, m.seq, &s);
	}
	return NULL;
}

static void run(const char *name, unsigned produce_spin, unsigned consume_spin)
{
	struct stress t = { .produce_spin = produce_spin,
			    .consume_spin = consume_spin };
	pthread_t producer, consumer;

	t.ring = frame_ring_new(7, FRAME);
	assert_non_null(t.ring);
	assert_int_equal(pthread_barrier_init(&t.start, NULL, 2), 0);
	assert_int_equal(pthread_create(&consumer, NULL, consume, &t), 0);
	assert_int_equal(pthread_create(&producer, NULL, produce, &t), 0);
	assert_int_equal(pthread_join(producer, NULL), 0);
	assert_int_equal(pthread_join(consumer, NULL), 0);
	(void)pthread_barrier_destroy(&t.start);
	printf("%s: pushed %llu claimed %llu dropped %llu lapped %llu\n", name,
	       (unsigned long long)FRAMES, (unsigned long long)t.claimed,
	       (unsigned long long)t.dropped, (unsigned long long)t.lapped);
	if (t.wrong)
		fail_msg("%s", t.wrong);
	assert_true(t.producer_ok);
	assert_int_equal(frame_ring_waiting(t.ring), 0);
	assert_int_equal(frame_ring_dropped(t.ring), t.dropped);
	assert_int_equal(t.claimed + t.dropped, FRAMES);
	assert_int_equal(t.last_claimed, FRAMES - 1);
	frame_ring_free(t.ring);
}

static void both_at_full_speed(void **state)
{
	run("full speed", 0, 0);
}

static void a_slow_consumer_loses_the_oldest_only(void **state)
{
	run("slow consumer", 0, 2000);
}

static void a_slow_producer_loses_little(void **state)
{
	run("slow producer", 100, 0);
}

static void speeds_that_change_lose_nothing_twice(void **state)
{
	run("changing", 60, 120);
}

/* The consumer stops for good: what waits is counted, not forgotten. */
static void what_waits_at_the_end_is_counted(void **state)
{
	struct stress t = { 0 };
	uint64_t left = 0;
	struct cr_frame_meta m;

	t.ring = frame_ring_new(7, FRAME);
	assert_non_null(t.ring);
	assert_int_equal(pthread_barrier_init(&t.start, NULL, 1), 0);
	(void)produce(&t);
	(void)pthread_barrier_destroy(&t.start);
	left = frame_ring_waiting(t.ring);
	assert_int_equal(left, 7);
	assert_int_equal(t.dropped + left, FRAMES);
	while (frame_ring_peek(t.ring, &m)) {
		assert_true(meta_is(&m, FRAMES - left));
		assert_non_null(frame_ring_claim(t.ring, m.seq, &m));
		left--;
	}
	assert_int_equal(left, 0);
	frame_ring_free(t.ring);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_at_full_speed),
		cmocka_unit_test(a_slow_consumer_loses_the_oldest_only),
		cmocka_unit_test(a_slow_producer_loses_little),
		cmocka_unit_test(speeds_that_change_lose_nothing_twice),
		cmocka_unit_test(what_waits_at_the_end_is_counted),
	};

	seed = test_seed();
	return cmocka_run_group_tests_name("ring stress", tests, NULL, NULL);
}
