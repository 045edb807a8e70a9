/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread sends, another one reports: a report never has the packets of one
 * moment and the octets of another, nor a timestamp of one packet and the time
 * of another.
 */
#include "cmocka_cr.h"

#include <pthread.h>

#include "rtp/rtcp_session.h"
#include "seed.h"

enum { OCTETS = 160, TICKS = 160, FRAMES = 50000 };

#define FRAME (20 * CR_MS)

struct sender {
	struct rtcp_sent sent;
	atomic_bool stop;
};

/* The same thousand seconds of speech again and again. */
static void *send_all(void *arg)
{
	struct sender *s = arg;

	for (uint32_t i = 0; !atomic_load(&s->stop); i = (i + 1) % FRAMES)
		rtcp_sent_rtp(&s->sent, OCTETS, i * TICKS, i * FRAME);
	return NULL;
}

/* Timestamps are 8 ticks to a ms, so that of @now follows from any packet; the
 * two times are rounded to 1024 ns. */
static void check(const struct rtcp_packet *p, cr_ns now)
{
	assert_int_equal(p->type, RTCP_SR);
	assert_int_equal(p->sender.octets, p->sender.packets * OCTETS);
	assert_in_range(p->sender.rtp_ts - (uint32_t)(now * 8 / CR_MS) + 2, 0,
			4);
}

static void words_are_of_one_packet(void **state)
{
	struct sender s = { .stop = false };
	const struct rtcp_session_config cfg = { .seed = test_seed(),
						 .ssrc = 1,
						 .cname = "x",
						 .rate_in = 8000,
						 .rate_out = 8000,
						 .interval = CR_MS,
						 .sent = &s.sent };
	struct rtcp_session session;
	uint8_t buf[RTCP_BUILD_BYTES];
	pthread_t thread;
	uint32_t last = 0;

	assert_int_equal(rtcp_session_init(&session, &cfg, 0), 0);
	assert_int_equal(pthread_create(&thread, NULL, send_all, &s), 0);
	for (unsigned reports = 0; reports < TEST_TRIES(20000);) {
		cr_ns now = rtcp_due(&session);
		size_t n = rtcp_build(&session, buf, now, now);
		struct rtcp_reader r;
		struct rtcp_packet p;

		/* timestamps reach half an hour from the last packet's time */
		if (now > FRAMES * FRAME)
			assert_int_equal(rtcp_session_init(&session, &cfg, 0),
					 0);
		if (!n)
			continue;
		assert_int_equal(rtcp_open(&r, buf, n), 0);
		assert_true(rtcp_next(&r, &p));
		/* the sender has begun, and goes on */
		if (p.type != RTCP_SR || p.sender.packets == last)
			continue;
		last = p.sender.packets;
		check(&p, now);
		reports++;
	}
	atomic_store(&s.stop, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_of_one_packet),
	};

	return cmocka_run_group_tests_name("rtcp_sent", tests, NULL, NULL);
}
