/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Costs learned from the frames of a real node: every frame done counts once,
 * those of calls that have gone, too, and new calls are admitted with what was
 * learned.
 */
#include "cmocka_cr.h"

#include <string.h>

#include "media/transcode.h"
#include "node_fixture.h"

enum { NB = 160 };

static const uint8_t silence[NB] = { 0xff };

#define CALL "{'in': {'codec': 'pcmu'}, 'out': {'codec': 'amr'}}"

static void look(struct node_fixture *r)
{
	struct node_stats stats;

	node_stats(r->node, &stats);
}

/* With a look often enough to miss none. */
static void echo(struct fixture_sender *s, unsigned n)
{
	struct rtp_packet p;
	uint8_t buf[2048];

	while (n--) {
		fixture_send(s, silence, NB);
		assert_true(fixture_receive(s->rig, buf, &p));
		if (n % 16 == 0)
			look(s->rig);
	}
}

struct book {
	struct node_fixture *rig;
	unsigned want;
	struct node_cost_info row;
};

/* The only row of the cost table, and whether all frames are in it: a packet
 * leaves before its frame is counted. */
static bool has_learned(void *arg)
{
	struct book *b = arg;

	look(b->rig);
	assert_true(node_cost(b->rig->node, 0, &b->row));
	return b->row.learned_frames >= b->want;
}

static void learned(struct node_fixture *r, unsigned want,
		    const struct cr_cost *cost)
{
	struct book b = { .rig = r, .want = want };

	assert_true(fixture_wait(r, has_learned, &b));
	assert_string_equal(b.row.transcoding, "pcmu>amr/12.2@20ms");
	assert_int_equal(b.row.learned_frames, want);
	assert_int_equal(b.row.mean, cost->mean);
	assert_int_equal(b.row.p99, cost->p99);
	assert_true(b.row.stddev > 0);
}

static void new_calls_are_admitted_with_what_was_learned(void **state)
{
	const struct fixture_options o = { .workers = 1 };
	struct cr_cost first, now;
	struct node_stream *st;
	struct fixture_sender s;
	struct node_fixture r;

	fixture_open(&r, &o);
	st = fixture_call(&r, CALL);
	first = st->cost->cost;
	s = fixture_sender(&r, st, NB);
	echo(&s, LEARNER_ENOUGH - 1);
	learned(&r, LEARNER_ENOUGH - 1, &first); /* the start measurement */
	echo(&s, 1);
	while (!memcmp(&first, &st->cost->cost, sizeof(first)))
		look(&r);
	now = st->cost->cost;
	learned(&r, LEARNER_ENOUGH, &now);
	assert_memory_equal(&node_stream_transcoder(st)->lt.core.task.cost,
			    &first, sizeof(first));
	fixture_end(&r, st);

	st = fixture_call(&r, CALL);
	assert_memory_equal(&node_stream_transcoder(st)->lt.core.task.cost,
			    &now, sizeof(now));
	fixture_end(&r, st);
	fixture_close(&r);
}

/* Nobody looks while they run: what a call has left is learned at its end. */
static void short_calls_count(void **state)
{
	const struct fixture_options o = { .workers = 2 };
	struct node_fixture r;

	fixture_open(&r, &o);
	for (unsigned i = 1; i <= 5; i++) {
		struct node_stream *st = fixture_call(&r, CALL);
		struct fixture_sender s = fixture_sender(&r, st, NB);
		const struct cost_entry *cost = st->cost;

		echo(&s, 7);
		fixture_end(&r, st);
		assert_int_equal(cost->learner.frames, 7 * i);
	}
	fixture_close(&r);
}

/* Once much is known, one frame in 16 is enough. */
static void calls_of_a_known_kind_are_metered_now_and_then(void **state)
{
	const struct fixture_options o = { .workers = 1 };
	struct node_stream *st;
	struct cost_entry *cost;
	struct fixture_sender s;
	struct node_fixture r;

	fixture_open(&r, &o);
	st = fixture_call(&r, CALL);
	cost = st->cost;
	fixture_end(&r, st);
	cost->learner.frames = LEARNER_MEMORY;
	st = fixture_call(&r, CALL);
	s = fixture_sender(&r, st, NB);
	echo(&s, 4 * TRANSCODE_COST_EVERY);
	fixture_end(&r, st);
	assert_int_equal(cost->learner.frames, LEARNER_MEMORY + 4);
	fixture_close(&r);
}

