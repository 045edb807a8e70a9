/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a jitter buffer knows, for jitter.c and jitter_put.c only:
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
 * What has been played, concealed or dropped is over; packets for it are late.
 */
#ifndef RTP_JITTER_STATE_H
#define RTP_JITTER_STATE_H

#include "rtp/jitter.h"
#include "rtp/jitter_slots.h"
#include "rtp/playout.h"
#include "rtp/timeline.h"

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

/** Add @n. The buffer's thread, the only one that writes. */
static inline void jitter_count(atomic_ullong *counter, unsigned long long n)
{
	unsigned long long old =
		atomic_load_explicit(counter, memory_order_relaxed);

	atomic_store_explicit(counter, old + n, memory_order_relaxed);
}

/** The duration of @s as far as it is known, units of the clock. */
static inline uint32_t jitter_duration(const struct jitter *j,
				       const struct jitter_slot *s)
{
	return s->duration ? s->duration : j->duration;
}

/** What is no speech takes no time. It may come when its turn is over. */
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

#endif
