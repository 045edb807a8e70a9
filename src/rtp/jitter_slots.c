/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which slots are in use is a word of bits, rotated so that the oldest packet's
 * is bit 0: then the next one is the lowest bit that is set.
 */
#include "rtp/jitter_slots.h"

/* Bit i: the packet numbered @from + i waits. */
static uint64_t used_from(const struct jitter_slots *s, uint64_t from)
{
	unsigned by = (unsigned)(from & (s->slots - 1));
	uint64_t all =
		s->slots < 64 ? (UINT64_C(1) << s->slots) - 1 : UINT64_MAX;

	if (!by)
		return s->used;
	return (s->used >> by | s->used << (s->slots - by)) & all;
}

void jitter_slots_neighbours(const struct jitter_slots *s, uint64_t seq,
			     const struct jitter_slot **before,
			     const struct jitter_slot **after)
{
	uint64_t used, below;
	unsigned place;

	*before = *after = NULL;
	if (!s->used)
		return;
	if (seq < s->oldest) {
		*after = jitter_slot_of(s, s->oldest);
		return;
	}
	if (seq > s->newest) {
		*before = jitter_slot_of(s, s->newest);
		return;
	}
	used = used_from(s, s->oldest);
	place = (unsigned)(seq - s->oldest);
	below = used & ((UINT64_C(1) << place) - 1);
	*before = jitter_slot_of(s, s->oldest + 63 -
					    (unsigned)__builtin_clzll(below));
	*after = jitter_slot_of(s,
				seq + (unsigned)__builtin_ctzll(used >> place));
}

struct jitter_slot *jitter_slots_add(struct jitter_slots *s, uint64_t seq)
{
	struct jitter_slot *slot = jitter_slot_of(s, seq);

	if (!s->used)
		s->oldest = s->newest = seq;
	else if (seq < s->oldest)
		s->oldest = seq;
	else if (seq > s->newest)
		s->newest = seq;
	s->used |= UINT64_C(1) << (seq & (s->slots - 1));
	slot->seq = seq;
	return slot;
}

void jitter_slots_drop(struct jitter_slots *s)
{
	s->used &= ~(UINT64_C(1) << (s->oldest & (s->slots - 1)));
	if (s->used)
		s->oldest += (unsigned)__builtin_ctzll(used_from(s, s->oldest));
}
