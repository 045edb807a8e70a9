/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A turn's account of its time. Every look at the clock takes a microsecond
 * here (the linker's --wrap), so times are exact.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <time.h>

#include "cmocka_cr.h"
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
			     .period = FRAMES * 20 * CR_MS,
			     .rel_deadline = FRAMES * 20 * CR_MS },
		.port_fd = -1,
		.ring_frames = 8,
	};
	struct cr_err e = { "" };
	struct call *c;

	cfg.to.ss_family = AF_INET;
	if (call_new(&c, &cfg, &e))
		fail_msg("%s", e.text);
	return c;
}

static cr_ns beside_the_codec(struct call *c)
{
	return (cr_ns)(atomic_load(&c->count.busy_ns) -
		       atomic_load(&c->count.codec_ns));
}

/* Once within a turn, when its packets no longer fit, and once at the end. That
 * the socket (there is none) refuses them is no matter. */
static void sending_within_a_turn_is_its_calls_time(void **state)
{
	static const uint8_t payload[FRAMES * FRAME];
	struct turn_worker *w = calloc(1, sizeof(*w));
	struct trace *trace;
	struct call *c = new_call();
	const struct live_run run = { .picked = 0 };

	(void)state;
	assert_non_null(w);
	assert_int_equal(trace_open(&trace, 1, 2), 0);
	w->trace = trace_ring(trace, 0);
	w->fd = -1;
	atomic_init(&w->batching, true);
	c->claimed = payload;
	c->meta.bytes = sizeof(payload);
	for (int i = 0; i < TURNS; i++, c->meta.rtp_ts += sizeof(payload))
		turn_run(w, c, &run);
	assert_int_equal(w->nunsent, TURNS);
	turn_flush(w);
	assert_int_equal(c->count.send_failed, TURNS * FRAMES);
	/* each turn's share is rounded down */
	assert_in_range(beside_the_codec(c), 2 * TICK - TURNS, 2 * TICK);
	assert_true(call_unposted(c));
	call_free(c);
	trace_close(trace);
	free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sending_within_a_turn_is_its_calls_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
