/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A receive stage under watch: what its header promises is checked with every
 * packet that goes in and every frame that comes out. A broken promise is shown
 * as text, so that a test can look for the least input that breaks it.
 *
 * A packet's payload says which one it is.
 */
#ifndef TESTS_RECEIVE_STAGE_WATCH_H
#define TESTS_RECEIVE_STAGE_WATCH_H

#include <stdlib.h>
#include <string.h>

#include "media/receive_stage.h"

enum {
	FLOW_PACKETS = 2048,
	FLOW_BYTES = 400,
	FLOW_PT_SPEECH = 96,
	FLOW_PT_FOREIGN = 97,
	FLOW_PT_NOISE = 13,
	FLOW_PT_EVENT = 101
};

enum flow_kind {
	FLOW_SPEECH,
	FLOW_SID, /**< speech that ends in silence, where the codec has it */
	FLOW_NOISE,
	FLOW_EVENT,
	FLOW_FOREIGN, /**< speech of a codec with another clock */
	FLOW_NKINDS
};

struct flow_packet {
	cr_ns at;
	enum flow_kind kind;
	uint16_t seq;
	uint32_t ts, ssrc;
	/* of an event */
	uint16_t lasts;
	bool end;
};

enum flow_fate { FLOW_NEW, FLOW_WAITS, FLOW_REFUSED, FLOW_OUT };

struct receive_stage_watch {
	struct receive_stage *f;
	struct receive_stage_cfg cfg;
	struct codec_use payload;  /**< of all its codecs */
	struct cr_codec codecs[2]; /**< whose clocks differ */
	struct codec_use sides[2];
	bool exact; /**< it is polled just when it is due               */
	const char *broken; /**< the first promise that was; NULL: none */
	cr_ns now;

	/* what goes in; and what its caller knows (media/packet.c) */
	unsigned n, put, refused, gone, out;
	struct flow_packet packet[FLOW_PACKETS];
	enum flow_fate fate[FLOW_PACKETS];
	struct rtp_source seen;
	bool heard, restart;
	uint32_t ssrc;

	/* what comes out */
	bool any, played;
	bool fresh;	/**< the sender has not spoken yet                */
	bool mixed;	/**< some packets are of another clock            */
	unsigned codec; /**< of the last speech                           */
	uint16_t seq;	/**< of the newest packet                         */
	uint64_t lost;	/**< packets                                      */
	unsigned nlost, knowing; /**< lost frames, those with the next packet */
	uint32_t least;		 /**< no frame may begin before           */
	uint32_t speaker;	 /**< SSRC of the last packet that came out */
	unsigned ticks;		 /**< that may come yet                   */
};

static inline void flow_broke(struct receive_stage_watch *w, bool broken,
			      const char *promise)
{
	if (broken && !w->broken)
		w->broken = promise;
}

/* --- payloads --- */

/* Where the number stands. */
static inline unsigned flow_place(const struct receive_stage_watch *w,
				  enum flow_kind kind)
{
	bool amr = w->payload.kind == PAYLOAD_AMR;

	return kind == FLOW_EVENT ? 4 : kind == FLOW_NOISE || !amr ? 0 : 2;
}

static inline unsigned flow_payload(const struct receive_stage_watch *w,
				    unsigned number, uint8_t *to)
{
	const struct flow_packet *p = &w->packet[number];
	unsigned place = flow_place(w, p->kind), bytes = 40;
	const uint16_t name = (uint16_t)number;

	memset(to, 0, FLOW_BYTES);
	if (p->kind == FLOW_EVENT) {
		to[0] = 5;
		to[1] = p->end ? 0x80 : 0;
		to[2] = (uint8_t)(p->lasts >> 8);
		to[3] = (uint8_t)p->lasts;
		bytes = 8; /* and another event */
	} else if (p->kind == FLOW_NOISE) {
		bytes = 2;
	} else if (w->payload.kind == PAYLOAD_AMR) {
		to[0] = 0xf0;
		to[1] = p->kind == FLOW_SID ? 8 << 3 | 4 : 7 << 3 | 4;
		bytes = p->kind == FLOW_SID ? 7 : 33;
	} else if (w->payload.kind == PAYLOAD_WHOLE) {
		bytes = p->kind == FLOW_SID ? 2 : 30;
	} else if (w->cfg.step <= FLOW_BYTES) {
		bytes = w->cfg.step;
	}
	memcpy(to + place, &name, 2);
	return bytes;
}

