/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A turn's account of its time. Every look at the clock takes a microsecond
 * here (the linker's --wrap), so times are exact.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/address.h"
#include "cmocka_cr.h"
#include "media/packet.h"
#include "media/turn.h"

enum {
	FRAME = 160, /* 20 ms */
	FRAMES = 3,  /* in a packet that comes; one in each that leaves */
	/* the last of them finds the burst full */
	TURNS = BURST_PACKETS / FRAMES + 1,
	TICK = CR_US,
};

int __wrap_clock_gettime(clockid_t id, struct timespec *now);

int __wrap_clock_gettime(clockid_t id, struct timespec *now)
{
	static cr_ns time;

	(void)id;
	time += TICK;
	*now = (struct timespec){ time / CR_SEC, time % CR_SEC };
	return 0;
}

static struct pipeline_side side(const char *codec)
{
	struct pipeline_side s = { .codec = cr_codec_find(codec) };

	s.cfg.mode = s.codec->default_mode;
	s.cfg.sample_rate = 8000;
	s.cfg.samples = FRAME;
	s.payload.kind = payload_kind_find(codec);
	s.payload.sample_rate = 8000;
	s.payload.samples = FRAME;
	return s;
}

static struct call *new_call(void)
{
	struct call_cfg cfg = {
		.id = 1,
		.media = { side("pcmu"), side("pcma") },
		.release = { .kind = RELEASE_SPORADIC,
			     .period = FRAMES * 20 * CR_MS },
		.terms.deadline = FRAMES * 20 * CR_MS,
		.ring_frames = 8,
	};
	struct cr_err e = { "" };
	struct call *c;

	cfg.to.ss_family = AF_INET;
	call_settle(&cfg, &(struct cr_cost){ 0 });
	if (call_new(&c, &cfg, &e))
		fail_msg("%s", e.text);
	return c;
}

static cr_ns beside_the_codec(struct call *c)
{
	return (cr_ns)(atomic_load(&c->count.busy_ns) -
		       atomic_load(&c->count.codec_ns));
}

/* A worker, a call of its, and two trace rings: its own and another's. */
struct rig {
	struct turn_worker *w;
	struct trace *trace;
	struct trace_ring *other;
	struct call *c;
};

static const uint8_t payload[FRAMES * FRAME];

static void rig_open(struct rig *g)
{
	g->w = calloc(1, sizeof(*g->w));
	g->c = new_call();
	assert_non_null(g->w);
	assert_int_equal(trace_open(&g->trace, 2, 2), 0);
	turn_init(g->w, UDP_IO_AUTO);
	g->w->trace = trace_ring(g->trace, 0);
	g->other = trace_ring(g->trace, 1);
	g->w->fd = -1;
	g->w->batching = true;
	g->c->claimed = payload;
	g->c->meta.bytes = sizeof(payload);
}

static void rig_close(struct rig *g)
{
	assert_true(call_unposted(g->c));
	call_free(g->c);
	trace_close(g->trace);
	turn_fini(g->w);
	free(g->w);
}

static void turn(struct rig *g)
{
	const struct live_run run = { .picked = 0 };

	turn_run(g->w, g->c, &run);
	g->c->meta.rtp_ts += sizeof(payload);
}

/* Once within a turn, when its packets no longer fit, and once at the end. That
 * the socket (there is none) refuses them is no matter. */
static void sending_within_a_turn_is_its_calls_time(void **state)
{
	struct rig g;

	(void)state;
	rig_open(&g);
	for (int i = 0; i < TURNS; i++)
		turn(&g);
	assert_int_equal(g.w->nunsent, TURNS);
	turn_flush(g.w);
	assert_int_equal(g.c->count.send_failed, TURNS * FRAMES);
	/* each turn's share is rounded down */
	assert_in_range(beside_the_codec(g.c), 2 * TICK - TURNS, 2 * TICK);
	rig_close(&g);
}

/* What waits while a codec is at work leaves by others, who do not wait. */
static void packets_leave_while_a_codec_is_at_work(void **state)
{
	struct rig g;

	(void)state;
	rig_open(&g);
	turn(&g);
	turn(&g);
	assert_false(call_unposted(g.c));
	turn_begin(g.w);
	turn_enter_codec(g.w);
	turn_flush_for(g.w, g.other);
	assert_true(call_unposted(g.c));
	assert_int_equal(g.c->count.done, 2);
	assert_int_equal(g.c->count.send_failed, 2 * FRAMES);
	assert_true(turn_leave_codec(g.w)); /* and is none the wiser */
	turn_end(g.w);
	turn(&g);
	assert_int_equal(g.w->nunsent, 1);
	turn_flush(g.w);
	assert_int_equal(g.c->count.done, 3);
	rig_close(&g);
}

static void without_batching_every_turn_sends(void **state)
{
	struct rig g;

	(void)state;
	rig_open(&g);
	turn(&g);
	turn_batching(g.w, false, g.other); /* what waits leaves */
	assert_true(call_unposted(g.c));
	for (unsigned i = 2; i <= 4; i++) {
		turn(&g);
		assert_true(call_unposted(g.c));
		assert_int_equal(g.c->count.done, i);
	}
	turn_batching(g.w, true, g.other);
	turn(&g);
	assert_false(call_unposted(g.c));
	turn_flush(g.w);
	rig_close(&g);
}

static void packets_are_taken_from_a_codec_alone(void **state)
{
	struct rig g;

	(void)state;
	rig_open(&g);
	turn(&g);
	assert_false(turn_take(g.w)); /* between turns */
	turn_begin(g.w);
	assert_false(turn_take(g.w)); /* at the packets */
	turn_enter_codec(g.w);
	assert_true(turn_take(g.w));
	assert_false(turn_take(g.w)); /* once */
	turn_rescue(g.w, NULL, g.other);
	assert_int_equal(g.c->count.done, 1);
	assert_false(turn_leave_codec(g.w));
	rig_close(&g);
}

/* A frame that is shed takes no logical time: the next one has its place. */
static void what_is_shed_takes_no_time_from_what_is_served(void **state)
{
	const cr_ns period = FRAMES * 20 * CR_MS;
	struct cr_frame_meta meta = { .arrival = CR_SEC }, dropped;
	struct core_task *t;
	struct cr_job job;
	struct rig g;

	(void)state;
	rig_open(&g);
	t = &g.c->lt.core;
	for (unsigned i = 0; i < 3; i++)
		assert_false(cr_ring_push(g.c->ring, &meta, &dropped));
	assert_true(call_peek(t, &job));
	assert_int_equal(job.eligible, CR_SEC);
	assert_true(call_claim(t, job.seq)); /* and served */
	assert_true(call_peek(t, &job));
	assert_int_equal(job.eligible, CR_SEC + period);
	assert_true(call_claim(t, job.seq));
	turn_shed(g.other, g.c, &job, CR_OUT_STALE, 2 * CR_SEC);
	assert_true(call_peek(t, &job));
	assert_int_equal(job.eligible, CR_SEC + period);
	assert_int_equal(job.deadline, CR_SEC + 2 * period);
	rig_close(&g);
}

/* Calls with ports of their own, to a peer of their own each. */
enum { CALLS = 6, NO_PORT = 2, ROUNDS = 3 };

static int open_port(struct sockaddr_storage *at)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	socklen_t len = sizeof(*at);

	assert_int_equal(address_parse("127.0.0.1:0", at), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)at, address_length(at)),
			 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)at, &len), 0);
	return fd;
}

