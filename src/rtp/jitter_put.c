/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A packet comes to its jitter buffer: is it the source's next, another
 * source's, late, or far off; and what does it say about the network. What is
 * played is jitter.c's.
 */
#include <stdlib.h>
#include <string.h>

#include "rtp/jitter_state.h"

/* A packet so much slower than the fastest one is no slow packet: the sender's
 * timestamps have jumped, or the network stood still. */
#define FAR_LATE (2 * CR_SEC)

/* As much faster, or `most` if that is more. */
#define FAR_EARLY (200 * CR_MS)

/* A packet's time until two of them tell it: so long that the next packet comes
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

static void drop_oldest(struct jitter *j, const struct jitter_slot *oldest)
{
	report_gone(j, oldest);
	if (oldest->aux)
		jitter_pass_aux(j, oldest);
	else
		jitter_pass(j, oldest);
	jitter_slots_drop(&j->slots);
	jitter_count(&j->count.overflow, 1);
}

static void discard(struct jitter *j)
{
	const struct jitter_slot *oldest;

	while ((oldest = jitter_slots_oldest(&j->slots))) {
		report_gone(j, oldest);
		jitter_slots_drop(&j->slots);
		jitter_count(&j->count.discarded, 1);
	}
	j->head = (struct head){ .any = false };
	j->proof.waits = false;
}

void jitter_reset(struct jitter *j)
{
	discard(j);
	memset(&j->source, 0, sizeof(j->source));
	j->heard = j->started = false;
	j->restarted = true;
}

static enum jitter_put refuse(struct jitter *j, enum jitter_put why)
{
	switch (why) {
	case JITTER_TOO_BIG:
		jitter_count(&j->count.too_big, 1);
		break;
	case JITTER_STRAY:
		jitter_count(&j->count.strays, 1);
		break;
	case JITTER_DUPLICATE:
		jitter_count(&j->count.duplicates, 1);
		break;
	default:
		jitter_count(&j->count.late, 1);
	}
	return why;
}

static void set_duration(struct jitter *j, uint32_t units)
{
	j->duration = units;
	j->duration_ns = timeline_ns(&j->line, units);
	playout_packets(&j->playout, j->duration_ns);
}

/* Of the buffer's time. */
static uint32_t place_of(const struct jitter_input *in)
{
	return in->rtp->ts + in->shift;
}

/* A source begins with @in, played as soon as the delay allows. */
static void begin(struct jitter *j, const struct jitter_input *in, uint64_t seq)
{
	timeline_begin(&j->line, j->cfg.clock, place_of(in), in->arrival);
	playout_begin(&j->playout, 0, in->arrival);
	set_duration(j, (uint32_t)(FIRST_DURATION * j->cfg.clock / CR_SEC));
	j->step = 0;
	j->last = seq;
	j->last_silent = in->silent;
	j->started = true;
}

static bool is_idle(const struct jitter *j)
{
	return !j->head.playing && !jitter_slots_speak(&j->slots);
}

/* Neither of these is a slow or a fast packet. Where the timestamp goes on and
 * the sequence goes back, or the other way, one of them is not what it was. */