static inline enum frame_ring_what flow_what(enum flow_kind kind)
{
	return kind == FLOW_EVENT   ? FRAME_RING_EVENT
	       : kind == FLOW_NOISE ? FRAME_RING_NOISE
				    : FRAME_RING_SPEECH;
}

/* --- what comes out --- */

/* Frames do not go back, and where silence is filled they do not overlap. */
static inline void flow_order(struct receive_stage_watch *w,
			      const struct receive_stage_frame *f,
			      uint32_t rtp_ticks)
{
	bool fills = w->cfg.terms.fill != RECEIVE_STAGE_FILL_NEVER;

	if (f->restart || w->mixed) /* timestamps of two clocks */
		w->any = false;
	if (f->meta.decode_only || (!fills && !w->cfg.terms.jitter))
		return;
	flow_broke(w, w->any && (int32_t)(f->meta.rtp_ts - w->least) < 0,
		   fills ? "frames do not overlap" : "timestamps rise");
	w->any = true;
	w->least = f->meta.rtp_ts + (fills ? rtp_ticks : 1);
}

/* A lost frame may bring the packet behind it. */
static inline void flow_knows(struct receive_stage_watch *w,
			      const struct receive_stage_frame *f)
{
	const struct flow_packet *p;
	uint16_t number;

	w->nlost += f->meta.what == FRAME_RING_LOST;
	if (!f->meta.bytes)
		return;
	flow_broke(w,
		   f->meta.what != FRAME_RING_LOST ||
			   w->payload.kind != PAYLOAD_WHOLE,
		   "only codecs that recover are asked to");
	memcpy(&number, f->payload + flow_place(w, FLOW_SPEECH), 2);
	flow_broke(w, number >= w->n || w->fate[number] != FLOW_WAITS,
		   "what tells of lost ones waits");
	if (number >= w->n)
		return;
	p = &w->packet[number];
	w->knowing++;
	flow_broke(w,
		   p->kind == FLOW_NOISE || p->kind == FLOW_EVENT ||
			   (p->kind == FLOW_FOREIGN) != w->codec,
		   "what tells of lost ones is speech of that codec");
	flow_broke(w,
		   w->cfg.terms.fill == RECEIVE_STAGE_FILL_NEVER && !w->mixed &&
			   p->ts != f->meta.rtp_ts + f->meta.rtp_ticks,
		   "what tells of lost ones is right behind them");
}

static inline void flow_made(struct receive_stage_watch *w,
			     const struct receive_stage_frame *f)
{
	flow_broke(w,
		   f->restart || f->meta.decode_only || f->meta.waited ||
			   f->lost,
		   "what is made is nobody's");
	flow_knows(w, f);
	if (f->meta.what == FRAME_RING_TICK) {
		flow_broke(w, !w->ticks, "three ticks behind an event");
		w->ticks--;
		return;
	}
	flow_broke(w, !f->meta.rtp_ticks, "what is made has a length");
	flow_broke(w, w->fresh, "nothing is made for who has not spoken");
	flow_broke(w, f->meta.what == FRAME_RING_LOST && !w->cfg.terms.jitter,
		   "only a buffer tells what is lost");
	flow_broke(w,
		   f->meta.what == FRAME_RING_SILENCE &&
			   w->cfg.terms.fill == RECEIVE_STAGE_FILL_NEVER,
		   "no silence that was not asked for");
	flow_order(w, f, f->meta.rtp_ticks);
}

/* The order of what comes out is that of its numbers. What was passed over does
 * not come any more, except events: at once. */
static inline void flow_numbers(struct receive_stage_watch *w,
				const struct flow_packet *p,
				const struct receive_stage_frame *f)
{
	uint16_t step = (uint16_t)(p->seq - w->seq);
	bool known = w->played && !f->restart;
	bool late = known && (int16_t)step <= 0;

	flow_broke(w, late && (p->kind != FLOW_EVENT || f->meta.waited),
		   "numbers rise");
	flow_broke(w, f->lost && known && f->lost >= step,
		   "only missing numbers are lost");
	w->lost += f->lost;
	if (!late)
		w->seq = p->seq;
}