/* Those that began when little was known need no longer teach either. */
static void calls_are_metered_less_once_their_kind_is_known(void **state)
{
	const struct fixture_options o = { .workers = 1 };
	struct node_stream *st;
	struct cost_entry *cost;
	struct fixture_sender s;
	struct node_fixture r;
	struct book b = { .rig = &r, .want = 10 };

	fixture_open(&r, &o);
	st = fixture_call(&r, CALL);
	cost = st->cost;
	s = fixture_sender(&r, st, NB);
	echo(&s, 10);
	assert_true(fixture_wait(&r, has_learned, &b));
	assert_int_equal(cost->learner.frames, 10);
	cost->learner.frames = LEARNER_MEMORY;
	look(&r);
	echo(&s, 4 * TRANSCODE_COST_EVERY);
	fixture_end(&r, st);
	assert_int_equal(cost->learner.frames, LEARNER_MEMORY + 4);
	fixture_close(&r);
}

/* The book says so, as it does beside a busy neighbour or before it has learned
 * better. */
static void pretend(struct cost_entry *entry, cr_ns mean)
{
	entry->cost = (struct cr_cost){ .mean = mean, .p99 = mean };
}

static bool takes_one_more(struct node_fixture *r, struct node_stream **st)
{
	struct cr_err e = { "" };

	return !fixture_try(r, CALL, st, &e);
}

static cr_ns booked(const struct node_stream *st)
{
	return node_stream_transcoder(st)->lt.core.task.cost.mean;
}

static void what_calls_turn_out_not_to_need_is_for_others(void **state)
{
	const struct fixture_options o = { .workers = 1, .admission = true };
	struct node_stream *dear[2], *st[4], *none;
	struct cost_entry *entry;
	struct node_fixture r;

	fixture_open(&r, &o);
	st[0] = fixture_call(&r, CALL);
	entry = st[0]->cost;
	pretend(entry, 6 * CR_MS); /* of 20 */
	for (unsigned i = 0; i < 2; i++)
		assert_true(takes_one_more(&r, &dear[i]));
	assert_false(takes_one_more(&r, &none));
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(booked(dear[i]), 6 * CR_MS);

	/* two fit beside what is booked; for the third one somebody makes room,
	 * and more do not fit */
	pretend(entry, 3 * CR_MS);
	for (unsigned i = 1; i < 4; i++) {
		assert_int_equal(booked(dear[0]), 6 * CR_MS);
		assert_true(takes_one_more(&r, &st[i]));
	}
	assert_int_equal(booked(dear[0]), 3 * CR_MS);
	assert_int_equal(booked(dear[1]), 6 * CR_MS);
	assert_false(takes_one_more(&r, &none));

	/* nobody is booked higher than he was admitted with */
	pretend(entry, 4 * CR_MS);
	assert_false(takes_one_more(&r, &none));
	for (unsigned i = 1; i < 4; i++)
		assert_int_equal(booked(st[i]), 3 * CR_MS);
	for (unsigned i = 0; i < 4; i++)
		fixture_end(&r, st[i]);
	for (unsigned i = 0; i < 2; i++)
		fixture_end(&r, dear[i]);
	fixture_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(new_calls_are_admitted_with_what_was_learned),
		cmocka_unit_test(short_calls_count),
		cmocka_unit_test(
			calls_of_a_known_kind_are_metered_now_and_then),
		cmocka_unit_test(
			calls_are_metered_less_once_their_kind_is_known),
		cmocka_unit_test(what_calls_turn_out_not_to_need_is_for_others),
	};

	return cmocka_run_group_tests_name("learn", tests, NULL, NULL);
}
