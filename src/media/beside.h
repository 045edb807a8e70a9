/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Payload types of what travels among a party's speech: telephone events (RFC
 * 4733) and comfort noise (RFC 3389). 0 is none.
 *
 * A type that another one has replaced stands for the same as before, unless
 * its number stands for something else now: packets are on their way, and a
 * party may not have heard of the change (RFC 3264, 8.3.2).
 */
#ifndef MEDIA_BESIDE_H
#define MEDIA_BESIDE_H

#include "media/ring.h"

struct beside_types {
	uint8_t event, noise;
	uint8_t former_event, former_noise;
};

/** What packets of type @pt are; SPEECH: none of these. */
static inline enum cr_frame_what beside_what(struct beside_types t, uint8_t pt)
{
	if (!pt)
		return CR_RING_SPEECH;
	if (pt == t.event || pt == t.former_event)
		return CR_RING_EVENT;
	return pt == t.noise || pt == t.former_noise ? CR_RING_NOISE
						     : CR_RING_SPEECH;
}

#endif