/* How long a packet of speech is, in its codec's clock. */
static inline uint32_t flow_ticks(const struct receive_stage_watch *w,
				  const struct flow_packet *p,
				  const struct receive_stage_frame *f)
{
	if (payload_is_pcm(&w->payload) && p->kind != FLOW_NOISE)
		return f->meta.bytes;
	return p->kind == FLOW_FOREIGN ? 2 * w->cfg.step : w->cfg.step;
}

static inline void flow_played(struct receive_stage_watch *w, unsigned number,
			       const struct receive_stage_frame *f)
{
	const struct flow_packet *p = &w->packet[number];
	uint8_t want[FLOW_BYTES];
	flow_broke(w, w->fate[number] != FLOW_WAITS,
		   "each at most once, and only what was taken");
	flow_broke(w,
		   f->meta.bytes != flow_payload(w, number, want) ||
			   memcmp(f->payload, want, f->meta.bytes) != 0 ||
			   f->meta.what != flow_what(p->kind) ||
			   f->meta.rtp_seq != p->seq,
		   "packets are as they were");
	flow_broke(w, f->meta.waited > w->now - p->at,
		   "nothing waits longer than it is there");
	flow_broke(w, w->played && w->speaker != p->ssrc && !f->restart,
		   "the first of a sender is marked");
	flow_numbers(w, p, f);
	w->fresh = p->kind == FLOW_EVENT && (w->fresh || f->restart);
	w->fate[number] = FLOW_OUT;
	w->out++;
	w->played = true;
	w->speaker = p->ssrc;
	if (p->kind == FLOW_EVENT) {
		w->ticks = 3;
		w->any = w->any && !f->restart;
		return;
	}
	if (p->kind != FLOW_NOISE)
		w->codec = p->kind == FLOW_FOREIGN;
	flow_order(w, f, flow_ticks(w, p, f));
}

static inline void flow_emit(void *arg, const struct receive_stage_frame *f)
{
	struct receive_stage_watch *w = arg;
	enum flow_kind kind = f->meta.what == FRAME_RING_EVENT	 ? FLOW_EVENT
			      : f->meta.what == FRAME_RING_NOISE ? FLOW_NOISE
								 : FLOW_SPEECH;
	uint16_t number;

	flow_broke(w, f->meta.arrival != w->now, "frames are of now");
	if (f->meta.what == FRAME_RING_LOST ||
	    f->meta.what == FRAME_RING_SILENCE ||
	    f->meta.what == FRAME_RING_TICK) {
		flow_made(w, f);
		return;
	}
	memcpy(&number, f->payload + flow_place(w, kind), 2);
	flow_broke(w, number >= w->n, "only what was put comes out");
	if (number < w->n)
		flow_played(w, number, f);
}

static inline void flow_gone(void *arg)
{
	((struct receive_stage_watch *)arg)->gone++;
}

/* --- use --- */

static inline unsigned flow_recover(void *dec, const struct cr_frame *next,
				    int16_t *pcm)
{
	(void)dec;
	(void)next;
	(void)pcm;
	abort(); /* a receive stage decodes nothing */
}

static inline void flow_codecs(struct receive_stage_watch *w)
{
	for (unsigned i = 0; i < 2; i++) {
		w->codecs[i] = (struct cr_codec){
			.sample_rate = w->cfg.clock << i,
			.samples = w->cfg.step << i,
			.any_length = payload_is_pcm(&w->payload),
			.recover = w->payload.kind == PAYLOAD_WHOLE
					   ? flow_recover
					   : NULL,
		};
		w->sides[i] = w->payload;
		w->sides[i].codec = &w->codecs[i];
	}
}

/** @cfg: terms, clock and step. */
static inline void flow_open(struct receive_stage_watch *w,
			     const struct receive_stage_cfg *cfg,
			     const struct codec_use *payload)
{
	struct cr_err e;

	memset(w, 0, sizeof(*w));
	w->exact = true;
	w->cfg = *cfg;
	w->payload = *payload;
	w->cfg.terms.events =
		(struct telephone_event_types){ 1,
						{ { FLOW_PT_EVENT, 8000 } } };
	w->cfg.terms.pt_noise = FLOW_PT_NOISE;
	w->cfg.slot_bytes = FLOW_BYTES;
	w->cfg.emit = flow_emit;
	w->cfg.gone = flow_gone;
	w->cfg.arg = w;
	flow_codecs(w);
	if (receive_stage_open(&w->f, &w->cfg, &e))
		abort();
}

