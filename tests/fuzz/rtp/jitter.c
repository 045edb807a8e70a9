/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any packets at any times into a jitter buffer: what its header promises
 * holds (tests/support/jitter_watch.h).
 *
 * Input: octet 0: bit 0 adaptive, bit 1 a caller who comes late, bits 2 and 3
 * the clock; octet 1: most, 10 ms each, from 10 ms; octet 2: least, 256ths of
 * most; octet 3: slots. Then steps of 8 octets: time that passes (2 octets,
 * 100 us each), what (1 octet: bit 0 silent, bit 1 another SSRC, bit 2 the
 * duration is told, bit 3 reset, bit 4 any timestamp, bit 5 beside speech),
 * sequence number less the last one (1 octet, signed; -128: any number),
 * timestamp less the last one (4 octets, signed; without bit 4 a 65536th of
 * it).
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/assert.h"
#include "jitter_watch.h"

#define HEAD 4u
#define STEP 8u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct jitter_watch w;

static void open_as(const uint8_t *p)
{
	static const uint32_t clocks[] = { 8000, 16000, 48000, 44100 };
	cr_ns most = cr_ns_min((1 + p[1]) * 10 * CR_MS, JITTER_MOST_MAX);
	const struct jitter_cfg cfg = {
		.kind = p[0] & 1 ? JITTER_ADAPTIVE : JITTER_FIXED,
		.most = most,
		.least = most * p[2] / 256,
		.clock = clocks[p[0] >> 2 & 3],
		.slots = 2 + p[3] % 63,
	};

	watch_open(&w, &cfg);
	w.exact = !(p[0] & 2);
}

static void reset(void)
{
	jitter_reset(w.j);
	w.restart = true;
	w.any = w.paused = w.numbered = false;
}

static void step(const uint8_t *p, struct watch_packet *packet)
{
	uint32_t ts = (uint32_t)p[4] << 24 | (uint32_t)p[5] << 16 |
		      (uint32_t)p[6] << 8 | p[7];
	int8_t seq = (int8_t)p[3];

	packet->at += (p[0] << 8 | p[1]) * 100 * CR_US;
	packet->silent = p[2] & 1;
	packet->ssrc = p[2] & 2;
	packet->aux = p[2] & 32;
	packet->duration = p[2] & 4 ? ts >> 16 : 0;
	packet->ts += p[2] & 16 ? ts : (uint32_t)((int32_t)ts / 65536);
	packet->seq =
		(uint16_t)(packet->seq + (seq == -128 ? 257 * p[2] : seq));
	if (p[2] & 8)
		reset();
	watch_until(&w, packet->at);
	(void)watch_put(&w, packet);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct watch_packet packet = { .ts = 1000 };

	if (size < HEAD)
		return 0;
	open_as(data);
	for (size_t at = HEAD; at + STEP <= size && w.n < WATCH_PACKETS;
	     at += STEP)
		step(data + at, &packet);
	watch_until(&w, packet.at + 3 * CR_SEC);
	if (w.broken)
		(void)fprintf(stderr, "broken: %s\n", w.broken);
	CR_ASSERT(!w.broken);
	CR_ASSERT(!jitter_waiting(w.j));
	watch_close(&w);
	return 0;
}
