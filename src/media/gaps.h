/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gaps between the frames that a worker gets: packets that the network, a
 * full ring or a scheduler has lost. Sequence numbers say how many; timestamps
 * say how long.
 *
 * Pure; one thread at a time.
 */
#ifndef MEDIA_GAPS_H
#define MEDIA_GAPS_H

#include <stdbool.h>
#include <stdint.h>

/** More in a row is no loss: the sender was away. */
#define GAPS_MAX 3000u

/** Zero: nothing has come. */
struct gaps {
	bool known;
	uint16_t seq;
	uint32_t ts;
};

/** What is missing. */
struct gap {
	unsigned packets;
	/** Their speech, in RTP's clock: behind the packet before, and up to
	 * the one that has come, unless that one begins after a pause. */
	uint32_t units;
};

/**
 * Packet @seq with @ts has come, of a sender whose packets are @step units
 * long: the one before was, or that was agreed. Of n missing ones, behind a
 * packet that is @ts less the last one's before, each is 1 / (n + 1) of that
 * long; but no longer than @step: the rest is a pause.
 */
static inline struct gap gaps_packet(struct gaps *g, uint16_t seq, uint32_t ts,
				     uint32_t step)
{
	struct gap gap = { .packets = (uint16_t)(seq - g->seq - 1) };
	uint32_t apart = ts - g->ts;

	if (!g->known || gap.packets > GAPS_MAX || apart > INT32_MAX)
		gap.packets = 0;
	if (gap.packets) {
		uint32_t each = apart / (gap.packets + 1);

		gap.units = gap.packets * (each < step ? each : step);
	}
	*g = (struct gaps){ .known = true, .seq = seq, .ts = ts };
	return gap;
}

/** Another sender begins, or numbers say nothing: the next one is the first. */
static inline void gaps_again(struct gaps *g)
{
	g->known = false;
}

#endif
