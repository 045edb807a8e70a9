/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entry for a codec that the parties of a conversation have, and this
 * node perhaps not: neither encoder nor decoder, and any clock that speech has
 * in RTP. It is in no list, for nothing but a relay can use it.
 */
#include "cr/codec.h"

/* Clocks of speech in RTP (RFC 3551 and later formats). */
static const unsigned clocks[] = { 8000,  12000, 16000, 24000, 32000,
				   44100, 48000, 90000, 0 };
/* Nobody here knows how long its packets are. */
static const cr_ns lengths[] = { 5 * CR_MS,  10 * CR_MS, 20 * CR_MS, 30 * CR_MS,
				 40 * CR_MS, 60 * CR_MS, 0 };
static const struct cr_codec_mode modes[] = { { .name = "-" } };

const struct cr_codec cr_codec_relayed = {
	.name = "relayed",
	.rtp_name = "",
	.help = "any codec that both parties have: passed on as it is",
	.static_pt = -1,
	.sample_rate = 8000,
	.rtp_clock = 8000,
	.samples = 160,
	.rates = clocks,
	.clock_is_rate = true,
	.lengths = lengths,
	.packing = CR_PACK_WHOLE,
	.frame_max = CR_FRAME_MAX,
	.modes = modes,
	.nmodes = 1,
};
