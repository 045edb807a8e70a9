/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a packet costs in a jitter buffer, ns: jitter_put(), jitter_due() and
 * jitter_next(), best of several rounds, one thread. First one buffer in warm
 * caches, then 1,000 by turns, as a receiver has them. Not run by ctest.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/random.h"
#include "rtp/jitter.h"

#define ROUNDS 10u
#define PACKETS 200000u
#define BUFFERS 1000u
#define PTIME (20 * CR_MS)
#define BYTES 160u

static const uint8_t speech[BYTES];
static uint64_t sink; /* what was computed was wanted */

struct jitter_stream {
	struct jitter *j;
	uint16_t seq;
	uint32_t ts;
	cr_ns at; /* when the next packet is sent */
};

static void drain(struct jitter_stream *s, cr_ns until)
{
	struct jitter_output out;
	cr_ns due;

	while ((due = jitter_due(s->j)) <= until)
		if (jitter_next(s->j, due, &out) == JITTER_PLAY)
			sink += out.payload[0] + out.bytes;
}

static void one_packet(struct jitter_stream *s, cr_ns delay)
{
	const struct rtp_packet p = { .seq = s->seq++,
				      .ts = s->ts,
				      .payload = speech,
				      .payload_bytes = BYTES };
	const struct jitter_input in = { .rtp = &p, .arrival = s->at + delay };

	s->ts += 160;
	s->at += PTIME;
	drain(s, in.arrival);
	sink += (uint64_t)(jitter_put(s->j, &in) + 10);
}

static struct jitter *open_as(enum jitter_kind kind)
{
	const struct jitter_cfg cfg = { .kind = kind,
					.least = 20 * CR_MS,
					.most = 200 * CR_MS,
					.clock = 8000,
					.slots = 16,
					.slot_bytes = 172 };
	struct jitter *j = NULL;

	CR_ASSERT(!jitter_open(&j, &cfg, NULL));
	return j;
}

static double measure(struct jitter_stream *s, unsigned streams)
{
	uint64_t random = 1;
	cr_ns best = CR_NEVER;

	for (unsigned round = 0; round < ROUNDS; round++) {
		cr_ns start = clock_thread_cpu();

		for (unsigned i = 0; i < PACKETS; i++)
			one_packet(&s[i % streams],
				   (cr_ns)(splitmix64(&random) % (10 * CR_MS)));
		best = cr_ns_min(best, clock_thread_cpu() - start);
	}
	return (double)best / PACKETS;
}

static void bench(enum jitter_kind kind, unsigned streams)
{
	static struct jitter_stream s[BUFFERS];

	for (unsigned i = 0; i < streams; i++)
		s[i] = (struct jitter_stream){ .j = open_as(kind) };
	printf("%-8s %4u buffers %7.1f ns\n", jitter_kinds[kind], streams,
	       measure(s, streams));
	for (unsigned i = 0; i < streams; i++)
		jitter_close(s[i].j);
}

int main(void)
{
	for (unsigned kind = JITTER_OFF; kind <= JITTER_ADAPTIVE; kind++) {
		bench((enum jitter_kind)kind, 1);
		bench((enum jitter_kind)kind, BUFFERS);
	}
	return sink == 0;
}
