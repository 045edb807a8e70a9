/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timestamps are extended to 64 bits from the base, with 2^32 added so that
 * packets from before the base stay positive (and become unmatched).
 */
#include "feeder/match.h"

#include <stdlib.h>

#define TS_OFFSET (UINT64_C(1) << 32)
#define SEQ_OFFSET (UINT64_C(1) << 16) /* likewise */

/* --- the times of frames: two per frame, in one array --- */

struct pair {
	cr_ns sent, received; /* 0: never */
};

struct times {
	uint64_t count;
	struct pair *frames;
};

struct times *times_new(uint64_t frames)
{
	struct times *t = malloc(sizeof(*t));

	if (!t)
		return NULL;
	t->count = frames;
	t->frames = calloc(frames ? frames : 1, sizeof(*t->frames));
	if (!t->frames) {
		free(t);
		return NULL;
	}
	return t;
}

void times_free(struct times *t)
{
	if (!t)
		return;
	free(t->frames);
	free(t);
}

void times_write_header(FILE *f, cr_ns realtime_offset)
{
	const struct times_header h = { .magic = TIMES_MAGIC,
					.record_bytes =
						sizeof(struct times_record),
					.realtime_offset = realtime_offset };

	(void)fwrite(&h, sizeof(h), 1, f);
}

void times_write(const struct times *t, FILE *f, uint32_t stream,
		 uint32_t ts_first, uint32_t ts_ticks)
{
	for (uint64_t i = 0; i < t->count; i++) {
		const struct times_record r = {
			.stream = stream,
			.rtp_ts = ts_first + (uint32_t)i * ts_ticks,
			.sent = t->frames[i].sent,
			.received = t->frames[i].received,
		};

		if (r.sent)
			(void)fwrite(&r, sizeof(r), 1, f);
	}
}

/* --- what came back --- */

void match_init(struct match *m, const struct match_cfg *cfg)
{
	m->cfg = *cfg;
	m->ts_last = TS_OFFSET;
}

void match_sent(struct match *m, uint64_t frame, cr_ns now)
{
	struct match_slot *s = &m->slots[frame % MATCH_WINDOW];

	atomic_store_explicit(&s->key, 0, memory_order_relaxed);
	atomic_store_explicit(&s->sent, now, memory_order_release);
	atomic_store_explicit(&s->key, frame + 1, memory_order_release);
	if (!atomic_load_explicit(&m->first, memory_order_relaxed))
		atomic_store_explicit(&m->first, frame + 1,
				      memory_order_release);
	counter_add(&m->sent, 1);
	if (m->times && frame < m->times->count)
		m->times->frames[frame].sent = now;
}

/* The input frame whose speech completes the output frame at @rtp_ticks. */
static uint64_t input_frame(const struct match *m, uint64_t rtp_ticks)
{
	unsigned __int128 end =
		(unsigned __int128)(rtp_ticks + m->cfg.out_ticks) * CR_SEC;

	return (uint64_t)((end - 1) / m->cfg.out_clock /
			  (uint64_t)m->cfg.in_frame);
}

/* Read the sending time; false when the frame is not in the window. The key
 * is read twice: the slot may be on its way to the next frame. */
static bool frame_sent_at(const struct match *m, uint64_t frame, cr_ns *at)
{
	const struct match_slot *s = &m->slots[frame % MATCH_WINDOW];

	if (atomic_load_explicit(&s->key, memory_order_acquire) != frame + 1)
		return false;
	*at = atomic_load_explicit(&s->sent, memory_order_acquire);
	return atomic_load_explicit(&s->key, memory_order_relaxed) == frame + 1;
}

static void note_jitter(struct match *m, uint64_t ts, cr_ns now)
{
	if (m->timed) {
		cr_ns nominal = (int64_t)(ts - m->arrival_ts) * CR_SEC /
				(int64_t)m->cfg.out_clock;
		cr_ns off = now - m->arrival - nominal;

		histogram_add(&m->jitter, off < 0 ? -off : off);
	}
	m->timed = true;
	m->arrival = now;
	m->arrival_ts = ts;
}

