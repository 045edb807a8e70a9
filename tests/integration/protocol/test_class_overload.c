/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One class wants three times what the worker does, for longer than rings last:
 * under the policies that put classes in order, those above it get every frame
 * done.
 *
 * The worker's frames are the clock: a round is a frame of every call, and the
 * next one comes when the worker has done a third of as many, whosever. So a
 * call loses a frame only when RING rounds of work went to others, however slow
 * the machine. A round is longer than the calls' period in any case: frames
 * that come ahead of their time may be last by right.
 */
#include "cmocka_cr.h"
#include "desk.h"
#include "spool.h"

#include <stdio.h>

#include "base/clock.h"

#define SAMPLES 40u /* of a packet */
#define PTIME (5 * CR_MS)
#define RING 12u
#define FEW 4u	 /* calls */
#define MANY 60u /* calls of the class in overload */
#define CALLS (2 * FEW + MANY)
#define DO (CALLS / 3)	 /* frames done in a round */
#define LEAST 20u	 /* rounds: who is starved has lost some by then */
#define ENOUGH MANY * 3u /* frames lost: the class is in overload */

struct crowd {
	struct scratch scratch;
	struct client client;
	unsigned n, above; /* calls; those of higher classes come first */
	unsigned rounds;   /* sent so far */
	unsigned long long until; /* of work: the round is over */
	cr_ns next;		  /* not before */
	unsigned id[CALLS];
	struct fixture_sender sender[CALLS];
};

static void start(struct crowd *c, const char *cls, unsigned calls)
{
	char json[256];

	(void)snprintf(json, sizeof(json),
		       "{'in': {'codec': 'pcmu'}, 'out': {'codec': 'spin', "
		       "'spin': '0.5ms', 'address': '127.0.0.1:%u'}, "
		       "'ptime': '5ms', 'class': '%s'}",
		       c->scratch.rig.port, cls);
	for (unsigned i = 0; i < calls; i++, c->n++) {
		json_t *o = client_ask(&c->client, "call.start", json);

		c->id[c->n] = (unsigned)desk_number(o, "call");
		c->sender[c->n] = fixture_sender(
			&c->scratch.rig,
			node_stream_find(c->scratch.rig.node, c->id[c->n]),
			SAMPLES);
		json_decref(o);
	}
}

/* Call @i's counters. */
static const struct stream_counters *counters(struct crowd *c, unsigned i)
{
	return &node_stream_find(c->scratch.rig.node, c->id[i])
			->stream->account->count;
}

