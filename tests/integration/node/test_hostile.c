/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the network may do to a node: foreign senders, wrong types, duplicates,
 * late packets, garbage. Everything is counted, nothing disturbs the call.
 */
#include "loopback.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node/node_impl.h"
#include "node_fixture.h"
#include "udp/burst.h"
#include "udp/socket.h"

#define NB 160u

static const uint8_t silence[1600] = { 0xff };

/* Send and see it come back: a barrier behind everything sent before. */
static void pass(struct fixture_sender *s)
{
	uint8_t buf[2048];
	struct rtp_packet p;

	fixture_send(s, silence, NB);
	assert_true(fixture_receive(s->rig, buf, &p));
}

static struct node_stream *plain_call(struct node_fixture *r)
{
	return fixture_call(r, "{'in': {'codec': 'pcmu'}, "
			       "'out': {'codec': 'pcma'}}");
}

static void every_unwanted_packet_is_counted_once(void **state)
{
	static const uint8_t huge[4000] = { 0x80 };
	struct fixture_sender s;
	struct node_stream *st;
	struct node_fixture r;

	fixture_open(&r, &(struct fixture_options){ 0 });
	st = plain_call(&r);
	s = fixture_sender(&r, st, NB);
	pass(&s);

	s.next.pt = 77; /* another payload type */
	fixture_send(&s, silence, NB);
	s.next.pt = 0;
	s.next.seq--;
	pass(&s);

	s.next.seq--; /* a duplicate */
	fixture_send(&s, silence, NB);
	s.next.seq += 3; /* three lost; then one of them comes after all */
	pass(&s);
	s.next.seq -= 3;
	fixture_send(&s, silence, NB);
	s.next.seq += 2;
	fixture_send(&s, silence, sizeof(silence)); /* 200 ms in one packet */
	pass(&s);

	s.next.ssrc ^= 1; /* nobody's */
	fixture_send(&s, silence, NB);
	s.next.ssrc ^= 1;
	pass(&s);

	/* more than any packet may have, and for no ring's eyes */
	assert_int_equal(sendto(r.fd, huge, sizeof(huge), 0,
				(struct sockaddr *)&s.to,
				address_length(&s.to)),
			 sizeof(huge));
	pass(&s);

	assert_int_equal(fixture_figure(&r, "rx", "unknown_ssrc"), 1);
	assert_int_equal(fixture_figure(&r, "rx", "oversized"), 1);
	assert_int_equal(fixture_figure(&r, "rx", "socket_drops"), 0);
	fixture_end(&r, st);
	assert_int_equal(r.last.wrong_pt, 1);
	assert_int_equal(r.last.duplicates, 1);
	assert_int_equal(r.last.reordered, 1);
	assert_int_equal(r.last.too_big, 1);
	assert_int_equal(r.last.done, 6);
	assert_int_equal(r.last.packets_in, 6);
	fixture_close(&r);
}

/* The call @media takes a packet of @largest octets, and refuses those that
 * are larger, tried up to @tried. */
static void limit_is(const char *media, unsigned largest, unsigned tried)
{
	static const uint8_t zero[1922];
	unsigned more = 0;
	struct fixture_sender s;
	struct node_stream *st;
	struct rtp_packet p;
	uint8_t buf[2048];
	struct node_fixture r;

	fixture_open(&r, &(struct fixture_options){ 0 });
	st = fixture_call(&r, media);
	s = fixture_sender(&r, st, 3 * NB);
	while (largest + more < tried)
		fixture_send(&s, zero, largest + ++more);
	fixture_send(&s, zero, largest);
	assert_true(
		fixture_receive(&r, buf, &p)); /* it came behind the others */
	fixture_end(&r, st);
	assert_int_equal(r.last.too_big, more);
	assert_int_equal(r.last.packets_in, 1);
	assert_int_equal(r.last.malformed, 0);
	fixture_close(&r);
}

static void a_packet_has_60_ms_of_samples_at_most(void **state)
{
	limit_is("{'in': {'codec': 'pcmu'}, 'out': {'codec': 'pcma'}}", 480,
		 481);
	limit_is("{'in': {'codec': 'l16', 'rate': 16000}, "
		 "'out': {'codec': 'pcma'}}",
		 1920, 1922);
}

/* One system call of the peer's, one of ours; a stranger's train counts as
 * many packets. */
