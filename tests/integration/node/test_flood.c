/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One port gets as many packets as a thread can send. The frames of all other
 * calls come back nevertheless, each of them and in order, and every packet of
 * the flood is counted: it was seen, or it was dropped at that port.
 */
#include "loopback.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "node_fixture.h"
#include "udp/socket.h"

#define NB 160u
#define OWN 24u /* calls with a port of their own, and as many without */
#define ROUNDS 50u
#define FLOOD 200000u /* packets at least */

static const uint8_t silence[NB] = { 0xff };

struct flood {
	struct fixture_sender to;
	pthread_t thread;
	atomic_bool stop;
	atomic_uint sent;
};

/* Of a payload type that the call does not take: seen, counted and gone. */
static void *flood(void *arg)
{
	struct flood *f = arg;
	struct rtp_packet h = f->to.next;
	uint8_t packet[RTP_HEADER_BYTES + NB] = { 0 };
	int fd = loopback_socket(NULL);

	h.pt = 77;
	(void)rtp_build(packet, &h);
	while (!atomic_load(&f->stop))
		if (sendto(fd, packet, sizeof(packet), 0,
			   (struct sockaddr *)&f->to.to,
			   address_length(&f->to.to)) > 0)
			atomic_fetch_add(&f->sent, 1);
	(void)close(fd);
	return NULL;
}

/* Its answers have the SSRC @number. */
static struct node_stream *call(struct node_fixture *r, const char *port,
				unsigned number)
{
	char json[128];

	(void)snprintf(json, sizeof(json),
		       "{'in': {'codec': 'pcmu'}, 'out': {'codec': 'pcma', "
		       "'ssrc': %u}, 'port': '%s'}",
		       number, port);
	return fixture_call(r, json);
}

/* Small, so that it overflows. */
static void begin_flood(struct flood *f, struct node_fixture *r,
			struct node_stream *st)
{
	int bytes = 65536;

	assert_int_equal(setsockopt(st->stream->cfg.in_endpoint->cfg.fd,
				    SOL_SOCKET, SO_RCVBUF, &bytes,
				    sizeof(bytes)),
			 0);
	*f = (struct flood){ .to = fixture_sender(r, st, NB) };
	assert_int_equal(pthread_create(&f->thread, NULL, flood, f), 0);
}

/* Until the receiver has taken all that the port held. */
static void end_flood(struct flood *f, int fd)
{
	int waiting = 1;

	atomic_store(&f->stop, true);
	(void)pthread_join(f->thread, NULL);
	while (waiting) {
		assert_int_equal(ioctl(fd, FIONREAD, &waiting), 0);
		(void)sched_yield();
	}
}

/* Two packets for each of the calls 1 to @n, and the answers: each is the next
 * of its call, whose last one is @last[]. */
static void a_round(struct node_fixture *r, struct fixture_sender *s,
		    unsigned n, struct rtp_packet *last)
{
	uint8_t buf[2048];
	struct rtp_packet p;

	for (unsigned i = 0; i < 2 * n; i++)
		fixture_send(&s[i % n], silence, NB);
	for (unsigned i = 0; i < 2 * n; i++) {
		struct rtp_packet *l;

		assert_true(fixture_receive(r, buf, &p));
		assert_in_range(p.ssrc, 1, n);
		assert_int_equal(p.payload_bytes, NB);
		l = &last[p.ssrc - 1];
		if (l->ssrc) {
			assert_int_equal(p.seq, (uint16_t)(l->seq + 1));
			assert_int_equal(p.ts, l->ts + NB);
		}
		*l = p;
	}
}

