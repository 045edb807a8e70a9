/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What time brings of a stream in mode relay that is to transcode: nothing
 * before its next packet has told where the numbers go on.
 */
#include "cmocka_cr.h"

#include "media/endpoint.h"
#include "media/packet.h"
#include "rtp/comfort_noise.h"
#include "transcode_fixture.h"

#define NOISE_PT 13u

static struct transcoder *call_at(struct endpoint *in_endpoint)
{
	struct stream_cfg cfg = plain_call();

	cfg.release.period = cfg.terms.deadline = 20 * CR_MS;
	cfg.in_endpoint = in_endpoint;
	cfg.receive_stage.fill = RECEIVE_STAGE_FILL_SIGNALLED;
	cfg.receive_stage.pt_noise = NOISE_PT;
	return new_call(cfg);
}

/* The party is silent, and says so. */
static void falls_silent(struct transcoder *c, cr_ns at)
{
	static const uint8_t level[] = { 60 };
	const struct rtp_packet p = { .pt = NOISE_PT,
				      .seq = 1,
				      .payload = level,
				      .payload_bytes = sizeof(level) };
	const struct receive_stage_arrival in = { .what = FRAME_RING_NOISE,
						  .rtp = &p,
						  .at = at };

	assert_true(receive_stage_packet(c->receive_stage, &in) >= 0);
}

static void nothing_is_made_before_numbers_are_known(void **state)
{
	static struct endpoint endpoint;
	static struct packet_path path;
	struct wheel wheel;
	struct transcoder *c = call_at(&endpoint);
	cr_ns at = CR_SEC;

	wheel_init(&wheel, at);
	(void)endpoint_begin_polls(&endpoint, &wheel);
	endpoint_feed(&endpoint, c->stream);
	falls_silent(c, at);
	assert_int_equal(frame_ring_waiting(c->ring), 1);
	atomic_store(&c->stream->relays, true);
	assert_null(packet_poll(&path, &endpoint, at + 100 * CR_MS));
	assert_int_equal(frame_ring_waiting(c->ring), 1);
	atomic_store(&c->stream->relays, false);
	(void)packet_poll(&path, &endpoint, at + 100 * CR_MS);
	assert_int_equal(frame_ring_waiting(c->ring), 2);
	endpoint_end_polls(&endpoint);
	wheel_fini(&wheel);
	stream_free(c->stream);
}

/* The kernel stamps packets by the wall clock, which is set forth and back:
 * what waits meanwhile seems to have come earlier than what was read before. */
static void a_step_of_the_clock_is_no_flood(void **state)
{
	static const struct sockaddr_storage from = { .ss_family = AF_INET };
	static const cr_ns steps[] = { 0,	    CR_SEC, 10500 * CR_MS,
				       60 * CR_SEC, 0,	    10999 * CR_MS };
	enum { N_STEPS = sizeof(steps) / sizeof(*steps) };
	struct endpoint *endpoint = endpoint_new(&(struct endpoint_cfg){
		.fd = -1, .terms.mode = LEARN_IMMEDIATE });
	static struct packet_path path;
	uint8_t data[RTP_HEADER_BYTES + 160] = { 0 };
	struct rtp_packet h = { .ssrc = 1 };
	struct transcoder *c = call_at(endpoint);
	struct wheel wheel;
	cr_ns at = 100 * CR_SEC;

	wheel_init(&wheel, at);
	(void)endpoint_begin_polls(endpoint, &wheel);
	endpoint_feed(endpoint, c->stream);
	for (unsigned i = 0; i < N_STEPS; i++, at += 20 * CR_MS) {
		const struct intake_packet p = { .data = data,
						 .bytes = sizeof(data),
						 .from = &from,
						 .arrival = at - steps[i],
						 .read = at };

		h.seq = (uint16_t)i;
		h.ts = i * 160;
		(void)rtp_build(data, &h);
		(void)packet_take(&path, &p, endpoint);
	}
	assert_int_equal(atomic_load(&c->stream->account->count.surplus), 0);
	assert_int_equal(atomic_load(&c->stream->account->count.packets_in),
			 N_STEPS);
	endpoint_end_polls(endpoint);
	wheel_fini(&wheel);
	stream_free(c->stream);
	endpoint_free(endpoint);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_made_before_numbers_are_known),
		cmocka_unit_test(a_step_of_the_clock_is_no_flood),
	};

	return cmocka_run_group_tests_name("packet", tests, NULL, NULL);
}
