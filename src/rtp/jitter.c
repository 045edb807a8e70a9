/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A jitter buffer: what comes, what waits, and what is played of it when.
 *
 * A packet that comes: is it the source's next, another source's, late, or far
 * off; and what does it say about the network. The packets that wait are a
 * table by sequence number. How long they wait is playout.c's.
 *
 *   idle: not playing, nothing waits
 *     | packet
 *     v
 *   begins: not playing, packets wait
 *     | the oldest is due
 *     v
 *   plays: behind each packet comes the time of the next one. When that is
 *     | due, and nothing is there for it: conceal it, or
 *     v
 *   pauses: idle, or begins if packets wait behind the pause
 *
 * Time that was played, concealed or dropped is over; packets for it are late.
 */
#include "rtp/jitter.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/counter.h"
#include "cr/time.h"
#include "rtp/playout.h"

/* --- timestamps as times --- */

/*
 * RTP timestamps as times: which moment a timestamp stands for, if the sender's
 * clock ran like ours and its packets took no time. Exact for any length of a
 * call: the origin moves along by whole seconds.
 *
 * Pure; one thread at a time.
 */

struct timeline {
	uint32_t clock; /**< Hz, 1000..384000                              */
	int64_t newest; /**< extended timestamp that others are near to     */
	int64_t origin; /**< extended timestamp that stands for @at         */
	cr_ns at;
};

/** The extended form of @ts: the one that is nearest to the newest. */
static inline int64_t timeline_extend(const struct timeline *t, uint32_t ts)
{
	return t->newest + (int32_t)(ts - (uint32_t)t->newest);
}

/** The duration of @rtp_ticks (less than 2^32) of the clock, ns. */
static inline cr_ns timeline_ns(const struct timeline *t, int64_t rtp_ticks)
{
	return rtp_ticks * CR_SEC / t->clock;
}

/** The time that the extended timestamp @ts, near to the newest, stands for. */
static inline cr_ns timeline_at(const struct timeline *t, int64_t ts)
{
	return t->at + timeline_ns(t, ts - t->origin);
}

/** @ts has been accepted: it may be the newest. */
static inline void timeline_advance(struct timeline *t, int64_t ts)
{
	const int64_t minute = 60 * (int64_t)t->clock;

	if (ts <= t->newest)
		return;
	t->newest = ts;
	while (t->newest - t->origin > 2 * minute) {
		t->origin += minute;
		t->at += 60 * CR_SEC;
	}
}

/* --- packets that wait --- */

/*
 * The packets that wait in a jitter buffer, in the order of their sequence
 * numbers. Each has its place by its number, so that nothing is sorted or
 * searched: at most JITTER_SLOTS_MAX numbers lie between the oldest and the
 * newest.
 *
 * Pure; one thread at a time.
 */

struct jitter_slot {
	uint64_t seq; /**< extended                                       */
	int64_t ts;   /**< extended; rises with @seq                      */
	cr_ns at;     /**< the time of @ts, see struct timeline */
	cr_ns arrival;
	cr_ns latest; /**< to be played by then; rises with @seq, too       */
	uint32_t duration; /**< units of the clock; 0: not known             */
	uint32_t shift;	   /**< of @ts from the packet's own                 */
	uint16_t bytes;
	uint8_t pt, tag;
	bool marker, silent;
	bool aux; /**< no speech: its @ts is in no order                  */
};

/** Zero, then `slots` and `stride`. */
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

/** Does @seq have a place, without one for an older packet in its way? */
static inline bool jitter_slots_fit(const struct jitter_slots *s, uint64_t seq)
{
	return !s->used || seq <= s->oldest || seq - s->oldest < s->slots;
}

/** Is @seq too far behind the newest to have a place? */
static inline bool jitter_slots_behind(const struct jitter_slots *s,
				       uint64_t seq)
{
	return s->used && seq < s->newest && s->newest - seq >= s->slots;
}

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

/** The oldest packet of speech, or NULL. */
static const struct jitter_slot *jitter_slots_speech(
	const struct jitter_slots *s)
{
	uint64_t speech = s->used & ~s->aux;

	if (!speech)
		return NULL;
	speech = used_from(s, speech, s->oldest);
	return jitter_slot_of(s, s->oldest + (unsigned)__builtin_ctzll(speech));
}