static void *flush_for(void *arg)
{
	struct rig *g = arg;

	turn_flush_for(g->w, g->other);
	return NULL;
}

static void expect_sequence(int peer, unsigned packets)
{
	uint8_t p[BURST_BYTES];

	for (unsigned i = 0; i < packets; i++) {
		assert_int_equal(recv(peer, p, sizeof(p), MSG_DONTWAIT),
				 RTP_HEADER_BYTES + FRAME);
		assert_int_equal(p[2] << 8 | p[3], i);
	}
	assert_int_equal(recv(peer, p, sizeof(p), MSG_DONTWAIT), -1);
}

/* The packets of one cannot be sent: that is its call's matter alone. */
static void calls_with_ports_of_their_own_leave_together(void **state)
{
	struct call *calls[CALLS];
	int peer[CALLS];
	struct sockaddr_storage at;
	struct rig g;
	pthread_t other;

	(void)state;
	rig_open(&g);
	calls[0] = g.c;
	for (unsigned i = 0; i < CALLS; i++) {
		if (i)
			calls[i] = new_call();
		calls[i]->fd = i == NO_PORT ? 1 << 20 : open_port(&at);
		peer[i] = open_port(&at);
		way_set(&calls[i]->own_way, &at);
		calls[i]->claimed = payload;
		calls[i]->meta.bytes = sizeof(payload);
	}
	for (unsigned i = 0; i < CALLS * ROUNDS; i++) {
		g.c = calls[i % CALLS];
		turn(&g);
	}
	assert_int_equal(g.w->nunsent, CALLS * ROUNDS);
	assert_int_equal(pthread_create(&other, NULL, flush_for, &g), 0);
	assert_int_equal(pthread_join(other, NULL), 0);
	for (unsigned i = 0; i < CALLS; i++) {
		unsigned failed = i == NO_PORT ? ROUNDS * FRAMES : 0;

		assert_int_equal(calls[i]->count.send_failed, failed);
		assert_int_equal(calls[i]->count.packets_out,
				 ROUNDS * FRAMES - failed);
		expect_sequence(peer[i], ROUNDS * FRAMES - failed);
		(void)close(calls[i]->fd);
		(void)close(peer[i]);
		if (i)
			call_free(calls[i]);
	}
	g.c = calls[0];
	rig_close(&g);
}