static void flood_one_of_many(enum udp_io io)
{
	struct node_stream *flooded, *st[2 * OWN];
	struct rtp_packet heard[2 * OWN] = { { .ssrc = 0 } }, p;
	struct fixture_sender s[2 * OWN], last;
	uint8_t buf[2048];
	unsigned rounds = 0;
	struct flood f;
	struct node_fixture r;

	fixture_open(&r,
		     &(struct fixture_options){ .io = io, .ring_frames = 64 });
	flooded = call(&r, "own", 2 * OWN + 1);
	for (unsigned i = 0; i < 2 * OWN; i++) {
		st[i] = call(&r, i % 2 ? "own" : "shared", i + 1);
		s[i] = fixture_sender(&r, st[i], NB);
	}
	begin_flood(&f, &r, flooded);
	for (; rounds < ROUNDS || atomic_load(&f.sent) < FLOOD; rounds++)
		a_round(&r, s, 2 * OWN, heard);
	end_flood(&f, flooded->stream->cfg.in_endpoint->cfg.fd);
	last = fixture_sender(&r, flooded, NB); /* carries the count of drops */
	fixture_send(&last, silence, NB);
	assert_true(fixture_receive(&r, buf, &p));

	fixture_end(&r, flooded);
	assert_int_equal(r.last.done, 1);
	assert_true(r.last.port_drops > 0);
	assert_int_equal(r.last.wrong_pt + r.last.port_drops,
			 atomic_load(&f.sent));
	for (unsigned i = 0; i < 2 * OWN; i++) {
		fixture_end(&r, st[i]);
		assert_int_equal(r.last.done, 2 * rounds);
		assert_int_equal(r.last.packets_in, 2 * rounds);
		assert_int_equal(r.last.packets_out, 2 * rounds);
		assert_int_equal(r.last.port_drops, 0);
	}
	fixture_close(&r);
}

static void with_epoll(void **state)
{
	flood_one_of_many(UDP_IO_EPOLL);
}

static void with_what_is_best_here(void **state)
{
	flood_one_of_many(UDP_IO_AUTO);
}

static bool all_gone(void *arg)
{
	const struct node_fixture *r = arg;

	return node_streams(r->node) == 0;
}

/* Nothing comes behind the flood that could tell of them. */
static void what_a_port_drops_at_its_end_is_counted(void **state)
{
	struct fixture_sender s;
	struct node_stream *st;
	struct node_fixture r;

	fixture_open(&r, &(struct fixture_options){ .workers = 1 });
	st = call(&r, "own", 1);
	s = fixture_sender(&r, st, NB);
	node_call_stop(node_stream_call(st), NODE_END_STOPPED, NULL);
	/* its socket is there until this thread looks at events */
	for (unsigned i = 0; i < 5000; i++)
		fixture_send(&s, silence, NB);
	assert_true(fixture_wait(&r, all_gone, &r));
	assert_true(r.last.port_drops > 0);
	assert_true(r.last.port_drops < 5000);
	fixture_close(&r);
}

/* Speech of the call's type comes as fast as it can be sent and taken: what
 * leaves is what time allows, and the rest is counted. */
static void of_speech_no_more_is_sent_than_time_passes(void **state)
{
	enum { LOTS = 3000 }; /* a minute */
	const cr_ns packet = 20 * CR_MS;
	struct fixture_sender s;
	struct node_stream *st;
	cr_ns begun, took;
	struct node_fixture r;

	fixture_open(&r, &(struct fixture_options){ .paced = true });
	st = call(&r, "shared", 1);
	s = fixture_sender(&r, st, NB);
	begun = clock_now();
	for (unsigned i = 0; i < LOTS; i++) {
		fixture_send(&s, silence, NB);
		while (atomic_load(&st->stream->account->count.done) +
			       atomic_load(&st->stream->account->count
						    .overwritten) <=
		       i)
			(void)sched_yield();
	}
	took = clock_now() - begun;
	fixture_end(&r, st);
	assert_int_equal(r.last.done + r.last.overwritten, LOTS);
	assert_int_equal(r.last.packets_out + r.last.excess, r.last.done);
	assert_true((cr_ns)r.last.packets_out * (packet - packet / 32) <=
		    took + 2 * CR_SEC);
	assert_true(r.last.packets_out >= 100);
	fixture_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(with_epoll),
		cmocka_unit_test(with_what_is_best_here),
		cmocka_unit_test(what_a_port_drops_at_its_end_is_counted),
		cmocka_unit_test(of_speech_no_more_is_sent_than_time_passes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
