/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A relay of telephone events for tests: time passes, packets come, and what
 * was sent is kept.
 */
#ifndef TESTS_TELEPHONE_EVENT_FIXTURE_H
#define TESTS_TELEPHONE_EVENT_FIXTURE_H

#include "cmocka_cr.h"

#include <string.h>

#include "rtp/telephone_event.h"

/** The first timestamp of the output. */
#define BASE_OUT 1000000u

/* A relay with all that it sent. */
struct relay_fixture {
	struct telephone_event_relay relay;
	struct telephone_event_packet sent[4096];
	unsigned n;
	cr_ns now;
	uint32_t base_in;
};

static struct relay_fixture relayed;

static inline void start(unsigned clock_in, unsigned clock_out)
{
	const struct telephone_event_cfg cfg =
		telephone_event_defaults(clock_in, clock_out);

	memset(&relayed, 0, sizeof(relayed));
	assert_int_equal(telephone_event_relay_init(&relayed.relay, &cfg), 0);
}

static inline void take(const struct telephone_event_burst *burst)
{
	assert_true(burst->n <= TELEPHONE_EVENT_BURST_MAX);
	assert_true(relayed.n + burst->n <= 4096);
	memcpy(relayed.sent + relayed.n, burst->packets,
	       burst->n * sizeof(burst->packets[0]));
	relayed.n += burst->n;
}

/* @ms pass; the relay is polled each time that it wants to be. */
static inline void pass(unsigned ms)
{
	cr_ns until = relayed.now + ms * CR_MS;
	struct telephone_event_burst burst;

	while (telephone_event_relay_due(&relayed.relay) <= until) {
		relayed.now = telephone_event_relay_due(&relayed.relay);
		telephone_event_relay_poll(&relayed.relay, relayed.now, &burst);
		take(&burst);
	}
	relayed.now = until;
}

static inline void come_bytes(uint32_t ts, bool marker, const uint8_t *payload,
			      size_t bytes)
{
	const struct telephone_event_arrival in = {
		.payload = payload,
		.bytes = bytes,
		.ts = ts,
		.marker = marker,
		.ts_out =
			BASE_OUT + (uint32_t)((uint64_t)(ts - relayed.base_in) *
					      relayed.relay.cfg.clock_out /
					      relayed.relay.cfg.clock_in),
	};
	struct telephone_event_burst burst;

	telephone_event_relay_packet(&relayed.relay, relayed.now, &in, &burst);
	take(&burst);
}

static inline void come(uint32_t ts, bool marker, uint8_t code, bool end,
			uint16_t duration)
{
	const struct telephone_event event = {
		.code = code, .end = end, .volume = 10, .duration = duration
	};
	uint8_t payload[TELEPHONE_EVENT_BYTES];

	assert_int_equal(telephone_event_build(payload, &event), 4);
	come_bytes(ts, marker, payload, sizeof(payload));
}

/* Packet @i that was sent is this one. */
static inline void expect(unsigned i, uint32_t ts, bool marker, uint8_t code,
			  bool end, uint16_t duration)
{
	struct telephone_event e;

	assert_true(i < relayed.n);
	assert_int_equal(telephone_event_parse(relayed.sent[i].payload, 4, &e),
			 0);
	assert_int_equal(relayed.sent[i].ts, ts);
	assert_int_equal(relayed.sent[i].marker, marker);
	assert_int_equal(e.code, code);
	assert_int_equal(e.end, end);
	assert_int_equal(e.duration, duration);
}

/* Everything that came is accounted for, and so is everything that went. */
static inline void sums(void)
{
	const struct telephone_event_counts *c = &relayed.relay.counts;

	assert_int_equal(c->records,
			 c->relayed + c->repeated + c->late + c->unwanted);
	assert_int_equal(relayed.n, c->relayed + c->made);
	assert_int_equal(c->begun, c->ended + relayed.relay.active);
}

#endif
