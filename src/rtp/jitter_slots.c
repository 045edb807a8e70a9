/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which slots are in use is a word of bits, rotated so that the oldest packet's
 * is bit 0: then the next one is the lowest bit that is set.
 */
#include "rtp/jitter_slots.h"

/* Bit i: the packet numbered @from + i is one of @used. */
static uint64_t used_from(const struct jitter_slots *s, uint64_t used,
			  uint64_t from)
{
	unsigned by = (unsigned)(from & (s->slots - 1));
	uint64_t all =
		s->slots < 64 ? (UINT64_C(1) << s->slots) - 1 : UINT64_MAX;

	if (!by)
		return used;
	return (used >> by | used << (s->slots - by)) & all;
}

const struct jitter_slot *jitter_slots_speech(const struct jitter_slots *s)
{
	uint64_t speech = s->used & ~s->aux;

	if (!speech)
		return NULL;
	speech = used_from(s, speech, s->oldest);
	return jitter_slot_of(s, s->oldest + (unsigned)__builtin_ctzll(speech));
}

void jitter_slots_neighbours(const struct jitter_slots *s, uint64_t seq,
			     bool all, const struct jitter_slot **before,
			     const struct jitter_slot **after)
{
	uint64_t used = all ? s->used : s->used & ~s->aux;
	uint64_t below = 0, above;

	used = s->used ? used_from(s, used, s->oldest) : 0;
	if (seq > s->newest)
		below = used;
	else if (seq > s->oldest)
		below = used & ((UINT64_C(1) << (seq - s->oldest)) - 1);
	above = used & ~below;
	*before = *after = NULL;
	if (below)
		*before = jitter_slot_of(
			s, s->oldest + 63 - (unsigned)__builtin_clzll(below));
	if (above)
		*after = jitter_slot_of(
			s, s->oldest + (unsigned)__builtin_ctzll(above));
}

struct jitter_slot *jitter_slots_add(struct jitter_slots *s, uint64_t seq,
				     bool aux)
{
	struct jitter_slot *slot = jitter_slot_of(s, seq);
	uint64_t bit = UINT64_C(1) << (seq & (s->slots - 1));

	if (!s->used)
		s->oldest = s->newest = seq;
	else if (seq < s->oldest)
		s->oldest = seq;
	else if (seq > s->newest)
		s->newest = seq;
	s->used |= bit;
	if (aux)
		s->aux |= bit;
	slot->seq = seq;
	slot->aux = aux;
	return slot;
}

void jitter_slots_drop(struct jitter_slots *s)
{
	uint64_t bit = UINT64_C(1) << (s->oldest & (s->slots - 1));

	s->used &= ~bit;
	s->aux &= ~bit;
	if (s->used)
		s->oldest += (unsigned)__builtin_ctzll(
			used_from(s, s->used, s->oldest));
}
