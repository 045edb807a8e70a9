/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A jitter buffer's life, and what comes out of it when. What goes in is
 * jitter_put.c's.
 */
#include <errno.h>
#include <stdlib.h>

#include "rtp/jitter_state.h"

const char *const jitter_kinds[] = { "off", "fixed", "adaptive", NULL };

/* --- open, close --- */

static int check(const struct jitter_cfg *c, struct cr_err *e)
{
	if ((unsigned)c->kind > JITTER_ADAPTIVE)
		return cr_fail(e, -EINVAL, "kind=%d: is none", (int)c->kind);
	if (c->kind == JITTER_OFF)
		return 0;
	if (c->most < JITTER_MOST_MIN || c->most > JITTER_MOST_MAX)
		return cr_fail(e, -EINVAL, "most=%lld: use %lld to %lld ns",
			       (long long)c->most, (long long)JITTER_MOST_MIN,
			       (long long)JITTER_MOST_MAX);
	if (c->least < 0 || c->least > c->most)
		return cr_fail(e, -EINVAL, "least=%lld: use 0 to most=%lld ns",
			       (long long)c->least, (long long)c->most);
	if (c->clock < JITTER_CLOCK_MIN || c->clock > JITTER_CLOCK_MAX)
		return cr_fail(e, -EINVAL, "clock=%u: use %u to %u", c->clock,
			       JITTER_CLOCK_MIN, JITTER_CLOCK_MAX);
	if (c->slots < 2 || c->slots > JITTER_SLOTS_MAX)
		return cr_fail(e, -EINVAL, "slots=%u: use 2 to %u", c->slots,
			       JITTER_SLOTS_MAX);
	if (!c->slot_bytes || c->slot_bytes > JITTER_SLOT_BYTES_MAX)
		return cr_fail(e, -EINVAL, "slot_bytes=%u: use 1 to %u",
			       c->slot_bytes, JITTER_SLOT_BYTES_MAX);
	return 0;
}

static unsigned power_of_two(unsigned n)
{
	unsigned p = 2;

	while (p < n)
		p *= 2;
	return p;
}

/* Of a payload's place. */
static unsigned stride_of(const struct jitter_cfg *c)
{
	return (c->slot_bytes + 15) / 16 * 16;
}

size_t jitter_bytes(const struct jitter_cfg *c)
{
	size_t slots = power_of_two(c->slots);

	if (c->kind == JITTER_OFF)
		return sizeof(struct jitter);
	return sizeof(struct jitter) + slots * sizeof(struct jitter_slot) +
	       slots * stride_of(c);
}

int jitter_open(struct jitter **out, const struct jitter_cfg *cfg,
		struct cr_err *e)
{
	int rc = check(cfg, e);
	struct jitter *j;

	if (rc)
		return rc;
	j = calloc(1, jitter_bytes(cfg));
	if (!j)
		return cr_fail(e, -ENOMEM, "no memory for a jitter buffer");
	j->cfg = *cfg;
	j->restarted = true;
	if (cfg->kind != JITTER_OFF) {
		j->slots.slots = power_of_two(cfg->slots);
		j->slots.stride = stride_of(cfg);
		j->slots.slot = (struct jitter_slot *)(void *)(j + 1);
		j->slots.payload = (uint8_t *)(j->slots.slot + j->slots.slots);
		playout_init(&j->playout, cfg->kind == JITTER_ADAPTIVE,
			     cfg->least, cfg->most);
	}
	*out = j;
	return 0;
}

void jitter_close(struct jitter *j)
{
	free(j);
}

/* --- next --- */

/* When the oldest packet may be played: when many are due at once, they are
 * played twice as fast as they were spoken, and not in a burst. */
static cr_ns earliest_of(const struct jitter *j, const struct jitter_slot *s)
{
	const struct head *h = &j->head;

	if (!h->any)
		return s->at + j->playout.offset;
	return h->last_due + cr_ns_min(s->at - h->last_at, j->duration_ns) / 2;
}

static cr_ns due_of(const struct jitter *j, const struct jitter_slot *s)
{
	cr_ns due = cr_ns_max(s->at + j->playout.offset, earliest_of(j, s));

	return cr_ns_min(due, s->latest);
}

/* Packets that are missing in front of @s and not concealed. */
static bool is_missing(const struct jitter *j, const struct jitter_slot *s)
{
	return s->seq > j->head.seq + 1 + j->head.concealed;
}

/* Whether @s, the oldest packet, comes next: or else there is time in front of
 * it. A lost packet may have been a bit shorter. */
static bool is_next(const struct jitter *j, const struct jitter_slot *s)
{
	int64_t room = j->duration;

	if (!j->head.playing)
		return true;
	return s->ts - j->head.ts < (is_missing(j, s) ? room / 2 : room);
}

/* Of a buffer that is all but full the next packet, behind some that are lost,
 * would drop the oldest: what stands next is played when that became so.
 * CR_NEVER: there is room. */
static cr_ns due_for_room(const struct jitter *j)
{
	const struct jitter_slots *s = &j->slots;

	return s->used && !jitter_slots_fit(s, s->newest + s->slots / 4)
		       ? jitter_slot_of(s, s->newest)->arrival
		       : CR_NEVER;
}

/* Of what is to be played and has not come. */
static cr_ns due_of_gap(const struct jitter *j)
{
	return cr_ns_min(j->head.at + j->playout.offset, due_for_room(j));
}

/* Whether time in front of @speech, the oldest packet of that, is next. */
static bool is_gap(const struct jitter *j, const struct jitter_slot *speech)
{
	return j->head.playing && !(speech && is_next(j, speech));
}