static void a_train_is_as_good_as_its_packets(void **state)
{
	static struct burst train;
	const unsigned n = 8;
	struct fixture_sender s;
	struct node_stream *st;
	struct rtp_packet p;
	uint8_t buf[2048];
	struct node_fixture r;

	fixture_open(&r, &(struct fixture_options){ .ring_frames = 16 });
	st = plain_call(&r);
	s = fixture_sender(&r, st, NB);
	pass(&s);
	for (unsigned i = 0; i < 2 * n; i++) {
		struct rtp_packet h = s.next;

		h.ssrc ^= i >= n; /* the second half is nobody's */
		(void)rtp_build(buf, &h);
		memcpy(buf + RTP_HEADER_BYTES, silence, NB);
		burst_put(&train, r.fd, &s.to, 0, buf, RTP_HEADER_BYTES + NB);
		s.next.seq++;
		s.next.ts += NB;
	}
	burst_send(&train);
	assert_false(train.plain);
	for (unsigned i = 0; i < n; i++)
		assert_true(fixture_receive(&r, buf, &p));
	fixture_end(&r, st);
	assert_int_equal(r.last.done, 1 + n);
	assert_int_equal(fixture_figure(&r, "rx", "unknown_ssrc"), n);
	assert_int_equal(fixture_figure(&r, "rx", "packets"), 1 + 2 * n);
	fixture_close(&r);
}

/* Every packet was seen or was dropped, and each drop counts once however
 * many batches tell of it. */
static void what_the_full_socket_dropped_is_counted(void **state)
{
	int least = 1, enough = 1 << 20; /* least: the kernel makes it so */
	unsigned long long sent = 0, drops, seen;
	struct fixture_sender s, stranger;
	struct node_stream *st;
	struct node_fixture r;

	fixture_open(&r, &(struct fixture_options){ 0 });
	st = plain_call(&r);
	stranger = s = fixture_sender(&r, st, NB);
	stranger.next.ssrc ^= 1;
	for (unsigned round = 0; round < 10; round++, sent += 502) {
		(void)setsockopt(r.node->fd[0], SOL_SOCKET, SO_RCVBUF, &least,
				 sizeof(least));
		for (unsigned i = 0; i < 500; i++)
			fixture_send(&stranger, silence, NB);
		(void)setsockopt(r.node->fd[0], SOL_SOCKET, SO_RCVBUF, &enough,
				 sizeof(enough));
		pass(&s); /* carries the count */
		pass(&s); /* the batch with the first is done */
	}
	drops = fixture_figure(&r, "rx", "socket_drops");
	seen = fixture_figure(&r, "rx", "packets");
	assert_true(drops > 0);
	assert_int_equal(drops + seen, sent);
	fixture_end(&r, st);
	fixture_close(&r);
}

static void a_foreign_sender_is_not_heard(void **state)
{
	struct fixture_sender s;
	struct node_stream *st;
	struct node_fixture r;
	int own;

	fixture_open(&r, &(struct fixture_options){ 0 });
	st = plain_call(&r);
	s = fixture_sender(&r, st, NB);
	pass(&s); /* the first sender is the call's */
	own = r.fd;
	r.fd = loopback_socket(NULL);
	fixture_send(&s, silence, NB);
	(void)close(r.fd);
	r.fd = own;
	pass(&s);
	fixture_end(&r, st);
	assert_int_equal(r.last.wrong_source, 1);
	assert_int_equal(r.last.done, 2);
	fixture_close(&r);
}

static void a_call_with_its_own_port_hears_only_that(void **state)
{
	struct fixture_sender s, shared;
	struct node_stream *st, *other;
	struct node_fixture r;

	fixture_open(&r, &(struct fixture_options){ 0 });
	st = fixture_call(&r, "{'in': {'codec': 'pcmu'}, 'port': 'own', "
			      "'out': {'codec': 'pcma'}}");
	other = plain_call(&r);
	s = fixture_sender(&r, st, NB);
	shared = fixture_sender(&r, other, NB);
	assert_int_not_equal(address_port(&s.to), address_port(&shared.to));
	pass(&s);
	pass(&shared);
	shared.next.ssrc = s.next.ssrc; /* right call, wrong port */
	fixture_send(&shared, silence, NB);
	shared.next.ssrc = other->stream->cfg.ssrc_in;
	pass(&shared);
	assert_int_equal(fixture_figure(&r, "rx", "unknown_ssrc"), 1);
	fixture_end(&r, st);
	assert_int_equal(r.last.done, 1);
	fixture_close(&r);
}

