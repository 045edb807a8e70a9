/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as an RTP packet: never read outside them, and what was parsed can
 * be built again. The input is one packet; the bytes of its payload, two by
 * two, are then sequence numbers for a source.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "rtp/rtp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_rebuilt(const struct rtp_packet *p)
{
	const struct rtp_packet h = {
		.pt = p->pt,
		.marker = p->marker,
		.seq = p->seq,
		.ts = p->ts,
		.ssrc = p->ssrc,
	};
	uint8_t buf[RTP_HEADER_BYTES];
	struct rtp_packet again;

	CR_ASSERT(rtp_build(buf, &h) == sizeof(buf));
	CR_ASSERT(rtp_parse(buf, sizeof(buf), &again) == RTP_OK);
	CR_ASSERT(again.pt == p->pt && again.marker == p->marker);
	CR_ASSERT(again.seq == p->seq && again.ts == p->ts);
	CR_ASSERT(again.ssrc == p->ssrc && again.payload_bytes == 0);
}

/* Numbers far apart and near, so that gaps, duplicates and restarts occur. */
static void check_source(const struct rtp_packet *p)
{
	struct rtp_source s = { 0 };
	uint64_t updates = 0, newest = 0;

	for (size_t i = 0; i + 1 < p->payload_bytes; i += 2) {
		uint16_t seq =
			(uint16_t)(p->payload[i] << 8 | p->payload[i + 1]);

		(void)rtp_source_update(&s, seq);
		updates++;
		CR_ASSERT(s.received + s.duplicates + s.out_of_range ==
			  updates);
		CR_ASSERT(s.ext >= newest);
		newest = s.ext;
		CR_ASSERT(rtp_source_lost(&s) < updates * 70000);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rtp_packet p = { 0 };
	int reason = rtp_parse(data, size, &p);

	if (reason) {
		CR_ASSERT(reason < 0 && -reason < (int)RTP_NREASONS);
		return 0;
	}
	CR_ASSERT(p.payload >= data + RTP_HEADER_BYTES);
	CR_ASSERT(p.payload + p.payload_bytes <= data + size);
	check_rebuilt(&p);
	check_source(&p);
	return 0;
}
