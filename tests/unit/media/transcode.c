/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A turn's account of its time. Every look at a clock takes a microsecond here
 * (the linker's --wrap), so times are exact; and other programs take the CPU
 * when a test says so.
 */
#include <time.h>
#include <unistd.h>

#include "media/transcode.h"
#include "transcode_fixture.h"

/* What another program takes at every look. */
static cr_ns thief;

int __wrap_clock_gettime(clockid_t id, struct timespec *now);

int __wrap_clock_gettime(clockid_t id, struct timespec *now)
{
	static cr_ns wall, cpu;
	cr_ns time;

	cpu += TICK;
	wall += TICK + thief;
	time = id == CLOCK_THREAD_CPUTIME_ID ? cpu : wall;
	*now = (struct timespec){ time / CR_SEC, time % CR_SEC };
	return 0;
}

static cr_ns beside_the_codec(struct transcoder *c)
{
	return (cr_ns)(atomic_load(&c->stream->account->count.busy_ns) -
		       atomic_load(&c->stream->account->count.codec_ns));
}

/* Once within a turn, when its packets no longer fit, and once at the end. That
 * the socket (there is none) refuses them is no matter. */
static void sending_within_a_turn_is_its_calls_time(void **state)
{
	struct transcode_fixture g;

	fixture_open(&g);
	for (int i = 0; i < TURNS; i++)
		turn(&g);
	assert_int_equal(g.w->nunsent, TURNS);
	transcode_flush(g.w);
	assert_int_equal(g.c->stream->account->count.send_failed,
			 TURNS * FRAMES);
	/* each turn's share is rounded down */
	assert_in_range(beside_the_codec(g.c), 2 * TICK - TURNS, 2 * TICK);
	fixture_close(&g);
}

/* What waits while a codec is at work leaves by others, who do not wait. */
static void packets_leave_while_a_codec_is_at_work(void **state)
{
	struct transcode_fixture g;

	fixture_open(&g);
	turn(&g);
	turn(&g);
	assert_false(transcoder_unposted(g.c));
	transcode_enter_codec(g.w);
	transcode_flush_for(g.w, g.other);
	assert_true(transcoder_unposted(g.c));
	assert_int_equal(g.c->stream->account->count.done, 2);
	assert_int_equal(g.c->stream->account->count.send_failed, 2 * FRAMES);
	assert_true(transcode_leave_codec(g.w)); /* and is none the wiser */
	turn(&g);
	assert_int_equal(g.w->nunsent, 1);
	transcode_flush(g.w);
	assert_int_equal(g.c->stream->account->count.done, 3);
	fixture_close(&g);
}

static void without_batching_every_turn_sends(void **state)
{
	struct transcode_fixture g;

	fixture_open(&g);
	turn(&g);
	transcode_batching(g.w, false, g.other); /* what waits leaves */
	assert_true(transcoder_unposted(g.c));
	for (unsigned i = 2; i <= 4; i++) {
		turn(&g);
		assert_true(transcoder_unposted(g.c));
		assert_int_equal(g.c->stream->account->count.done, i);
	}
	transcode_batching(g.w, true, g.other);
	turn(&g);
	assert_false(transcoder_unposted(g.c));
	transcode_flush(g.w);
	fixture_close(&g);
}

static void packets_are_taken_from_a_codec_alone(void **state)
{
	struct transcode_fixture g;

	fixture_open(&g);
	turn(&g);
	assert_false(transcode_take(g.w)); /* between turns */
	transcode_enter_codec(g.w);
	assert_true(transcode_take(g.w));
	assert_false(transcode_take(g.w)); /* once */
	transcode_rescue(g.w, NULL, g.other);
	assert_int_equal(g.c->stream->account->count.done, 1);
	assert_false(transcode_leave_codec(g.w));
	assert_false(transcode_take(g.w));
	fixture_close(&g);
}

/* A frame that is shed takes no logical time: the next one has its place. */
static void what_is_shed_takes_no_time_from_what_is_served(void **state)
{
	const cr_ns period = FRAMES * 20 * CR_MS;
	struct cr_frame_meta meta = { .arrival = CR_SEC }, dropped;
	struct core_task *t;
	struct cr_job job;
	struct transcode_fixture g;

	fixture_open(&g);
	t = &g.c->lt.core;
	for (unsigned i = 0; i < 3; i++)
		assert_false(frame_ring_push(g.c->ring, &meta, &dropped));
	assert_true(transcode_peek(t, &job));
	assert_int_equal(job.eligible, CR_SEC);
	assert_true(transcode_claim(t, job.seq)); /* and served */
	assert_true(transcode_peek(t, &job));
	assert_int_equal(job.eligible, CR_SEC + period);
	assert_true(transcode_claim(t, job.seq));
	transcode_drop(g.other, g.c, &job, CR_OUT_EXPIRED, 2 * CR_SEC);
	assert_true(transcode_peek(t, &job));
	assert_int_equal(job.eligible, CR_SEC + period);
	assert_int_equal(job.deadline, CR_SEC + 2 * period);
	fixture_close(&g);
}

/* What a call's metered frames took, on average; how many there were. */
static unsigned metered(struct transcode_fixture *g, unsigned turns,
			unsigned *seen, cr_ns *mean)
{
	uint32_t ns[RECENT_TIMES];
	unsigned n = 0;
	cr_ns sum = 0;

	for (unsigned i = 0; i < turns; i++) {
		unsigned some;

		turn(g);
		transcode_flush(g->w);
		some = recent_take(&g->c->cost, seen, ns);
		for (unsigned k = 0; k < some; k++)
			sum += ns[k];
		n += some;
	}
	*mean = n ? sum / n : 0;
	return n;
}

static void a_busy_neighbour_makes_no_frame_dearer(void **state)
{
	cr_ns alone, beside, after;
	unsigned seen = 0;
	struct transcode_fixture g;

	fixture_open(&g);
	assert_int_equal(metered(&g, 100, &seen, &alone), 100);
	assert_in_range(alone, 1, TRANSCODE_COST_PICK + 20 * TICK);
	thief = 3 * CR_MS;
	assert_int_equal(metered(&g, 100, &seen, &beside), 100);
	thief = 0;
	assert_int_equal(metered(&g, 50, &seen, &after), 50);
	/* the time between pick and turn is bounded: here it is all there is */
	assert_in_range(beside, alone - 2 * TICK, alone + 2 * TICK);
	assert_int_equal(after, alone);
	fixture_close(&g);
}

static void later_frames_are_metered_now_and_then(void **state)
{
	unsigned seen = 0;
	struct transcode_fixture g;
	cr_ns mean;

	fixture_open(&g);
	assert_int_equal(metered(&g, TRANSCODE_COST_FIRST, &seen, &mean),
			 TRANSCODE_COST_FIRST);
	assert_int_equal(metered(&g, 10 * TRANSCODE_COST_EVERY, &seen, &mean),
			 10);
	fixture_close(&g);
}

/* Turns, one after the other. */
static unsigned metered_in_a_row(struct transcode_fixture *g, unsigned turns,
				 unsigned *seen)
{
	uint32_t ns[RECENT_TIMES];

	for (unsigned i = 0; i < turns; i++)
		turn(g);
	transcode_flush_for(g->w, g->other);
	return recent_take(&g->c->cost, seen, ns);
}

static void another_call(struct transcode_fixture *g)
{
	(void)transcode_row_next(&g->w->row, g->c->stream->cfg.id + 1);
}

static void of_a_row_the_first_frame_is_metered(void **state)
{
	unsigned seen = 0;
	struct transcode_fixture g;

	fixture_open(&g);
	/* no other call has emptied the caches */
	assert_int_equal(metered_in_a_row(&g, 5, &seen), 5);
	for (unsigned i = 0; i < 5; i++) {
		another_call(&g);
		assert_int_equal(metered_in_a_row(&g, 5, &seen), 1);
	}
	transcode_flush(g.w); /* nothing to do */
	assert_int_equal(metered_in_a_row(&g, 5, &seen), 5);
	/* alone at its worker it costs what it costs there */
	another_call(&g);
	assert_int_equal(metered_in_a_row(&g, TRANSCODE_COST_ROW + 3, &seen),
			 1 + 3);
	fixture_close(&g);
}

/* Calls with ports of their own, to a peer of their own each. */
enum { CALLS = 6, NO_PORT = 2, ROUNDS = 3 };

static void *flush_for(void *arg)
{
	struct transcode_fixture *g = arg;

	transcode_flush_for(g->w, g->other);
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
	struct transcoder *calls[CALLS];
	int peer[CALLS];
	struct sockaddr_storage at;
	struct transcode_fixture g;
	pthread_t other;

	fixture_open(&g);
	calls[0] = g.c;
	for (unsigned i = 0; i < CALLS; i++) {
		if (i)
			calls[i] = new_call(plain_call());
		calls[i]->stream->out.fd =
			i == NO_PORT ? 1 << 20 : loopback_socket(&at);
		peer[i] = loopback_socket(&at);
		destination_set(&calls[i]->own_destination, &at);
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

		assert_int_equal(calls[i]->stream->account->count.send_failed,
				 failed);
		assert_int_equal(calls[i]->stream->account->count.packets_out,
				 ROUNDS * FRAMES - failed);
		expect_sequence(peer[i], ROUNDS * FRAMES - failed);
		(void)close(calls[i]->stream->out.fd);
		(void)close(peer[i]);
		if (i)
			stream_free(calls[i]->stream);
	}
	g.c = calls[0];
	fixture_close(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sending_within_a_turn_is_its_calls_time),
		cmocka_unit_test(packets_leave_while_a_codec_is_at_work),
		cmocka_unit_test(without_batching_every_turn_sends),
		cmocka_unit_test(packets_are_taken_from_a_codec_alone),
		cmocka_unit_test(a_busy_neighbour_makes_no_frame_dearer),
		cmocka_unit_test(later_frames_are_metered_now_and_then),
		cmocka_unit_test(of_a_row_the_first_frame_is_metered),
		cmocka_unit_test(
			what_is_shed_takes_no_time_from_what_is_served),
		cmocka_unit_test(calls_with_ports_of_their_own_leave_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
