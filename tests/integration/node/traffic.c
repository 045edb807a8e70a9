/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steady load for a rig's node.
 */
#include "traffic.h"

#include "cmocka_cr.h"

#include <sched.h>
#include <stdlib.h>

enum { NB = 160 };

static const uint8_t silence[NB] = { 0xff };

static void *flow(void *arg)
{
	struct traffic *t = arg;
	struct rtp_packet p;
	uint8_t buf[2048];

	while (!atomic_load(&t->stop)) {
		for (unsigned i = 0; i < t->ncalls; i++)
			fixture_send(&t->sender[i], silence, NB);
		for (unsigned i = 0; i < t->ncalls; i++) {
			if (!fixture_receive(t->rig, buf, &p)) {
				atomic_store(&t->stuck, true);
				return NULL;
			}
			atomic_fetch_add(&t->came, 1);
		}
		t->rounds++;
	}
	return NULL;
}

void traffic_begin(struct traffic *t, struct node_fixture *r, unsigned ncalls)
{
	*t = (struct traffic){ .rig = r, .ncalls = ncalls };
	t->call = calloc(ncalls, sizeof(struct node_stream *));
	t->sender = calloc(ncalls, sizeof(*t->sender));
	assert_true(t->call && t->sender);
	for (unsigned i = 0; i < ncalls; i++) {
		/* late enough for a sanitizer on a busy machine: red gives up
		 * what cannot be in time */
		t->call[i] = fixture_call(r, "{'in': {'codec': 'pcmu'}, "
					     "'out': {'codec': 'pcma'}, "
					     "'deadline': '10s'}");
		t->sender[i] = fixture_sender(r, t->call[i], NB);
	}
	assert_int_equal(pthread_create(&t->thread, NULL, flow, t), 0);
}

void traffic_flows(struct traffic *t, unsigned n)
{
	unsigned goal = atomic_load(&t->came) + n;

	while ((int)(goal - atomic_load(&t->came)) > 0) {
		if (atomic_load(&t->stuck))
			fail_msg("a frame was lost: %u of %u came back",
				 atomic_load(&t->came) % t->ncalls, t->ncalls);
		(void)event_base_loop(t->rig->base, EVLOOP_NONBLOCK);
		(void)sched_yield();
	}
}

void traffic_end(struct traffic *t)
{
	atomic_store(&t->stop, true);
	assert_int_equal(pthread_join(t->thread, NULL), 0);
	assert_false(atomic_load(&t->stuck));
	assert_int_equal(atomic_load(&t->came), t->rounds * t->ncalls);
}

void traffic_balance(struct traffic *t)
{
	const struct node_stream_counts *last = &t->rig->last;

	for (unsigned i = 0; i < t->ncalls; i++) {
		fixture_end(t->rig, t->call[i]);
		assert_int_equal(last->packets_in, t->rounds);
		assert_int_equal(last->done, t->rounds);
		assert_int_equal(last->packets_out, t->rounds);
		assert_int_equal(last->overwritten + last->expired +
					 last->concealed + last->cancelled,
				 0);
	}
	free(t->call);
	free(t->sender);
}