static void malformed_payloads_are_counted_and_the_call_lives(void **state)
{
	static const uint8_t reserved[] = { 0xf0, 13 << 3 | 4, 0, 0 };
	uint8_t good[14] = { 0xf0, 0 << 3 | 4 };
	struct fixture_sender s;
	struct node_stream *st;
	struct rtp_packet p;
	uint8_t buf[2048];
	struct node_fixture r;

	fixture_open(&r, &(struct fixture_options){ 0 });
	st = fixture_call(&r, "{'in': {'codec': 'amr', 'octet_align': true}, "
			      "'out': {'codec': 'pcmu'}}");
	s = fixture_sender(&r, st, NB);
	fixture_send(&s, reserved, sizeof(reserved));
	fixture_send(&s, good, 1); /* ends in the table */
	fixture_send(&s, good, 9); /* ends in the frame */
	fixture_send(&s, good, sizeof(good));
	assert_true(fixture_receive(&r, buf, &p));
	assert_int_equal(p.payload_bytes, NB);
	fixture_end(&r, st);
	assert_int_equal(r.last.malformed, 3);
	assert_int_equal(r.last.done, 1);
	fixture_close(&r);
}

/* A call, and how many packets were sent to its node. */
struct flow {
	struct node_fixture *rig;
	const struct node_stream *st;
	unsigned long long sent, done;
};

static bool all_seen(void *arg)
{
	const struct flow *f = arg;

	return fixture_figure(f->rig, "rx", "packets") == f->sent;
}

static bool more_done(void *arg)
{
	const struct flow *f = arg;

	return atomic_load(&f->st->stream->account->count.done) > f->done;
}

static void garbage_on_the_port_changes_nothing(void **state)
{
	const char *text = getenv("CR_SEED");
	unsigned seed = text ? (unsigned)atoi(text) : 1;
	struct fixture_sender s;
	struct node_stream *st;
	struct flow flow;
	struct node_fixture r;

	printf("CR_SEED=%u\n", seed);
	srand(seed);
	fixture_open(&r, &(struct fixture_options){ 0 });
	st = plain_call(&r);
	s = fixture_sender(&r, st, NB);
	flow = (struct flow){ .rig = &r, .st = st };
	for (unsigned i = 0; i < 2000; i++) {
		uint8_t noise[300];
		size_t n = (size_t)rand() % sizeof(noise);

		/* no more than any socket holds */
		if (flow.sent % 100 == 0)
			assert_true(fixture_wait(&r, all_seen, &flow));
		for (size_t k = 0; k < n; k++)
			noise[k] = (uint8_t)rand();
		if (n > 12 && i % 2) { /* looks like our RTP */
			noise[0] &= 0xbf;
			noise[0] |= 0x80;
			noise[1] = 0;
			for (unsigned b = 0; b < 4; b++)
				noise[8 + b] =
					(uint8_t)(s.next.ssrc >> (24 - 8 * b));
		}
		(void)sendto(r.fd, noise, n, 0, (struct sockaddr *)&s.to,
			     address_length(&s.to));
		flow.sent++;
	}
	assert_true(fixture_wait(&r, all_seen, &flow));
	flow.done = atomic_load(&st->stream->account->count.done);
	s.next.seq = 1; /* two in a row: the sender began anew */
	fixture_send(&s, silence, NB);
	fixture_send(&s, silence, NB);
	fixture_send(&s, silence, NB);
	/* or what waits is cancelled */
	assert_true(fixture_wait(&r, more_done, &flow));
	fixture_end(&r, st);
	assert_int_equal(r.last.packets_in, r.last.done + r.last.malformed +
						    r.last.overwritten +
						    r.last.cancelled);
	fixture_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_unwanted_packet_is_counted_once),
		cmocka_unit_test(a_packet_has_60_ms_of_samples_at_most),
		cmocka_unit_test(a_foreign_sender_is_not_heard),
		cmocka_unit_test(a_call_with_its_own_port_hears_only_that),
		cmocka_unit_test(
			malformed_payloads_are_counted_and_the_call_lives),
		cmocka_unit_test(a_train_is_as_good_as_its_packets),
		cmocka_unit_test(what_the_full_socket_dropped_is_counted),
		cmocka_unit_test(garbage_on_the_port_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