/* A digit begins, and neither its end nor its ticks ever reach a worker, for
 * the ring was full: speech is heard again when it has timed out. */
static void a_digit_ends_without_its_ticks(void **state)
{
	static const uint8_t begins[TELEPHONE_EVENT_BYTES] = { 5, 10, 0, 160 };
	struct call_cfg cfg;
	struct rig g;

	(void)state;
	rig_open(&g);
	cfg = g.c->cfg;
	call_free(g.c);
	cfg.inflow.pt_event = 101;
	cfg.pt_event_out = 96;
	assert_int_equal(call_new(&g.c, &cfg, NULL), 0);
	g.c->meta.what = CR_RING_EVENT;
	g.c->claimed = begins;
	g.c->meta.bytes = sizeof(begins);
	turn(&g);
	g.c->meta.what = CR_RING_SPEECH;
	g.c->claimed = payload;
	g.c->meta.bytes = sizeof(payload);
	for (unsigned i = 0; i < 10; i++) {
		g.c->meta.arrival += FRAMES * 20 * CR_MS;
		turn(&g);
	}
	turn_flush(g.w);
	assert_int_equal(g.c->count.events_out, 1 + 3);
	/* 300 ms, of 600 */
	assert_in_range(g.c->count.muted, 4 * FRAMES, 6 * FRAMES);
	rig_close(&g);
}

/* --- frames as their receiver pushes them --- */

/* Of packet @n of a sender that began with @first. */
static struct inflow_frame speech_of(uint32_t first, unsigned n, cr_ns at)
{
	return (struct inflow_frame){
		.what = CR_RING_SPEECH,
		.payload = payload,
		.bytes = sizeof(payload),
		.ts = first + n * (uint32_t)sizeof(payload),
		.seq = (uint16_t)n,
		.at = at,
	};
}

static void rig_push(struct rig *g, struct inflow_frame f, bool restart)
{
	f.restart = restart;
	g->c->trace = g->other;
	packet_push(g->c, &f);
}

/* Run the oldest frame. */
static void rig_serve(struct rig *g)
{
	const struct live_run run = { .picked = 0 };
	struct cr_job job;

	assert_true(call_peek(&g->c->lt.core, &job));
	assert_true(call_claim(&g->c->lt.core, job.seq));
	turn_run(g->w, g->c, &run);
	turn_flush(g->w);
}

/* The timestamp of the first packet that @peer has; all others go. */
static uint32_t rig_heard(int peer)
{
	uint8_t buf[BURST_BYTES];
	struct rtp_packet p;
	ssize_t n = recv(peer, buf, sizeof(buf), MSG_DONTWAIT);

	assert_true(n > 0);
	assert_int_equal(rtp_parse(buf, (size_t)n, &p), 0);
	while (recv(peer, buf, sizeof(buf), MSG_DONTWAIT) > 0)
		;
	return p.ts;
}

