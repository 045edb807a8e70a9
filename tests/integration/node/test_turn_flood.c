/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns as fast as control can make them, under a flood of packets, and
 * calls that end in the middle of one.
 */
#include "cmocka_cr.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "turning.h"

/* So many packets at least, and turns meanwhile. */
enum { FLOOD = 8000, TURNS = 40 };

struct flood {
	struct turning *t;
	unsigned sent;
	atomic_bool go, enough;
};

/* Both speak, of three types by turns, as fast as packets are taken. */
static void *flood(void *arg)
{
	static const uint8_t types[] = { 0, 8, 0, 9 };
	struct flood *f = arg;

	for (unsigned n = 0; n < FLOOD || !atomic_load(&f->enough); n++) {
		struct timespec pause = { 0, 20000 };
		struct talker *p = &f->t->p[n % 2];

		p->next.pt = types[n / 10 % 4];
		talker_speak(p, 0xd5);
		f->sent++;
		(void)nanosleep(&pause, NULL);
	}
	atomic_store(&f->go, false);
	return NULL;
}

/* Of one line, from its first to its last: every number once, time forward. */
static unsigned heard_in_order(const struct talker *t)
{
	struct line l = { 0 };
	unsigned n = 0;

	for (; !talker_hears_nothing(t); n++) {
		struct rtp_packet p;
		uint8_t buf[2048];

		assert_int_equal(rtp_parse(buf, talker_hear(t, buf), &p), 0);
		if (l.any) {
			assert_int_equal(p.ssrc, l.ssrc);
			assert_true((int16_t)(p.seq - l.seq) > 0);
			assert_true((int32_t)(p.ts - l.ts) > 0);
		}
		l = (struct line){ true, p.seq, p.ts, p.ssrc };
	}
	return n;
}

/* Changes as fast as control can, while packets of all types come. */
static void a_flood_of_turns(void **state)
{
	static const char *const codecs[] = { "pcmu", "pcma", "pcmu", "g722" };
	const struct fixture_options o = { .workers = 2, .ring_frames = 64 };
	struct flood f = { .go = true };
	unsigned turns = 0, heard = 0;
	struct node_stats stats;
	struct turning t;
	pthread_t thread;

	turning_open(&t, &o, BOTH_PCMU, 0, 0);
	f.t = &t;
	assert_int_equal(pthread_create(&thread, NULL, flood, &f), 0);
	for (; atomic_load(&f.go); turns++) {
		char json[64];

		(void)snprintf(json, sizeof(json), "{'b': {'codec': '%s'}}",
			       codecs[turns % 4]);
		talk_change(&t.rig, t.c, json);
		for (unsigned i = 0; i < 2; i++)
			heard += heard_in_order(&t.p[i]);
		if (turns == TURNS)
			atomic_store(&f.enough, true);
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	t.sent += f.sent;
	talk_stop(&t.rig, t.c);
	for (unsigned i = 0; i < 2; i++)
		heard += heard_in_order(&t.p[i]);
	turning_sums(&t);
	node_stats(t.rig.node, &stats);
	assert_true(stats.totals.relayed && stats.totals.done && heard);
	talkers_leave(t.p);
	fixture_close(&t.rig);
}

/* Calls of two streams that end in the middle of it. */
static void it_ends_in_mid_turn(void **state)
{
	const struct fixture_options o = { .workers = 1 };
	struct node_fixture r;

	fixture_open(&r, &o);
	for (unsigned i = 0; i < 40; i++) {
		struct node_call *c = talk_start(&r, BOTH_PCMU);
		struct talker p[2] = { talker(c, 0, 0), talker(c, 1, 0) };

		for (unsigned n = 0; n < 40; n++) {
			talker_speak(&p[n % 2], 1);
			if (n % 10 == i % 10)
				talk_change(&r, c,
					    n / 10 % 2
						    ? "{'b': {'codec': 'pcmu'}}"
						    : "{'b': {'codec': "
						      "'pcma'}}");
		}
		talk_stop(&r, c);
		talkers_leave(p);
	}
	assert_int_equal(r.ended, 80);
	fixture_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_flood_of_turns),
		cmocka_unit_test(it_ends_in_mid_turn),
	};

	return cmocka_run_group_tests_name("turn_flood", tests, NULL, NULL);
}