static bool is_far(const struct jitter *j, cr_ns transit, int64_t ts,
		   uint64_t seq)
{
	cr_ns behind = transit - j->playout.floor;
	cr_ns early = is_idle(j) ? FAR_LATE : cr_ns_max(FAR_EARLY, j->cfg.most);

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

static bool is_behind(const struct jitter *j, uint64_t seq)
{
	return j->head.counted && seq <= j->head.seq;
}

static bool is_over(const struct jitter *j, uint64_t seq, int64_t ts)
{
	const struct head *h = &j->head;

	return is_behind(j, seq) || (h->any && ts <= h->over) ||
	       jitter_slots_behind(&j->slots, seq);
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

	if (is_idle(j) && (transit > p->floor + j->cfg.most ||
			   transit < p->floor - FAR_EARLY))
		playout_begin(p, transit, in->arrival);
	else
		playout_add(p, transit, in->arrival,
			    is_idle(j)	 ? PLAYOUT_PAUSES
			    : in->silent ? PLAYOUT_SILENT
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

/* A packet that is not far off, whatever becomes of it. */
static void learn(struct jitter *j, const struct jitter_input *in, uint64_t seq,
		  int64_t ts)
{
	learn_duration(j, in, seq, ts);
	if (seq <= j->last)
		return;
	j->last = seq;
	j->last_silent = in->silent;
	timeline_advance(&j->line, ts);
}

/* Dropped are the oldest, for room, and what is older than the largest delay:
 * it was held up, and came all at once. That the next packet is waited for may
 * take @each more. */
static bool make_room(struct jitter *j, uint64_t seq, cr_ns at, cr_ns each)
{
	cr_ns most = j->cfg.most + each;
	const struct jitter_slot *oldest;
	bool dropped = false;

	while ((oldest = jitter_slots_oldest(&j->slots)) && oldest->seq < seq &&
	       (!jitter_slots_fit(&j->slots, seq) || at - oldest->at > most)) {
		drop_oldest(j, oldest);
		dropped = true;
	}
	return dropped;
}

/* When the packet behind @seq is to be played, if that has come already. */
static cr_ns latest_before(const struct jitter *j, uint64_t seq)
{
	const struct jitter_slot *before, *after;

	jitter_slots_neighbours(&j->slots, seq, true, &before, &after);
	return after ? after->latest : CR_NEVER;
}

/* Its turn is not waited for if that is over, or not known. */
static cr_ns latest_wait(const struct jitter *j, const struct jitter_input *in,
			 uint64_t seq)
{
	bool now = in->aux && (!j->started || is_behind(j, seq));

	return now ? 0 : j->cfg.most;
}

static void keep(struct jitter *j, const struct jitter_input *in, uint64_t seq,
		 int64_t ts, cr_ns at)
{
	cr_ns before = latest_before(j, seq);
	cr_ns latest = in->arrival + latest_wait(j, in, seq);
	struct jitter_slot *s = jitter_slots_add(&j->slots, seq, in->aux);
	const struct rtp_packet *p = in->rtp;

	s->ts = ts;
	s->at = at;
	s->arrival = in->arrival;
	s->latest = cr_ns_min(latest, before);
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

/* Where @ts, which is in no order, is among the speech around it. */
static int64_t between(const struct jitter *j, uint64_t seq, int64_t ts)
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
static enum jitter_put take_aux(struct jitter *j, const struct jitter_input *in,
				uint64_t seq)
{
	int64_t ts = place_of(in);
	cr_ns at = in->arrival;
	bool dropped;

	if (jitter_slots_behind(&j->slots, seq))
		return refuse(j, JITTER_LATE);
	if (j->started) {
		ts = timeline_extend(&j->line, place_of(in));
		at = timeline_at(&j->line, between(j, seq, ts));
	}
	dropped = make_room(j, seq, at, j->duration_ns);
	keep(j, in, seq, ts, at);
	return dropped ? JITTER_OVERFLOW : JITTER_TAKEN;
}

/* The extended number of a packet that the source has just taken. */
static uint64_t extended(const struct rtp_source *s, uint16_t seq)
{
	return s->ext - (uint16_t)((uint16_t)s->ext - seq);
}

/* The first speech of a source, or what comes before that. */
static enum jitter_put start(struct jitter *j, const struct jitter_input *in)
{
	uint64_t seq = extended(&j->source, in->rtp->seq);

	if (in->aux)
		return take_aux(j, in, seq);
	if (is_behind(j, seq))
		return refuse(j, JITTER_LATE);
	begin(j, in, seq);
	learn_duration(j, in, seq, place_of(in));
	keep(j, in, seq, place_of(in), in->arrival);
	return JITTER_TAKEN;
}

static enum jitter_put restart(struct jitter *j, const struct jitter_input *in)
{
	discard(j);
	memset(&j->source, 0, sizeof(j->source));
	(void)rtp_source_update(&j->source, in->rtp->seq);
	j->started = false;
	j->restarted = true;
	(void)start(j, in);
	jitter_count(&j->count.restarts, 1);
	return JITTER_RESTART;
}

/* Its sequence number is not the source's, either: that one may yet come. */
static enum jitter_put refuse_number(struct jitter *j)
{
	j->source = j->before;
	return refuse(j, JITTER_STRAY);
}

/* A packet that is no duplicate. */
static enum jitter_put take(struct jitter *j, const struct jitter_input *in,
			    uint64_t seq)
{
	int64_t ts = timeline_extend(&j->line, place_of(in));
	cr_ns at = timeline_at(&j->line, ts);
	cr_ns transit = in->arrival - at, each = j->duration_ns;
	bool dropped;

	if (is_far(j, transit, ts, seq)) {
		if (is_proved(j, in->rtp->seq, transit) || is_idle(j))
			return restart(j, in);
		return refuse_number(j);
	}
	j->proof.waits = false;
	learn(j, in, seq, ts);
	if (is_over(j, seq, ts)) {
		note_transit(j, in, transit);
		return refuse(j, JITTER_LATE);
	}
	if (!is_in_order(j, seq, ts))
		return refuse_number(j);
	note_transit(j, in, transit);
	dropped = make_room(j, seq, at, cr_ns_max(each, j->duration_ns));
	keep(j, in, seq, ts, at);
	return dropped ? JITTER_OVERFLOW : JITTER_TAKEN;
}

/* A packet that the source takes; @again: another one than before. */
static enum jitter_put accept(struct jitter *j, const struct jitter_input *in,
			      bool again)
{
	uint64_t seq = extended(&j->source, in->rtp->seq);

	if (j->cfg.kind == JITTER_OFF) {
		jitter_count(&j->count.out, 1);
		jitter_count(&j->count.restarts, again);
		return again ? JITTER_RESTART : JITTER_TAKEN;
	}
	if (again)
		return restart(j, in);
	if (j->started)
		return in->aux ? take_aux(j, in, seq) : take(j, in, seq);
	return start(j, in);
}

enum jitter_put jitter_put(struct jitter *j, const struct jitter_input *in)
{
	const struct rtp_packet *p = in->rtp;
	bool again = j->heard && p->ssrc != j->ssrc;

	jitter_count(&j->count.put, 1);
	if (j->cfg.kind != JITTER_OFF && p->payload_bytes > j->cfg.slot_bytes)
		return refuse(j, JITTER_TOO_BIG);
	if (again)
		jitter_reset(j);
	j->heard = true;
	j->ssrc = p->ssrc;
	j->before = j->source;
	switch (rtp_source_update(&j->source, p->seq)) {
	case RTP_NEW:
		return accept(j, in, again);
	case RTP_RESTART:
		return accept(j, in, true);
	case RTP_REORDERED:
		if (j->cfg.kind == JITTER_OFF)
			return refuse(j, JITTER_LATE);
		return accept(j, in, false);
	case RTP_DUPLICATE:
		return refuse(j, JITTER_DUPLICATE);
	case RTP_STRAY:
		break;
	}
	return refuse(j, JITTER_STRAY);
}