static unsigned long long get(const atomic_ullong *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

/* Frames lost by the calls from number @i to before @end. */
static unsigned long long lost(struct crowd *c, unsigned i, unsigned end)
{
	unsigned long long sum = 0;

	for (; i < end; i++)
		sum += get(&counters(c, i)->overwritten);
	return sum;
}

static bool arrived(struct crowd *c)
{
	for (unsigned i = 0; i < c->n; i++)
		if (get(&counters(c, i)->packets_in) < c->rounds)
			return false;
	return true;
}

/* Frames of the class in overload that were done. */
static unsigned long long served(struct crowd *c)
{
	unsigned long long sum = 0;

	for (unsigned i = c->above; i < c->n; i++)
		sum += get(&counters(c, i)->done);
	return sum;
}

/* All that the worker has done: frames of calls and of files. */
static unsigned long long work(struct crowd *c)
{
	struct node *n = c->scratch.rig.node;
	unsigned long long sum = 0;
	struct conversion *cv;

	for (unsigned i = 0; i < c->n; i++)
		sum += get(&counters(c, i)->done);
	for (cv = converter_after(node_converter(n), 0); cv;
	     cv = converter_after(node_converter(n), cv->cfg.id))
		sum += get(&cv->frames);
	return sum;
}

static bool round_over(void *arg)
{
	struct crowd *c = arg;

	return arrived(c) && work(c) >= c->until && clock_now() >= c->next;
}

static void overload(struct crowd *c)
{
	static const uint8_t silence[SAMPLES] = { 0xff };

	while (c->rounds < LEAST || lost(c, c->above, c->n) < ENOUGH) {
		for (unsigned i = 0; i < c->n; i++)
			fixture_send(&c->sender[i], silence, SAMPLES);
		c->rounds++;
		c->until = work(c) + DO;
		c->next = clock_now() + PTIME;
		desk_wait(&c->scratch, round_over, c);
	}
}

/* Unless something above is lost, all of that is done. */
static bool settled(void *arg)
{
	struct crowd *c = arg;

	for (unsigned i = 0; i < c->above && !lost(c, 0, c->above); i++)
		if (get(&counters(c, i)->done) < c->rounds)
			return false;
	return true;
}

/* What the calls above the class in overload lost; that class itself loses
 * whatever the policy does. */
static unsigned long long above_lose(struct crowd *c, const char *scheduler)
{
	unsigned long long above, rest;

	overload(c);
	desk_wait(&c->scratch, settled, c);
	above = lost(c, 0, c->above);
	rest = lost(c, c->above, c->n);
	print_message("%s: %llu of %u frames lost above, %llu of %u by the "
		      "class in overload\n",
		      scheduler, above, c->above * c->rounds, rest,
		      MANY * c->rounds);
	return above;
}

static unsigned long long hard_loses(const char *scheduler)
{
	struct crowd c = { .above = FEW };
	unsigned long long sum;

	desk_open(&c.scratch, &(struct desk_options){ .scheduler = scheduler,
						      .ring_frames = RING });
	client_open(&c.client, &c.scratch, NULL);
	start(&c, "hard", FEW);
	start(&c, "soft", MANY);
	sum = above_lose(&c, scheduler);
	client_close(&c.client);
	desk_close(&c.scratch);
	return sum;
}

/* Best effort are calls and, beside them, files without end. */
static unsigned long long calls_lose(const char *scheduler)
{
	struct crowd c = { .above = 2 * FEW };
	struct test_spool sp;
	unsigned long long sum;

	test_spool_make(&sp);
	test_spool_endless(&sp, "a.wav");
	desk_open(&c.scratch, &(struct desk_options){ .scheduler = scheduler,
						      .ring_frames = RING,
						      .spool = sp.dir });
	client_open(&c.client, &c.scratch, NULL);
	client_do(&c.client, "convert.start",
		  "{'in': 'a.wav', 'out': 'a.awb'}");
	client_do(&c.client, "convert.start",
		  "{'in': 'a.wav', 'out': 'b.awb'}");
	start(&c, "hard", FEW);
	start(&c, "soft", FEW);
	start(&c, "best-effort", MANY);
	sum = above_lose(&c, scheduler);
	assert_int_equal(c.client.conversions_ended, 0);
	assert_true(served(&c) >
		    0); /* the files do not have all that is left */
	client_close(&c.client);
	desk_close(&c.scratch);
	return sum;
}

static void soft_in_overload_never_harms_hard(void **state)
{
	/* edf-hsb only to those that keep to their rate and cost, which here
	 * depends on the machine */
	static const char *const promise[] = { "rm", "dwa" };

	for (unsigned i = 0; i < sizeof(promise) / sizeof(promise[0]); i++)
		assert_int_equal(hard_loses(promise[i]), 0);
}

static void best_effort_in_overload_never_harms_calls(void **state)
{
	static const char *const promise[] = {
		"edf", "edf-be", "edf-steal", "gfl",	 "dbp",
		"llf", "rm",	 "dwa",	      "edf-hsb",
	};

	for (unsigned i = 0; i < sizeof(promise) / sizeof(promise[0]); i++)
		assert_int_equal(calls_lose(promise[i]), 0);
}

/* Who promises nothing does harm: so this load is one that would show it. */
static void without_classes_all_are_harmed(void **state)
{
	assert_true(hard_loses("fifo") > 0);
	assert_true(calls_lose("fifo") > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(soft_in_overload_never_harms_hard),
		cmocka_unit_test(best_effort_in_overload_never_harms_calls),
		cmocka_unit_test(without_classes_all_are_harmed),
	};

	return cmocka_run_group_tests_name("class_overload", tests, NULL, NULL);
}