/** The packets of speech, or of any (@all), next to where @seq, which does not
 * wait, would be; NULL: none. @seq is not behind. */
static void jitter_slots_neighbours(const struct jitter_slots *s, uint64_t seq,
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

/** The place of @seq, which does not wait, fits and is not behind: fill it and
 * its payload. @aux: it is no speech. */
static struct jitter_slot *jitter_slots_add(struct jitter_slots *s,
					    uint64_t seq, bool aux)
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

/** Take the oldest packet out. Its slot stays as it is until the next
 * jitter_slots_add(). */
static void jitter_slots_drop(struct jitter_slots *s)
{
	uint64_t bit = UINT64_C(1) << (s->oldest & (s->slots - 1));

	s->used &= ~bit;
	s->aux &= ~bit;
	if (s->used)
		s->oldest += (unsigned)__builtin_ctzll(
			used_from(s, s->used, s->oldest));
}

/* --- the buffer --- */

/** The source's time that is played next. */
struct head {
	bool playing;
	bool any;     /**< speech is over: what follows is known           */
	bool counted; /**< something is over, speech or not: @seq is known */
	uint64_t seq; /**< of the last packet that is over               */
	int64_t over; /**< timestamps up to this one are over            */
	int64_t ts;   /**< what stands next, if playing                      */
	cr_ns at;     /**< the time of that                                  */
	bool silent;  /**< what was played last, or no speech            */
	unsigned concealed; /**< since the last packet: how often           */
	cr_ns last_at;	    /**< the time of what came out last, */
	cr_ns last_due;	    /**< and when that was due */
	cr_ns concealed_ns; /**< in a row, packets that were dropped aside  */
};

/** A packet far off, until the next one proves it right. */
struct proof {
	bool waits;
	uint16_t seq; /**< of the next one                                  */
	cr_ns transit;
};

struct jitter {
	struct jitter_cfg cfg;
	struct rtp_source source;
	struct rtp_source before; /**< the latest packet */
	bool heard;	/**< @ssrc is known                                 */
	bool started;	/**< @line and @playout are known                   */
	bool restarted; /**< nothing has been played since                  */
	uint32_t ssrc;
	uint32_t duration; /**< of a packet, units of the clock; learned    */
	cr_ns duration_ns; /**< the same                                   */
	uint32_t step;	   /**< the last distance of two timestamps; 0: not
				one that may be a packet's time             */
	uint64_t last;	   /**< the packet that came last                   */
	bool last_silent;
	struct timeline line;
	struct head head;
	struct proof proof;
	struct jitter_slots slots;
	struct jitter_counts count;
	struct playout playout;
};

/** The duration of @s as far as it is known, units of the clock. */
static inline uint32_t jitter_duration(const struct jitter *j,
				       const struct jitter_slot *s)
{
	return s->duration ? s->duration : j->duration;
}

/** A packet without speech takes no time, and may come after its turn. */
static inline void jitter_pass_aux(struct jitter *j,
				   const struct jitter_slot *s)
{
	struct head *h = &j->head;

	if (h->counted && s->seq <= h->seq)
		return;
	h->counted = true;
	h->seq = s->seq;
	h->concealed = 0;
	h->silent = true;
}

/** @s has been played or dropped. */
static inline void jitter_pass(struct jitter *j, const struct jitter_slot *s)
{
	uint32_t duration = jitter_duration(j, s);

	j->head = (struct head){
		.playing = j->head.playing,
		.any = true,
		.counted = true,
		.seq = s->seq,
		.over = s->ts,
		.ts = s->ts + duration,
		.at = s->at + timeline_ns(&j->line, duration),
		.silent = s->silent,
		.last_at = j->head.last_at,
		.last_due = j->head.last_due,
		.concealed_ns = j->head.concealed_ns,
	};
}

/** The packet in @s. */
static inline struct jitter_output jitter_packet(const struct jitter *j,
						 const struct jitter_slot *s)
{
	return (struct jitter_output){
		.ts = (uint32_t)s->ts,
		.duration = jitter_duration(j, s),
		.payload = jitter_slot_payload(&j->slots, s->seq),
		.bytes = s->bytes,
		.pt = s->pt,
		.tag = s->tag,
		.seq = (uint16_t)s->seq,
		.shift = s->shift,
		.marker = s->marker,
		.silent = s->silent,
		.aux = s->aux,
		.arrival = s->arrival,
	};
}

/* --- packets that come --- */

/* A packet so much slower than the fastest one is no slow packet: the sender's
 * timestamps have jumped, or the network stood still. */
#define FAR_LATE (2 * CR_SEC)

/* As much faster, or `most` if that is more. */
#define FAR_EARLY (200 * CR_MS)

/* A packet's time until two of them show it: so long that the next packet comes
 * before it is missed. */
#define FIRST_DURATION (60 * CR_MS)

/* Distances of timestamps that may be a packet's time. */
#define DURATION_MIN (5 * CR_MS / 2)
#define DURATION_MAX (125 * CR_MS)

static void report_gone(struct jitter *j, const struct jitter_slot *s)
{
	struct jitter_output packet = jitter_packet(j, s);

	if (s->aux) {
		packet.restart = j->restarted;
		j->restarted = false;
	}
	if (j->cfg.gone)
		j->cfg.gone(j->cfg.arg, &packet);
}

static void discard_waiting(struct jitter *j)
{
	const struct jitter_slot *oldest;

	while ((oldest = jitter_slots_oldest(&j->slots))) {
		report_gone(j, oldest);
		jitter_slots_drop(&j->slots);
		counter_add(&j->count.discarded, 1);
	}
	j->head = (struct head){ .any = false };
	j->proof.waits = false;
}

void jitter_reset(struct jitter *j)
{
	discard_waiting(j);
	memset(&j->source, 0, sizeof(j->source));
	j->heard = j->started = false;
	j->restarted = true;
}

static enum jitter_put refuse_packet(struct jitter *j, enum jitter_put why)
{
	switch (why) {
	case JITTER_TOO_BIG:
		counter_add(&j->count.too_big, 1);
		break;
	case JITTER_OUT_OF_RANGE:
		counter_add(&j->count.out_of_range, 1);
		break;
	case JITTER_DUPLICATE:
		counter_add(&j->count.duplicates, 1);
		break;
	default:
		counter_add(&j->count.late, 1);
	}
	return why;
}

static void set_duration(struct jitter *j, uint32_t rtp_ticks)
{
	j->duration = rtp_ticks;
	j->duration_ns = timeline_ns(&j->line, rtp_ticks);
	playout_packets(&j->playout, j->duration_ns);
}

/* Of the buffer's time. */
static uint32_t place_of_input(const struct jitter_input *in)
{
	return in->rtp->ts + in->shift;
}

static bool is_buffer_idle(const struct jitter *j)
{
	return !j->head.playing && !(j->slots.used & ~j->slots.aux);
}

/* Neither of these is a slow or a fast packet. Where the timestamp goes on and
 * the sequence goes back, or the other way, one of them is not what it was. */
static bool is_far_off(const struct jitter *j, cr_ns transit, int64_t ts,
		       uint64_t seq)
{
	cr_ns behind = transit - j->playout.floor;
	cr_ns early = is_buffer_idle(j) ? FAR_LATE
					: cr_ns_max(FAR_EARLY, j->cfg.most);

	return behind > FAR_LATE || behind < -early ||
	       (seq > j->last && ts < j->line.newest) ||
	       (seq < j->last && ts > j->line.newest);
}

/* A packet far off counts if the next one in sequence is as far. */
static bool is_proved(struct jitter *j, uint16_t seq, cr_ns transit)
{
	struct proof *p = &j->proof;
	bool proved = p->waits && seq == p->seq &&
		      llabs(transit - p->transit) < FAR_LATE;

	*p = (struct proof){ true, (uint16_t)(seq + 1u), transit };
	return proved;
}

static bool is_behind_head(const struct jitter *j, uint64_t seq)
{
	return j->head.counted && seq <= j->head.seq;
}

/* Timestamps must rise with sequence numbers. */
static bool is_in_order(const struct jitter *j, uint64_t seq, int64_t ts)
{
	const struct jitter_slot *before, *after;

	jitter_slots_neighbours(&j->slots, seq, false, &before, &after);
	return (!before || before->ts < ts) && (!after || ts < after->ts);
}

static void note_transit(struct jitter *j, const struct jitter_input *in,
			 cr_ns transit)
{
	struct playout *p = &j->playout;

	if (is_buffer_idle(j) && (transit > p->floor + j->cfg.most ||
				  transit < p->floor - FAR_EARLY))
		playout_begin(p, transit, in->arrival);
	else
		playout_add(p, transit, in->arrival,
			    is_buffer_idle(j) ? PLAYOUT_PAUSES
			    : in->silent      ? PLAYOUT_SILENT
					      : PLAYOUT_SPEAKS);
}

/* A packet's time is what it says itself. Or else the distance of two, if it is
 * shorter than we knew, or comes twice in a row. Behind silence there may be
 * packets that were not sent. */
static void learn_duration(struct jitter *j, const struct jitter_input *in,
			   uint64_t seq, int64_t ts)
{
	int64_t step = in->duration ? in->duration : ts - j->line.newest;
	cr_ns time = timeline_ns(&j->line, step);
	bool known = in->duration || step == j->step || step < j->duration;

	if (time < DURATION_MIN || time > DURATION_MAX)
		return;
	if (!in->duration && (seq != j->last + 1 || j->last_silent))
		return;
	if (known && step != j->duration)
		set_duration(j, (uint32_t)step);
	j->step = (uint32_t)step;
}

/* Dropped are the oldest, for room, and what is older than the largest delay:
 * it was held up, and came all at once. That the next packet is waited for may
 * take @each more. */
static bool drop_for_room(struct jitter *j, uint64_t seq, cr_ns at, cr_ns each)
{
	cr_ns most = j->cfg.most + each;
	const struct jitter_slot *oldest;
	bool dropped = false;

	while ((oldest = jitter_slots_oldest(&j->slots)) && oldest->seq < seq &&
	       (!jitter_slots_fit(&j->slots, seq) || at - oldest->at > most)) {
		report_gone(j, oldest);
		if (oldest->aux)
			jitter_pass_aux(j, oldest);
		else
			jitter_pass(j, oldest);
		jitter_slots_drop(&j->slots);
		counter_add(&j->count.overflow, 1);
		dropped = true;
	}
	return dropped;
}

static void keep_packet(struct jitter *j, const struct jitter_input *in,
			uint64_t seq, int64_t ts, cr_ns at)
{
	/* its turn is not waited for if that is over, or not known */
	bool now = in->aux && (!j->started || is_behind_head(j, seq));
	const struct rtp_packet *p = in->rtp;
	const struct jitter_slot *before, *after;
	struct jitter_slot *s;

	jitter_slots_neighbours(&j->slots, seq, true, &before, &after);
	s = jitter_slots_add(&j->slots, seq, in->aux);
	s->ts = ts;
	s->at = at;
	s->arrival = in->arrival;
	s->latest = in->arrival + (now ? 0 : j->cfg.most);
	if (after)
		s->latest = cr_ns_min(s->latest, after->latest);
	s->duration = in->duration <= j->cfg.clock ? in->duration : 0;
	s->shift = in->shift;
	s->bytes = (uint16_t)p->payload_bytes;
	s->pt = p->pt;
	s->tag = in->tag;
	s->marker = p->marker;
	s->silent = in->silent;
	memcpy(jitter_slot_payload(&j->slots, seq), p->payload,
	       p->payload_bytes);
}

/* The place of @ts, which is in no order, among the speech around it. */
static int64_t place_between(const struct jitter *j, uint64_t seq, int64_t ts)
{
	const struct jitter_slot *before, *after;

	jitter_slots_neighbours(&j->slots, seq, false, &before, &after);
	if (before && ts < before->ts)
		ts = before->ts;
	else if (!before && j->head.any && ts < j->head.over)
		ts = j->head.over;
	return after && ts > after->ts ? after->ts : ts;
}

/* A packet beside speech; nothing is known of the time of one that comes before
 * any speech. */
static enum jitter_put take_jitter_aux(struct jitter *j,
				       const struct jitter_input *in,
				       uint64_t seq)
{
	int64_t ts = place_of_input(in);
	cr_ns at = in->arrival;
	bool dropped;

	if (jitter_slots_behind(&j->slots, seq))
		return refuse_packet(j, JITTER_LATE);
	if (j->started) {
		ts = timeline_extend(&j->line, place_of_input(in));
		at = timeline_at(&j->line, place_between(j, seq, ts));
	}
	dropped = drop_for_room(j, seq, at, j->duration_ns);
	keep_packet(j, in, seq, ts, at);
	return dropped ? JITTER_OVERFLOW : JITTER_TAKEN;
}

/* The extended number of a packet that the source has just taken. */
static uint64_t extend_seq(const struct rtp_source *s, uint16_t seq)
{
	return s->ext - (uint16_t)((uint16_t)s->ext - seq);
}

/* The first speech of a source, or what comes before that. */
static enum jitter_put take_first(struct jitter *j,
				  const struct jitter_input *in)
{
	uint64_t seq = extend_seq(&j->source, in->rtp->seq);

	if (in->aux)
		return take_jitter_aux(j, in, seq);
	if (is_behind_head(j, seq))
		return refuse_packet(j, JITTER_LATE);
	/* its source is played as soon as the delay allows */
	j->line.clock = j->cfg.clock;
	j->line.newest = j->line.origin = place_of_input(in);
	j->line.at = in->arrival;
	playout_begin(&j->playout, 0, in->arrival);
	set_duration(j, (uint32_t)(FIRST_DURATION * j->cfg.clock / CR_SEC));
	j->step = 0;
	j->last = seq;
	j->last_silent = in->silent;
	j->started = true;
	learn_duration(j, in, seq, place_of_input(in));
	keep_packet(j, in, seq, place_of_input(in), in->arrival);
	return JITTER_TAKEN;
}

static enum jitter_put restart_source(struct jitter *j,
				      const struct jitter_input *in)
{
	discard_waiting(j);
	memset(&j->source, 0, sizeof(j->source));
	(void)rtp_source_update(&j->source, in->rtp->seq);
	j->started = false;
	j->restarted = true;
	(void)take_first(j, in);
	counter_add(&j->count.restarts, 1);
	return JITTER_RESTART;
}

/* Its sequence number is not the source's, either: that one may yet come. */
static enum jitter_put refuse_sequence(struct jitter *j)
{
	j->source = j->before;
	return refuse_packet(j, JITTER_OUT_OF_RANGE);
}

/* A packet that is no duplicate. */
static enum jitter_put take_speech(struct jitter *j,
				   const struct jitter_input *in, uint64_t seq)
{
	int64_t ts = timeline_extend(&j->line, place_of_input(in));
	cr_ns at = timeline_at(&j->line, ts);
	cr_ns transit = in->arrival - at, each = j->duration_ns;
	const struct head *h = &j->head;
	bool dropped;

	if (is_far_off(j, transit, ts, seq)) {
		if (is_proved(j, in->rtp->seq, transit) || is_buffer_idle(j))
			return restart_source(j, in);
		return refuse_sequence(j);
	}
	j->proof.waits = false;
	/* it counts, whatever becomes of it */
	learn_duration(j, in, seq, ts);
	if (seq > j->last) {
		j->last = seq;
		j->last_silent = in->silent;
		timeline_advance(&j->line, ts);
	}
	if (is_behind_head(j, seq) || (h->any && ts <= h->over) ||
	    jitter_slots_behind(&j->slots, seq)) {
		note_transit(j, in, transit);
		return refuse_packet(j, JITTER_LATE);
	}
	if (!is_in_order(j, seq, ts))
		return refuse_sequence(j);
	note_transit(j, in, transit);
	dropped = drop_for_room(j, seq, at, cr_ns_max(each, j->duration_ns));
	keep_packet(j, in, seq, ts, at);
	return dropped ? JITTER_OVERFLOW : JITTER_TAKEN;
}

/* A packet that the source takes; @again: another one than before. */
static enum jitter_put accept_packet(struct jitter *j,
				     const struct jitter_input *in, bool again)
{
	uint64_t seq = extend_seq(&j->source, in->rtp->seq);

	if (j->cfg.kind == JITTER_OFF) {
		counter_add(&j->count.out, 1);
		counter_add(&j->count.restarts, again);
		return again ? JITTER_RESTART : JITTER_TAKEN;
	}
	if (again)
		return restart_source(j, in);
	if (j->started)
		return in->aux ? take_jitter_aux(j, in, seq)
			       : take_speech(j, in, seq);
	return take_first(j, in);
}

enum jitter_put jitter_put(struct jitter *j, const struct jitter_input *in)
{
	const struct rtp_packet *p = in->rtp;
	bool again = j->heard && p->ssrc != j->ssrc;

	counter_add(&j->count.put, 1);
	if (j->cfg.kind != JITTER_OFF && p->payload_bytes > j->cfg.slot_bytes)
		return refuse_packet(j, JITTER_TOO_BIG);
	if (again)
		jitter_reset(j);
	j->heard = true;
	j->ssrc = p->ssrc;
	j->before = j->source;
	switch (rtp_source_update(&j->source, p->seq)) {
	case RTP_NEW:
		return accept_packet(j, in, again);
	case RTP_RESTART:
		return accept_packet(j, in, true);
	case RTP_REORDERED:
		if (j->cfg.kind == JITTER_OFF)
			return refuse_packet(j, JITTER_LATE);
		return accept_packet(j, in, false);
	case RTP_DUPLICATE:
		return refuse_packet(j, JITTER_DUPLICATE);
	case RTP_OUT_OF_RANGE:
		break;
	}
	return refuse_packet(j, JITTER_OUT_OF_RANGE);
}

const char *const jitter_kinds[] = { "off", "fixed", "adaptive", NULL };

/* --- open, close --- */

static int check_jitter_cfg(const struct jitter_cfg *c, struct cr_err *e)
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

static unsigned jitter_power_of_two(unsigned n)
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

/* Bytes of memory that a buffer of @c takes. */
static size_t jitter_bytes(const struct jitter_cfg *c)
{
	size_t slots = jitter_power_of_two(c->slots);

	if (c->kind == JITTER_OFF)
		return sizeof(struct jitter);
	return sizeof(struct jitter) + slots * sizeof(struct jitter_slot) +
	       slots * stride_of(c);
}

int jitter_open(struct jitter **out, const struct jitter_cfg *cfg,
		struct cr_err *e)
{
	int rc = check_jitter_cfg(cfg, e);
	struct jitter *j;

	if (rc)
		return rc;
	j = calloc(1, jitter_bytes(cfg));
	if (!j)
		return cr_fail(e, -ENOMEM, "no memory for a jitter buffer");
	j->cfg = *cfg;
	j->restarted = true;
	if (cfg->kind != JITTER_OFF) {
		j->slots.slots = jitter_power_of_two(cfg->slots);
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

/* When the oldest packet is to be played. When many are due at once, they are
 * played twice as fast as they were spoken, and not in a burst. */
static cr_ns due_of(const struct jitter *j, const struct jitter_slot *s)
{
	const struct head *h = &j->head;
	cr_ns due = s->at + j->playout.offset;
	cr_ns step = cr_ns_min(s->at - h->last_at, j->duration_ns) / 2;

	if (h->any)
		due = cr_ns_max(due, h->last_due + step);
	return cr_ns_min(due, s->latest);
}

/* Packets that are missing in front of @s and not concealed. */
static bool is_missing(const struct jitter *j, const struct jitter_slot *s)
{
	return s->seq > j->head.seq + 1 + j->head.concealed;
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

/* Is time in front of @speech, the oldest packet of that, next? A lost packet
 * may have been a bit shorter. */
static bool is_gap(const struct jitter *j, const struct jitter_slot *speech)
{
	int64_t room = j->duration;

	if (!j->head.playing || !speech)
		return j->head.playing;
	if (is_missing(j, speech))
		room /= 2;
	return speech->ts - j->head.ts >= room;
}

/* Of @s, which is the oldest packet, and no speech. */
static cr_ns due_aux(const struct jitter *j, const struct jitter_slot *s,
		     const struct jitter_slot *speech)
{
	cr_ns due = cr_ns_min(s->latest, speech ? due_of(j, speech) : CR_NEVER);

	if (is_gap(j, speech) && is_missing(j, s))
		return due; /* the missing one may yet come, or is concealed */
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

/* The oldest packet, @s. */
static enum jitter_next play_packet(struct jitter *j,
				    const struct jitter_slot *s, cr_ns now,
				    cr_ns due, struct jitter_output *out)
{
	const struct head *h = &j->head;

	*out = jitter_packet(j, s);
	out->due = due;
	out->restart = j->restarted;
	out->missing = h->counted && s->seq > h->seq
			       ? (unsigned)(s->seq - h->seq - 1)
			       : 0;
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
	counter_add(&j->count.out, 1);
	counter_add(&j->count.wait_ns, (unsigned long long)out->wait);
	return JITTER_PLAY;
}

/* The part of the next packet's time that is to be concealed; 0: nothing. So it
 * is before a packet's time is known: what is concealed beyond the next
 * packet's beginning would put that, and all behind it, off. */
static uint32_t to_conceal(const struct jitter *j,
			   const struct jitter_slot *speech)
{
	const struct jitter_slot *s = jitter_slots_oldest(&j->slots);
	const struct head *h = &j->head;
	int64_t most = JITTER_CONCEAL_MAX * j->cfg.clock / CR_SEC;
	int64_t rtp_ticks = j->duration;

	if (!j->step || h->silent || (s && !is_missing(j, s)))
		return 0;
	if (speech && speech->ts - h->ts < rtp_ticks)
		rtp_ticks = speech->ts - h->ts;
	if (!h->concealed_ns && rtp_ticks > most)
		rtp_ticks = most;
	if (h->concealed_ns + timeline_ns(&j->line, rtp_ticks) >
	    JITTER_CONCEAL_MAX)
		return 0;
	return (uint32_t)rtp_ticks;
}

static enum jitter_next conceal_packet(struct jitter *j, uint32_t rtp_ticks)
{
	cr_ns time = timeline_ns(&j->line, rtp_ticks);
	struct head *h = &j->head;

	h->concealed++;
	h->concealed_ns += time;
	h->last_at = h->at;
	h->last_due = due_of_gap(j);
	h->over = h->ts + rtp_ticks / 2;
	h->ts += rtp_ticks;
	h->at += time;
	counter_add(&j->count.concealed, 1);
	return JITTER_CONCEAL;
}

static enum jitter_next pause_playing(struct jitter *j, cr_ns now,
				      const struct jitter_slot *s)
{
	j->head.playing = false;
	if (s)
		playout_pause(&j->playout, now - s->at);
	counter_add(&j->count.pauses, 1);
	return JITTER_PAUSE;
}

enum jitter_next jitter_next(struct jitter *j, cr_ns now,
			     struct jitter_output *out)
{
	const struct jitter_slot *s = jitter_slots_oldest(&j->slots);
	const struct jitter_slot *speech = jitter_slots_speech(&j->slots);
	cr_ns due = due_of_oldest(j, speech);

	if (s && s->aux && due <= now)
		return play_packet(j, s, now, due, out);
	if (is_gap(j, speech) && due_of_gap(j) <= now) {
		uint32_t rtp_ticks = to_conceal(j, speech);

		*out = (struct jitter_output){ 0 };
		if (rtp_ticks && speech && speech->ts == j->head.ts + rtp_ticks)
			*out = jitter_packet(j, speech);
		out->ts = (uint32_t)j->head.ts;
		out->duration = rtp_ticks;
		out->due = due_of_gap(j);
		return rtp_ticks ? conceal_packet(j, rtp_ticks)
				 : pause_playing(j, now, speech);
	}
	return s && due <= now ? play_packet(j, s, now, due, out)
			       : JITTER_NOTHING;
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
