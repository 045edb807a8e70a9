/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The packets that wait in a jitter buffer, in the order of their sequence
 * numbers. Each has its place by its number, so that nothing is sorted or
 * searched: at most JITTER_SLOTS_MAX numbers lie between the oldest and the
 * newest.
 *
 * Pure; one thread at a time.
 */
#ifndef RTP_JITTER_SLOTS_H
#define RTP_JITTER_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cr/time.h"

struct jitter_slot {
	uint64_t seq; /**< extended                                       */
	int64_t ts;   /**< extended; rises with @seq                      */
	cr_ns at;     /**< what @ts stands for, see rtp/timeline.h         */
	cr_ns arrival;
	cr_ns latest; /**< to be played by then; rises with @seq, too       */
	uint32_t duration; /**< units of the clock; 0: not known             */
	uint32_t shift;	   /**< of @ts from the packet's own                 */
	uint16_t bytes;
	uint8_t pt, tag;
	bool marker, silent;
	bool aux; /**< no speech: its @ts is in no order                  */
};

/** Zero, then jitter_slots_init(). */
struct jitter_slots {
	unsigned slots;	 /**< a power of two, 2..64                       */
	unsigned stride; /**< bytes of a payload's place                  */
	uint64_t oldest; /**< sequence number; if one waits               */
	uint64_t newest; /**< as well                                     */
	uint64_t used;	 /**< bit i: slot i                               */
	uint64_t aux;	 /**< those of them that hold no speech           */
	struct jitter_slot *slot; /**< [slots], borrowed                    */
	uint8_t *payload;	  /**< [slots * stride], borrowed           */
};

static inline struct jitter_slot *jitter_slot_of(const struct jitter_slots *s,
						 uint64_t seq)
{
	return &s->slot[seq & (s->slots - 1)];
}

static inline uint8_t *jitter_slot_payload(const struct jitter_slots *s,
					   uint64_t seq)
{
	return s->payload + (seq & (s->slots - 1)) * (size_t)s->stride;
}

/** The oldest packet, or NULL. */
static inline struct jitter_slot *jitter_slots_oldest(
	const struct jitter_slots *s)
{
	return s->used ? jitter_slot_of(s, s->oldest) : NULL;
}

/** Whether speech waits. */
static inline bool jitter_slots_speak(const struct jitter_slots *s)
{
	return s->used & ~s->aux;
}

/** The oldest packet of speech, or NULL. */
const struct jitter_slot *jitter_slots_speech(const struct jitter_slots *s);

/** Whether @seq has a place, without one for an older packet in its way. */
static inline bool jitter_slots_fit(const struct jitter_slots *s, uint64_t seq)
{
	return !s->used || seq <= s->oldest || seq - s->oldest < s->slots;
}

/** Whether @seq is too far behind the newest to have a place. */
static inline bool jitter_slots_behind(const struct jitter_slots *s,
				       uint64_t seq)
{
	return s->used && seq < s->newest && s->newest - seq >= s->slots;
}

/** The packets of speech, or of any (@all), next to where @seq, which does not
 * wait, would be; NULL: none. @seq is not behind. */
void jitter_slots_neighbours(const struct jitter_slots *s, uint64_t seq,
			     bool all, const struct jitter_slot **before,
			     const struct jitter_slot **after);

/** The place of @seq, which does not wait, fits and is not behind: fill it and
 * its payload. @beside: it is no speech. */
struct jitter_slot *jitter_slots_add(struct jitter_slots *s, uint64_t seq,
				     bool aux);

/** Take the oldest packet out. Its slot stays as it is until the next
 * jitter_slots_add(). */
void jitter_slots_drop(struct jitter_slots *s);

#endif