/* Of @s, which is the oldest packet, and no speech. */
static cr_ns due_aux(const struct jitter *j, const struct jitter_slot *s,
		     const struct jitter_slot *speech)
{
	cr_ns due = cr_ns_min(s->latest, speech ? due_of(j, speech) : CR_NEVER);

	if (is_gap(j, speech) && is_missing(j, s))
		return due; /* what is missing may yet come, or is concealed */
	return cr_ns_min(due, s->at + j->playout.offset);
}

/* CR_NEVER: nothing waits. */
static cr_ns due_of_oldest(const struct jitter *j,
			   const struct jitter_slot *speech)
{
	const struct jitter_slot *s = jitter_slots_oldest(&j->slots);

	if (!s)
		return CR_NEVER;
	return cr_ns_min(s->aux ? due_aux(j, s, speech) : due_of(j, s),
			 due_for_room(j));
}

static unsigned missing_before(const struct jitter *j,
			       const struct jitter_slot *s)
{
	const struct head *h = &j->head;

	return h->counted && s->seq > h->seq ? (unsigned)(s->seq - h->seq - 1)
					     : 0;
}

/* The oldest packet, @s. */
static enum jitter_next play(struct jitter *j, const struct jitter_slot *s,
			     cr_ns now, cr_ns due, struct jitter_output *out)
{
	*out = jitter_packet(j, s);
	out->due = due;
	out->restart = j->restarted;
	out->missing = missing_before(j, s);
	out->wait = cr_ns_max(now - s->arrival, 0);
	j->restarted = false;
	if (s->aux) {
		jitter_pass_aux(j, s);
	} else {
		j->head.playing = true;
		j->head.last_at = s->at;
		j->head.last_due = due;
		jitter_pass(j, s);
		j->head.concealed_ns = 0;
	}
	jitter_slots_drop(&j->slots);
	jitter_count(&j->count.out, 1);
	jitter_count(&j->count.wait_ns, (unsigned long long)out->wait);
	return JITTER_PLAY;
}

/* How much of the next packet's time is to be concealed; 0: nothing. So it is
 * before a packet's time is known: what is concealed beyond the next packet's
 * beginning would put that, and all behind it, off. */
static uint32_t to_conceal(const struct jitter *j,
			   const struct jitter_slot *speech)
{
	const struct jitter_slot *s = jitter_slots_oldest(&j->slots);
	const struct head *h = &j->head;
	int64_t most = JITTER_CONCEAL_MAX * j->cfg.clock / CR_SEC;
	int64_t units = j->duration;

	if (!j->step || h->silent || (s && !is_missing(j, s)))
		return 0;
	if (speech && speech->ts - h->ts < units)
		units = speech->ts - h->ts;
	if (!h->concealed_ns && units > most)
		units = most;
	if (h->concealed_ns + timeline_ns(&j->line, units) > JITTER_CONCEAL_MAX)
		return 0;
	return (uint32_t)units;
}

static enum jitter_next conceal(struct jitter *j, uint32_t units)
{
	cr_ns time = timeline_ns(&j->line, units);
	struct head *h = &j->head;

	h->concealed++;
	h->concealed_ns += time;
	h->last_at = h->at;
	h->last_due = due_of_gap(j);
	h->over = h->ts + units / 2;
	h->ts += units;
	h->at += time;
	jitter_count(&j->count.concealed, 1);
	return JITTER_CONCEAL;
}

static enum jitter_next pause_playing(struct jitter *j, cr_ns now,
				      const struct jitter_slot *s)
{
	j->head.playing = false;
	if (s)
		playout_pause(&j->playout, now - s->at);
	jitter_count(&j->count.pauses, 1);
	return JITTER_PAUSE;
}

/* Nothing has come for what is to be played now. */
static enum jitter_next bridge(struct jitter *j, cr_ns now,
			       const struct jitter_slot *speech,
			       struct jitter_output *out)
{
	uint32_t units = to_conceal(j, speech);

	*out = (struct jitter_output){ 0 };
	if (units && speech && speech->ts == j->head.ts + units)
		*out = jitter_packet(j, speech);
	out->ts = (uint32_t)j->head.ts;
	out->duration = units;
	out->due = due_of_gap(j);
	return units ? conceal(j, units) : pause_playing(j, now, speech);
}

enum jitter_next jitter_next(struct jitter *j, cr_ns now,
			     struct jitter_output *out)
{
	const struct jitter_slot *s = jitter_slots_oldest(&j->slots);
	const struct jitter_slot *speech = jitter_slots_speech(&j->slots);
	cr_ns due = due_of_oldest(j, speech);

	if (s && s->aux && due <= now)
		return play(j, s, now, due, out);
	if (is_gap(j, speech) && due_of_gap(j) <= now)
		return bridge(j, now, speech, out);
	return s && due <= now ? play(j, s, now, due, out) : JITTER_NOTHING;
}

cr_ns jitter_due(const struct jitter *j)
{
	const struct jitter_slot *speech = jitter_slots_speech(&j->slots);
	cr_ns due = due_of_oldest(j, speech);

	return is_gap(j, speech) ? cr_ns_min(due, due_of_gap(j)) : due;
}

/* --- what is known of it --- */

unsigned jitter_waiting(const struct jitter *j)
{
	return (unsigned)__builtin_popcountll(j->slots.used);
}

cr_ns jitter_delay(const struct jitter *j)
{
	return j->started ? j->playout.offset - j->playout.floor : 0;
}

const struct jitter_counts *jitter_counts(const struct jitter *j)
{
	return &j->count;
}
