/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a frame costs on the wire side, ns each, best of several rounds: one
 * thread, warm caches; the ring between two CPUs costs more. Not run by ctest.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "media/frame_ring.h"
#include "media/payload.h"
#include "rtp/rtp.h"

#define ROUNDS 20u
#define TURNS 200000u
#define SLOTS 16u
#define FRAME 172u

static uint64_t sink; /* what was computed was wanted */

static void push_claim(void)
{
	static struct frame_ring *r;
	struct cr_frame_meta m = { .bytes = 32 }, lost;

	if (!r)
		r = frame_ring_new(SLOTS, FRAME);
	CR_ASSERT(r);
	for (unsigned i = 0; i < TURNS; i++) {
		const uint8_t *p;

		frame_ring_reserve(r)[0] = (uint8_t)i;
		(void)frame_ring_push(r, &m, &lost);
		CR_ASSERT(frame_ring_peek(r, &m));
		p = frame_ring_claim(r, m.seq, &m);
		CR_ASSERT(p);
		sink += p[0];
	}
}

static void push_full(void)
{
	static struct frame_ring *r;
	struct cr_frame_meta m = { .bytes = 32 }, lost;

	if (!r)
		r = frame_ring_new(SLOTS, FRAME);
	CR_ASSERT(r);
	for (unsigned i = 0; i < TURNS; i++)
		sink += frame_ring_push(r, &m, &lost);
}

static void parse_track(void)
{
	const struct rtp_packet h = { .pt = 97, .ssrc = 1 };
	uint8_t packet[RTP_HEADER_BYTES + 32] = { 0 };
	struct rtp_source s = { 0 };
	struct rtp_packet p;

	(void)rtp_build(packet, &h);
	for (unsigned i = 0; i < TURNS; i++) {
		packet[2] = (uint8_t)(i >> 8);
		packet[3] = (uint8_t)i;
		CR_ASSERT(!rtp_parse(packet, sizeof(packet), &p));
		sink += rtp_source_update(&s, p.seq) + p.payload_bytes;
	}
}

static void amr_round_trip(bool octet_align)
{
	const struct codec_use cfg = { .kind = PAYLOAD_AMR,
				       .amr.octet_align = octet_align };
	static struct cr_frame f;
	struct payload_iter it;
	uint8_t buf[64];

	f = (struct cr_frame){ .kind = CR_FRAME_SPEECH,
			       .mode = 7,
			       .bytes = 31 };
	for (unsigned i = 0; i < TURNS; i++) {
		int n;

		f.data[0] = (uint8_t)i;
		n = payload_pack(&cfg, PAYLOAD_NO_CMR, &f, 1, buf, sizeof(buf));
		CR_ASSERT(n > 0);
		CR_ASSERT(!payload_open(&cfg, buf, (size_t)n, &it));
		CR_ASSERT(payload_next(&it, &f));
		sink += f.data[30];
	}
}

static void amr_efficient(void)
{
	amr_round_trip(false);
}

static void amr_aligned(void)
{
	amr_round_trip(true);
}

static void measure(const char *name, void (*turns)(void))
{
	cr_ns best = CR_NEVER;

	for (unsigned i = 0; i < ROUNDS; i++) {
		cr_ns start = clock_thread_cpu();

		turns();
		best = cr_ns_min(best, clock_thread_cpu() - start);
	}
	printf("%-32s %7.1f ns\n", name, (double)best / TURNS);
}

int main(void)
{
	measure("ring: push, peek, claim", push_claim);
	measure("ring: push, dropping the oldest", push_full);
	measure("rtp: parse, sequence", parse_track);
	measure("amr 12.2 be: pack, open, next", amr_efficient);
	measure("amr 12.2 oa: pack, open, next", amr_aligned);
	return sink == 0;
}
