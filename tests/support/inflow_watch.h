/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An inflow under watch: what its header promises is checked with every packet
 * that goes in and every frame that comes out. A broken promise is told as
 * text, so that a test can look for the least input that breaks it.
 *
 * A packet's payload says which one it is.
 */
#ifndef TESTS_INFLOW_WATCH_H
#define TESTS_INFLOW_WATCH_H

#include <stdlib.h>
#include <string.h>

#include "media/inflow.h"

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
	bool end; /**< of an event */
};

enum flow_fate { FLOW_NEW, FLOW_WAITS, FLOW_REFUSED, FLOW_OUT };

struct inflow_watch {
	struct inflow *f;
	struct inflow_cfg cfg;
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
	bool fresh;	  /**< the sender, or its clock, has not spoken yet */
	bool foreign;	  /**< the last packet was of another clock         */
	uint16_t seq;	  /**< of that one                                  */
	uint32_t least;	  /**< no frame may begin before           */
	uint32_t speaker; /**< SSRC of the last packet that came out */
	unsigned ticks;	  /**< that may come yet                   */
};

static inline void flow_broke(struct inflow_watch *w, bool broken,
			      const char *promise)
{
	if (broken && !w->broken)
		w->broken = promise;
}

/* --- payloads --- */

/* Where the number stands. */
static inline unsigned flow_place(const struct inflow_watch *w,
				  enum flow_kind kind)
{
	bool amr = w->cfg.payload.kind == PAYLOAD_AMR;

	return kind == FLOW_EVENT ? 2 : kind == FLOW_NOISE || !amr ? 0 : 2;
}

static inline unsigned flow_payload(const struct inflow_watch *w,
				    unsigned number, uint8_t *to)
{
	const struct flow_packet *p = &w->packet[number];
	unsigned place = flow_place(w, p->kind), bytes = 40;
	const uint16_t name = (uint16_t)number;

	memset(to, 0, FLOW_BYTES);
	if (p->kind == FLOW_EVENT) {
		to[0] = 5;
		to[1] = p->end ? 0x80 : 0;
		bytes = 4;
	} else if (p->kind == FLOW_NOISE) {
		bytes = 2;
	} else if (w->cfg.payload.kind == PAYLOAD_AMR) {
		to[0] = 0xf0;
		to[1] = p->kind == FLOW_SID ? 8 << 3 | 4 : 7 << 3 | 4;
		bytes = p->kind == FLOW_SID ? 7 : 33;
	} else if (w->cfg.payload.kind == PAYLOAD_WHOLE) {
		bytes = p->kind == FLOW_SID ? 2 : 30;
	} else if (w->cfg.step <= FLOW_BYTES) {
		bytes = w->cfg.step;
	}
	memcpy(to + place, &name, 2);
	return bytes;
}

static inline enum cr_frame_what flow_what(enum flow_kind kind)
{
	return kind == FLOW_EVENT   ? CR_RING_EVENT
	       : kind == FLOW_NOISE ? CR_RING_NOISE
				    : CR_RING_SPEECH;
}

/* --- what comes out --- */

/* Frames do not go back, and where silence is filled they do not overlap. */
static inline void flow_order(struct inflow_watch *w,
			      const struct inflow_frame *f, uint32_t units)
{
	bool fills = w->cfg.terms.fill != INFLOW_FILL_NEVER;

	if (f->restart)
		w->any = false;
	if (f->covered || (!fills && !w->cfg.terms.jitter))
		return;
	flow_broke(w, w->any && (int32_t)(f->ts - w->least) < 0,
		   fills ? "frames do not overlap" : "timestamps rise");
	w->any = true;
	w->least = f->ts + (fills ? units : 1);
}

static inline void flow_made(struct inflow_watch *w,
			     const struct inflow_frame *f)
{
	flow_broke(w, f->bytes || f->restart || f->covered || f->waited,
		   "what is made is nobody's");
	if (f->what == CR_RING_TICK) {
		flow_broke(w, !w->ticks, "three ticks behind an event");
		w->ticks--;
		return;
	}
	flow_broke(w, !f->units, "what is made has a length");
	flow_broke(w, w->fresh, "nothing is made for who has not spoken");
	flow_broke(w, f->what == CR_RING_LOST && !w->cfg.terms.jitter,
		   "only a buffer tells what is lost");
	flow_broke(w,
		   f->what == CR_RING_SILENCE &&
			   w->cfg.terms.fill == INFLOW_FILL_NEVER,
		   "no silence that was not asked for");
	flow_order(w, f, f->units);
}