/* The base, by the first packet. False: nothing has been sent. */
static bool learn_base(struct match *m, const struct rtp_packet *p)
{
	uint64_t first = atomic_load_explicit(&m->first, memory_order_acquire);
	uint64_t rtp_ticks;

	if (!first)
		return false;
	rtp_ticks = (uint64_t)rtp_ticks_in((cr_ns)(first - 1) * m->cfg.in_frame,
					   m->cfg.out_clock);
	m->cfg.ts_base = p->ts - (uint32_t)rtp_ticks;
	m->seq_last = SEQ_OFFSET + rtp_ticks / m->cfg.out_ticks;
	m->seq = p->seq;
	m->learned = true;
	return true;
}

/* The timestamp that the sequence number of @p means, where that is the farther
 * one. Numbers from before the first packet are far behind @ts. */
static uint64_t farther_of(struct match *m, const struct rtp_packet *p,
			   uint64_t ts)
{
	int16_t step = (int16_t)(uint16_t)(p->seq - m->seq);
	uint64_t number = m->seq_last + (uint64_t)(int64_t)step;
	uint64_t means;

	if (step > 0) {
		m->seq_last = number;
		m->seq = p->seq;
	}
	if (number < SEQ_OFFSET)
		return ts;
	means = TS_OFFSET + (number - SEQ_OFFSET) * m->cfg.out_ticks;
	return means > ts ? means : ts;
}

bool match_received(struct match *m, const struct rtp_packet *p, cr_ns now,
		    uint64_t *index)
{
	enum rtp_arrival what;
	uint64_t ts, out, frame;
	int32_t step;
	cr_ns sent;

	if (m->cfg.learn && !m->learned && !learn_base(m, p)) {
		counter_add(&m->unmatched, 1);
		return false;
	}
	what = rtp_source_update(&m->source, p->seq);
	step = (int32_t)(p->ts - m->cfg.ts_base - (uint32_t)m->ts_last);
	ts = m->ts_last + (uint64_t)(int64_t)step; /* extended */
	if (step > 0)
		m->ts_last = ts;
	/* where each packet sent brings one */
	if (m->cfg.learn && rtp_ticks_in(m->cfg.in_frame, m->cfg.out_clock) ==
				    (int64_t)m->cfg.out_ticks)
		ts = farther_of(m, p, ts);
	out = (ts - TS_OFFSET) / m->cfg.out_ticks;
	frame = input_frame(m, ts - TS_OFFSET);

	if (what == RTP_DUPLICATE || m->seen[out % MATCH_WINDOW] == out + 1) {
		counter_add(&m->duplicates, 1);
		return false;
	}
	if (ts < TS_OFFSET || !frame_sent_at(m, frame, &sent)) {
		counter_add(&m->unmatched, 1);
		return false;
	}
	if (what == RTP_REORDERED)
		counter_add(&m->reordered, 1);
	m->seen[out % MATCH_WINDOW] = out + 1;
	counter_add(&m->received, 1);
	counter_add(&m->octets_received, p->payload_bytes);
	atomic_store_explicit(&m->gaps, rtp_source_lost(&m->source),
			      memory_order_relaxed);
	if (m->times && frame < m->times->count)
		m->times->frames[frame].received = now;
	m->latest = now - sent;
	histogram_add(&m->delay, m->latest);
	if (m->latest > m->cfg.deadline)
		counter_add(&m->late, 1);
	note_jitter(m, ts, now);
	*index = out;
	return true;
}

void match_heard(struct match *m, const struct rtp_packet *p, uint64_t index,
		 cr_ns now)
{
	uint64_t first = atomic_load_explicit(&m->first, memory_order_acquire);
	uint64_t rtp_ticks = index * m->cfg.out_ticks;
	cr_ns sent;

	counter_add(&m->received, 1);
	counter_add(&m->octets_received, p->payload_bytes);
	/* what fills silence answers nothing that was sent */
	if (!first ||
	    !frame_sent_at(m, first - 1 + input_frame(m, rtp_ticks), &sent))
		return;
	histogram_add(&m->delay, now - sent);
	note_jitter(m, rtp_ticks, now);
}

uint64_t match_expected(const struct match *m)
{
	uint64_t sent = counter_read(&m->sent);
	unsigned __int128 speech =
		(unsigned __int128)sent * (uint64_t)m->cfg.in_frame;

	return (uint64_t)(speech * m->cfg.out_clock / CR_SEC /
			  m->cfg.out_ticks);
}

uint64_t match_lost(const struct match *m)
{
	uint64_t got = counter_read(&m->received);
	uint64_t want = match_expected(m);

	if (m->cfg.dtx)
		return counter_read(&m->gaps);
	return want > got ? want - got : 0;
}
