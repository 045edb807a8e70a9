/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any packets at any times into a receive stage: what its header promises holds
 * (tests/support/receive_stage_watch.h).
 *
 * Input: octet 0: bits 0 and 1 the buffer's kind, bits 2 and 3 what is filled,
 * bits 4 and 5 the payload format, bit 6 a caller who comes late; octet 1:
 * most, 10 ms each, from 10 ms; octet 2: least, 256ths of most. Then steps of 8
 * octets: time that passes (2 octets, 100 us each), what (1 octet: bits 0 to 2
 * the kind of packet, bit 3 the end of an event, bit 4 another SSRC, bit 5 any
 * timestamp), sequence number less the last one (1 octet, signed; -128: any
 * number), timestamp less the last one (4 octets, signed; without bit 5 a
 * 65536th of it; the last two are how long an event has lasted).
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "receive_stage_watch.h"

#define HEAD 3u
#define STEP 8u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct receive_stage_watch w;

static void open_as(const uint8_t *p)
{
	static const enum payload_kind kinds[] = { PAYLOAD_PCMU, PAYLOAD_AMR,
						   PAYLOAD_WHOLE,
						   PAYLOAD_PCMA };
	static const uint32_t clocks[] = { 8000, 8000, 48000, 8000 };
	cr_ns most = cr_ns_min((1 + p[1]) * 10 * CR_MS, JITTER_MOST_MAX);
	unsigned codec = p[0] >> 4 & 3;
	const struct receive_stage_cfg cfg = {
		.terms = { .jitter = (enum jitter_kind)((p[0] & 3) % 3),
			   .least = most * p[2] / 256,
			   .most = most,
			   .fill = (enum receive_stage_fill)((p[0] >> 2 & 3) %
							     3) },
		.clock = clocks[codec],
		.step = clocks[codec] / 50,
	};
	const struct codec_use payload = { .kind = kinds[codec],
					   .amr.octet_align = true,
					   .frame_bytes = FLOW_BYTES };

	flow_open(&w, &cfg, &payload);
	w.exact = !(p[0] & 64);
}

static void step(const uint8_t *p, struct flow_packet *packet)
{
	uint32_t ts = (uint32_t)p[4] << 24 | (uint32_t)p[5] << 16 |
		      (uint32_t)p[6] << 8 | p[7];
	int8_t seq = (int8_t)p[3];

	packet->at += (p[0] << 8 | p[1]) * 100 * CR_US;
	packet->kind = (enum flow_kind)((p[2] & 7) % FLOW_NKINDS);
	packet->end = p[2] & 8;
	packet->lasts = (uint16_t)(p[6] << 8 | p[7]);
	packet->ssrc = p[2] & 16;
	packet->ts += p[2] & 32 ? ts : (uint32_t)((int32_t)ts / 65536);
	packet->seq =
		(uint16_t)(packet->seq + (seq == -128 ? 257 * p[2] : seq));
	flow_until(&w, packet->at);
	flow_put(&w, packet);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct flow_packet packet = { .ts = 1000 };

	if (size < HEAD)
		return 0;
	open_as(data);
	for (size_t at = HEAD;
	     !w.broken && at + STEP <= size && w.n < FLOW_PACKETS; at += STEP)
		step(data + at, &packet);
	for (unsigned i = 0; i < 150; i++)
		flow_until(&w, w.now + 20 * CR_MS);
	flow_end(&w);
	if (w.broken)
		(void)fprintf(stderr, "broken: %s\n", w.broken);
	CR_ASSERT(!w.broken);
	flow_close(&w);
	return 0;
}
