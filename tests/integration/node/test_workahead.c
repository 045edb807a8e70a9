/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call that sends ahead of time, live: its frames are held until their
 * logical arrival where that is wanted, all are served in order, and what is
 * beyond its contract is counted.
 */
#include "cmocka_cr.h"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/socket.h>

#include "base/address.h"
#include "base/clock.h"
#include "node_fixture.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103 /* linux/udp.h, since 4.18 */
#endif

enum { NB = 160, FRAMES = 5, BURST = 2, PACKET = RTP_HEADER_BYTES + NB };

struct fate {
	const struct node_stream *call;
	unsigned sent;
};

static const cr_ns period = 20 * CR_MS;
/* Between the kernel's clock for packets and ours. */
static const cr_ns skew = CR_MS;

/* One datagram for the network, FRAMES packets that have the same time of
 * arrival for whoever receives them. */
static void send_at_once(struct fixture_sender *s)
{
	uint8_t all[FRAMES * PACKET] = { 0 };
	int size = PACKET;

	for (unsigned i = 0; i < FRAMES; i++) {
		(void)rtp_build(all + (size_t)i * PACKET, &s->next);
		s->next.seq++;
		s->next.ts += s->step;
	}
	assert_int_equal(setsockopt(s->rig->fd, IPPROTO_UDP, UDP_SEGMENT, &size,
				    sizeof(size)),
			 0);
	assert_int_equal(sendto(s->rig->fd, all, sizeof(all), 0,
				(struct sockaddr *)&s->to,
				address_length(&s->to)),
			 sizeof(all));
	size = 0;
	assert_int_equal(setsockopt(s->rig->fd, IPPROTO_UDP, UDP_SEGMENT, &size,
				    sizeof(size)),
			 0);
}

/* All frames come back in order, the k-th @came[k] after they were sent.
 * Returns the violations counted. */
static unsigned long long play(const char *scheduler, const char *release,
			       cr_ns *came)
{
	struct fixture_options o = { .scheduler = scheduler, .workers = 1 };
	struct fixture_sender s;
	struct node_stream *st;
	struct rtp_packet p;
	struct node_fixture r;
	uint8_t buf[2048];
	char json[200];
	uint16_t first = 0;
	cr_ns sent;

	fixture_open(&r, &o);
	(void)snprintf(json, sizeof(json),
		       "{'in': {'codec': 'pcmu'}, 'out': {'codec': 'pcma'}, "
		       "'release': %s}",
		       release);
	st = fixture_call(&r, json);
	s = fixture_sender(&r, st, NB);
	sent = clock_now();
	send_at_once(&s);
	for (unsigned i = 0; i < FRAMES; i++) {
		assert_true(fixture_receive(&r, buf, &p));
		came[i] = clock_now() - sent;
		first = i ? first : p.seq;
		assert_int_equal((uint16_t)(p.seq - first), i);
	}
	fixture_end(&r, st);
	assert_int_equal(r.last.done, FRAMES);
	fixture_close(&r);
	return r.last.violations;
}

static void early_frames_are_held_until_their_logical_arrival(void **state)
{
	static const char *const held[] = { "dwa,workahead=hold",
					    "rm,workahead=hold" };
	cr_ns came[FRAMES];

	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(
			play(held[i], "{'model': 'lbap', 'burst': 2}", came),
			FRAMES - 1 - BURST);
		for (unsigned k = 0; k < FRAMES; k++)
			assert_true(came[k] >= (cr_ns)k * period - skew);
	}
}

/* Every frame sent has met its fate. */
static bool settled(void *arg)
{
	const struct fate *f = arg;
	const struct stream_counters *n = &f->call->stream->account->count;
	unsigned long long came = atomic_load(&n->packets_in);

	return came == f->sent && came == atomic_load(&n->done) +
						  atomic_load(&n->overwritten) +
						  atomic_load(&n->expired);
}

/* Twice what the ring holds at once, as after a pause of the network, then a
 * frame every period. Those are to come back, all but what the clocks' phase
 * may cost. */
static void a_call_goes_on_after_a_burst(void **state)
{
	enum { LATER = 20 };
	struct fixture_options o = { .scheduler = "dwa,workahead=hold",
				     .workers = 1 };
	const struct timespec pause = { .tv_nsec = period };
	const uint8_t payload[NB] = { 0 };
	struct fate fate;
	struct node_stream *st;
	struct fixture_sender s;
	struct node_fixture r;

	fixture_open(&r, &o);
	st = fixture_call(&r,
			  "{'in': {'codec': 'pcmu'}, 'out': {'codec': 'pcma'}, "
			  "'release': {'model': 'lbap'}}");
	s = fixture_sender(&r, st, NB);
	for (unsigned i = 0; i < 4; i++)
		send_at_once(&s);
	for (unsigned i = 0; i < LATER; i++) {
		(void)nanosleep(&pause, NULL);
		fixture_send(&s, payload, NB);
	}
	fate = (struct fate){ st, 4 * FRAMES + LATER };
	assert_true(fixture_wait(&r, settled, &fate));
	fixture_end(&r, st);
	assert_true(r.last.done >= LATER - 2);
	fixture_close(&r);
}

static void a_contract_that_is_kept_has_no_violations(void **state)
{
	cr_ns came[FRAMES];

	assert_int_equal(play("dwa", "{'model': 'lbap', 'burst': 4}", came), 0);
	assert_int_equal(play("dwa", "{'model': 'sporadic'}", came), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			early_frames_are_held_until_their_logical_arrival),
		cmocka_unit_test(a_contract_that_is_kept_has_no_violations),
		cmocka_unit_test(a_call_goes_on_after_a_burst),
	};

	return cmocka_run_group_tests_name("workahead", tests, NULL, NULL);
}
