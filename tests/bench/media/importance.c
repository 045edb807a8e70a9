/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What it costs a receiver to rate a packet of 20 ms, ns, best of several
 * rounds: one thread, warm caches. Not run by ctest.
 */
#include <stdio.h>

#include "base/clock.h"
#include "media/importance.h"

#define ROUNDS 20u
#define TURNS 100000u
#define PACKETS 64u

static uint8_t packet[PACKETS][320];
static struct importance_amr past;
static unsigned sink; /* what was computed was wanted */

static void measure(const char *name, const struct codec_use *cfg, size_t n)
{
	cr_ns best = CR_NEVER;

	for (unsigned k = 0; k < ROUNDS; k++) {
		cr_ns start = clock_now(), took;

		for (unsigned i = 0; i < TURNS; i++)
			sink += importance_of(&past, cfg, packet[i % PACKETS],
					      n);
		took = clock_now() - start;
		best = took < best ? took : best;
	}
	(void)printf("%-24s %7.1f ns\n", name, (double)best / TURNS);
}

int main(void)
{
	const struct codec_use ulaw = { .kind = PAYLOAD_PCMU };
	const struct codec_use alaw = { .kind = PAYLOAD_PCMA };
	const struct codec_use l16 = { .kind = PAYLOAD_L16 };
	const struct codec_use amr = { .kind = PAYLOAD_AMR,
				       .amr.octet_align = true };

	for (unsigned i = 0; i < PACKETS; i++)
		for (unsigned k = 0; k < sizeof(packet[0]); k++)
			packet[i][k] = (uint8_t)(i * 31 + k * k * 7);
	measure("pcmu, 160 octets", &ulaw, 160);
	measure("pcma, 160 octets", &alaw, 160);
	measure("l16, 160 octets", &l16, 160);
	measure("l16, 320 octets", &l16, 320);
	for (unsigned i = 0; i < PACKETS; i++) {
		packet[i][0] = 0xf0;
		packet[i][1] = 7 << 3 | 4;
	}
	measure("amr 12.2, 33 octets", &amr, 33);
	return sink == 1;
}