static inline void flow_close(struct receive_stage_watch *w)
{
	receive_stage_close(w->f);
	w->f = NULL;
}

static inline void flow_sums(struct receive_stage_watch *w)
{
	flow_broke(w,
		   w->put != w->out + w->refused + w->gone +
				     receive_stage_waiting(w->f),
		   "every packet is accounted for");
}

/** Time goes on to @until; what is due comes out, in its time if w->exact. */
static inline void flow_until(struct receive_stage_watch *w, cr_ns until)
{
	cr_ns due;

	while (!w->broken && (due = receive_stage_due(w->f)) <= until) {
		w->now = w->exact ? cr_ns_max(due, w->now) : until;
		receive_stage_poll(w->f, w->now);
		flow_sums(w);
		flow_broke(w, receive_stage_due(w->f) <= w->now,
			   "after a poll nothing is due");
	}
	w->now = cr_ns_max(w->now, until);
}

/* Without a buffer, what is old does not get this far. */
static inline bool flow_in_order(struct receive_stage_watch *w,
				 const struct flow_packet *p)
{
	enum rtp_arrival what;

	if (receive_stage_buffers(w->f))
		return true;
	what = rtp_source_update(&w->seen, p->seq);
	w->restart |= what == RTP_RESTART;
	return what == RTP_RESTART || what == RTP_NEW;
}

static inline void flow_hear(struct receive_stage_watch *w,
			     const struct flow_packet *p)
{
	if (w->heard && w->ssrc != p->ssrc) {
		rtp_source_again(&w->seen);
		w->restart = true;
	}
	w->heard = true;
	w->ssrc = p->ssrc;
}

/** Nothing more comes. */
static inline void flow_end(struct receive_stage_watch *w)
{
	flow_broke(w, receive_stage_waiting(w->f), "nothing waits for ever");
	flow_broke(w, w->ticks, "all ticks come");
	for (unsigned i = 0; i < w->n; i++)
		flow_broke(w,
			   w->packet[i].kind == FLOW_EVENT &&
				   w->fate[i] == FLOW_WAITS,
			   "no event is lost in a buffer");
}

/** @p arrives, after what is due before. */
static inline void flow_put(struct receive_stage_watch *w,
			    const struct flow_packet *p)
{
	static const uint8_t types[] = { FLOW_PT_SPEECH, FLOW_PT_SPEECH,
					 FLOW_PT_NOISE, FLOW_PT_EVENT,
					 FLOW_PT_FOREIGN };
	uint8_t payload[FLOW_BYTES];
	struct rtp_packet rtp = { .pt = types[p->kind],
				  .seq = p->seq,
				  .ts = p->ts,
				  .ssrc = p->ssrc,
				  .payload = payload };
	struct receive_stage_arrival in = {
		.what = flow_what(p->kind),
		.rtp = &rtp,
		.number = p->kind == FLOW_FOREIGN,
		.at = w->now,
	};
	unsigned number = w->n;
	uint32_t clock = w->cfg.clock << in.number;

	if (number == FLOW_PACKETS)
		abort();
	w->packet[w->n++] = *p;
	w->mixed |= p->kind == FLOW_FOREIGN;
	flow_hear(w, p);
	if (!flow_in_order(w, p))
		return;
	in.restart = w->restart;
	w->restart = false;
	in.codec = (struct receive_stage_codec){
		.side = &w->sides[in.number],
		.clock = clock,
		.rate = clock,
	};
	rtp.payload_bytes = flow_payload(w, number, payload);
	w->fate[number] = FLOW_WAITS;
	w->put++;
	if (receive_stage_packet(w->f, &in) < 0) {
		flow_broke(w, w->fate[number] != FLOW_WAITS,
			   "what is refused does not come out");
		w->fate[number] = FLOW_REFUSED;
		w->refused++;
	}
	flow_sums(w);
}

#endif
