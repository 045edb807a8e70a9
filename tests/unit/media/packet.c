/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What time brings of a call that stands behind a relay: nothing before its
 * first packet has told where the numbers of that go on.
 */
#include "cmocka_cr.h"

#include "media/endpoint.h"
#include "media/packet.h"
#include "media/relay.h"
#include "rtp/comfort_noise.h"
#include "transcode_fixture.h"

#define NOISE_PT 13u

static struct call *call_at(struct endpoint *in_endpoint)
{
	struct call_cfg cfg = plain_call();

	cfg.release.period = cfg.terms.deadline = 20 * CR_MS;
	cfg.in_endpoint = in_endpoint;
	cfg.receive_stage.fill = RECEIVE_STAGE_FILL_SIGNALLED;
	cfg.receive_stage.pt_noise = NOISE_PT;
	return new_call(cfg);
}

/* The party is silent, and says so. */
static void falls_silent(struct call *c, cr_ns at)
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
	static const struct relay before;
	struct wheel wheel;
	struct call *c = call_at(&endpoint);
	cr_ns at = CR_SEC;

	wheel_init(&wheel, at);
	(void)endpoint_begin_polls(&endpoint, &wheel);
	endpoint_listen(&endpoint, c);
	falls_silent(c, at);
	assert_int_equal(frame_ring_waiting(c->ring), 1);
	c->after = &before;
	assert_null(packet_poll(&path, &endpoint, at + 100 * CR_MS));
	assert_int_equal(frame_ring_waiting(c->ring), 1);
	c->after = NULL;
	(void)packet_poll(&path, &endpoint, at + 100 * CR_MS);
	assert_int_equal(frame_ring_waiting(c->ring), 2);
	endpoint_end_polls(&endpoint);
	wheel_fini(&wheel);
	call_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_made_before_numbers_are_known),
	};

	return cmocka_run_group_tests_name("packet", tests, NULL, NULL);
}