static int rig_connect(struct rig *g)
{
	struct sockaddr_storage at;
	int peer;

	g->c->fd = open_port(&at);
	peer = open_port(&at);
	way_set(&g->c->own_way, &at);
	return peer;
}

/* The first frame of another sender is overwritten: the second one's timestamp
 * is its own sender's all the same. */
static void another_sender_shows_in_each_of_its_frames(void **state)
{
	const cr_ns period = FRAMES * 20 * CR_MS;
	struct rig g;
	int peer;

	(void)state;
	rig_open(&g);
	peer = rig_connect(&g);
	rig_push(&g, speech_of(1000, 0, CR_SEC), false);
	rig_serve(&g);
	assert_int_equal(rig_heard(peer), 0);
	for (unsigned i = 0; i < 8 + 1; i++)
		rig_push(&g,
			 speech_of(2000000000, i, CR_SEC + (i + 1) * period),
			 !i);
	assert_int_equal(g.c->count.overwritten, 1);
	rig_serve(&g);
	assert_int_equal(rig_heard(peer), 2 * sizeof(payload));
	rig_serve(&g);
	assert_int_equal(rig_heard(peer), 3 * sizeof(payload));
	assert_int_equal(g.c->count.missing, 0);
	while (cr_ring_waiting(g.c->ring))
		rig_serve(&g);
	(void)close(peer);
	(void)close(g.c->fd);
	rig_close(&g);
}

/* What takes no time of the speech, such as a digit's ticks, shortens none. */
static void a_pause_is_counted_from_speech(void **state)
{
	const struct inflow_frame tick = { .what = CR_RING_TICK,
					   .at = CR_SEC + 150 * CR_MS };
	struct rig g;
	int peer;

	(void)state;
	rig_open(&g);
	peer = rig_connect(&g);
	rig_push(&g, speech_of(1000, 0, CR_SEC), false);
	rig_push(&g, tick, false);
	rig_push(&g, speech_of(2000000000, 0, CR_SEC + 200 * CR_MS), true);
	rig_serve(&g);
	assert_int_equal(rig_heard(peer), 0);
	rig_serve(&g);
	rig_serve(&g);
	assert_int_equal(rig_heard(peer), 1600);
	(void)close(peer);
	(void)close(g.c->fd);
	rig_close(&g);
}

/* And is heard at once. */
static void another_sender_ends_a_digit(void **state)
{
	static const uint8_t begins[TELEPHONE_EVENT_BYTES] = { 5, 10, 0, 160 };
	const struct inflow_frame event = {
		.what = CR_RING_EVENT,
		.payload = begins,
		.bytes = sizeof(begins),
		.at = CR_SEC,
	};
	struct call_cfg cfg;
	struct rig g;

	(void)state;
	rig_open(&g);
	cfg = g.c->cfg;
	call_free(g.c);
	cfg.inflow.pt_event = 101;
	cfg.pt_event_out = 96;
	assert_int_equal(call_new(&g.c, &cfg, NULL), 0);
	rig_push(&g, event, false);
	rig_push(&g, speech_of(2000000000, 0, CR_SEC + 100 * CR_MS), true);
	rig_serve(&g);
	assert_int_equal(g.c->count.events_out, 1);
	rig_serve(&g);
	assert_int_equal(g.c->count.events_out, 1 + 3);
	assert_int_equal(g.c->count.muted, 0);
	rig_close(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sending_within_a_turn_is_its_calls_time),
		cmocka_unit_test(packets_leave_while_a_codec_is_at_work),
		cmocka_unit_test(without_batching_every_turn_sends),
		cmocka_unit_test(packets_are_taken_from_a_codec_alone),
		cmocka_unit_test(
			what_is_shed_takes_no_time_from_what_is_served),
		cmocka_unit_test(calls_with_ports_of_their_own_leave_together),
		cmocka_unit_test(a_digit_ends_without_its_ticks),
		cmocka_unit_test(another_sender_shows_in_each_of_its_frames),
		cmocka_unit_test(a_pause_is_counted_from_speech),
		cmocka_unit_test(another_sender_ends_a_digit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
