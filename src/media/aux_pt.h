/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Payload types of what travels among a party's speech: telephone events (RFC
 * 4733) and comfort noise (RFC 3389). 0 is none.
 *
 * A type that another one has replaced stands for the same as before, unless
 * its number stands for something else now: packets are on their way, and a
 * party may not have heard of the change (RFC 3264, 8.3.2).
 */
#ifndef MEDIA_AUX_PT_H
#define MEDIA_AUX_PT_H

#include "media/frame_ring.h"
#include "rtp/telephone_event.h"

struct aux_types {
	/** Those of now, then others where there is room; and their clocks,
	 * kHz. */
	uint8_t event[TELEPHONE_EVENT_TYPES], khz[TELEPHONE_EVENT_TYPES];
	uint8_t noise, former_noise;
};
_Static_assert(sizeof(struct aux_types) == 8, "it is one atomic word");

/** Which type of events @pt is, or TELEPHONE_EVENT_TYPES. */
static inline unsigned aux_event(struct aux_types t, uint8_t pt)
{
	unsigned i = 0;

	while (i < TELEPHONE_EVENT_TYPES && (!pt || t.event[i] != pt))
		i++;
	return i;
}

/** What packets of type @pt are; SPEECH: none of these. */
static inline enum cr_frame_what aux_what(struct aux_types t, uint8_t pt)
{
	if (!pt)
		return FRAME_RING_SPEECH;
	if (t.event[0] && aux_event(t, pt) < TELEPHONE_EVENT_TYPES)
		return FRAME_RING_EVENT;
	return pt == t.noise || pt == t.former_noise ? FRAME_RING_NOISE
						     : FRAME_RING_SPEECH;
}

#endif