static inline void flow_played(struct inflow_watch *w, unsigned number,
			       const struct inflow_frame *f)
{
	const struct flow_packet *p = &w->packet[number];
	uint8_t want[FLOW_BYTES];
	uint32_t units = w->cfg.step;

	flow_broke(w, w->fate[number] != FLOW_WAITS,
		   "each at most once, and only what was taken");
	flow_broke(w,
		   f->bytes != flow_payload(w, number, want) ||
			   memcmp(f->payload, want, f->bytes) != 0 ||
			   f->what != flow_what(p->kind) || f->seq != p->seq,
		   "packets are as they were");
	flow_broke(w, f->waited < 0 || f->waited > w->now - p->at,
		   "nothing waits longer than it is there");
	flow_broke(w, w->played && w->speaker != p->ssrc && !f->restart,
		   "the first of a sender is marked");
	flow_broke(w,
		   w->foreign && p->kind == FLOW_FOREIGN && !f->restart &&
			   (int16_t)(p->seq - w->seq) <= 0,
		   "those of another clock are in order");
	w->foreign = p->kind == FLOW_FOREIGN;
	w->seq = p->seq;
	w->fresh = w->foreign ||
		   (p->kind == FLOW_EVENT && (w->fresh || f->restart));
	w->fate[number] = FLOW_OUT;
	w->out++;
	w->played = true;
	w->speaker = p->ssrc;
	if (payload_is_pcm(&w->cfg.payload) && p->kind <= FLOW_SID)
		units = f->bytes;
	if (p->kind == FLOW_EVENT)
		w->ticks = 3;
	else if (p->kind == FLOW_FOREIGN)
		w->any = false;
	else
		flow_order(w, f, units);
}

static inline void flow_emit(void *arg, const struct inflow_frame *f)
{
	struct inflow_watch *w = arg;
	enum flow_kind kind = f->what == CR_RING_EVENT	 ? FLOW_EVENT
			      : f->what == CR_RING_NOISE ? FLOW_NOISE
							 : FLOW_SPEECH;
	uint16_t number;

	flow_broke(w, f->at != w->now, "frames are of now");
	if (f->what == CR_RING_LOST || f->what == CR_RING_SILENCE ||
	    f->what == CR_RING_TICK) {
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
	((struct inflow_watch *)arg)->gone++;
}

/* --- use --- */

/** @cfg: terms, payload, clock, rate and step. */
static inline void flow_open(struct inflow_watch *w,
			     const struct inflow_cfg *cfg)
{
	struct cr_err e;

	memset(w, 0, sizeof(*w));
	w->exact = true;
	w->cfg = *cfg;
	w->cfg.terms.pt_event = FLOW_PT_EVENT;
	w->cfg.terms.pt_noise = FLOW_PT_NOISE;
	w->cfg.slot_bytes = FLOW_BYTES;
	w->cfg.emit = flow_emit;
	w->cfg.gone = flow_gone;
	w->cfg.arg = w;
	if (inflow_open(&w->f, &w->cfg, &e))
		abort();
}

static inline void flow_close(struct inflow_watch *w)
{
	inflow_close(w->f);
	w->f = NULL;
}

static inline void flow_sums(struct inflow_watch *w)
{
	flow_broke(w,
		   w->put !=
			   w->out + w->refused + w->gone + inflow_waiting(w->f),
		   "every packet is accounted for");
}

/** Time goes on to @until; what is due comes out, in its time if w->exact. */
static inline void flow_until(struct inflow_watch *w, cr_ns until)
{
	cr_ns due;

	while (!w->broken && (due = inflow_due(w->f)) <= until) {
		w->now = w->exact ? cr_ns_max(due, w->now) : until;
		inflow_poll(w->f, w->now);
		flow_sums(w);
		flow_broke(w, inflow_due(w->f) <= w->now,
			   "after a poll nothing is due");
	}
	w->now = cr_ns_max(w->now, until);
}

/* Without a buffer, what is old does not get this far. */
static inline bool flow_in_order(struct inflow_watch *w,
				 const struct flow_packet *p)
{
	enum rtp_arrival what;

	if (inflow_buffers(w->f))
		return true;
	what = rtp_source_update(&w->seen, p->seq);
	w->restart |= what == RTP_RESTART;
	return what == RTP_RESTART || what == RTP_NEW;
}

static inline void flow_hear(struct inflow_watch *w,
			     const struct flow_packet *p)
{
	if (w->heard && w->ssrc != p->ssrc) {
		rtp_source_again(&w->seen);
		w->restart = true;
	}
	w->heard = true;
	w->ssrc = p->ssrc;
}

/** @p arrives, after what is due before. */
static inline void flow_put(struct inflow_watch *w, const struct flow_packet *p)
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
	struct inflow_arrival in = {
		.what = flow_what(p->kind),
		.rtp = &rtp,
		.clock = p->kind == FLOW_FOREIGN ? 2 * w->cfg.clock
						 : w->cfg.clock,
		.at = w->now,
	};
	unsigned number = w->n;

	if (number == FLOW_PACKETS)
		abort();
	w->packet[w->n++] = *p;
	flow_hear(w, p);
	if (!flow_in_order(w, p))
		return;
	in.restart = w->restart;
	w->restart = false;
	rtp.payload_bytes = flow_payload(w, number, payload);
	w->fate[number] = FLOW_WAITS;
	w->put++;
	if (inflow_packet(w->f, &in) < 0) {
		flow_broke(w, w->fate[number] != FLOW_WAITS,
			   "what is refused does not come out");
		w->fate[number] = FLOW_REFUSED;
		w->refused++;
	}
	flow_sums(w);
}

#endif
