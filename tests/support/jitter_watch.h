/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A jitter buffer under watch: what its header promises is checked with every
 * packet that goes in and everything that comes out. A broken promise is shown
 * as text, so that a test can look for the least input that breaks it.
 *
 * A packet's payload is its number here, and bytes that follow from it.
 */
#ifndef TESTS_JITTER_WATCH_H
#define TESTS_JITTER_WATCH_H

#include <stdlib.h>
#include <string.h>

#include "rtp/jitter.h"

enum { WATCH_PACKETS = 4096, WATCH_BYTES = 40 };

/** The input. */
struct watch_packet {
	cr_ns at;
	uint16_t seq;
	uint32_t ts, ssrc, duration;
	bool silent, marker;
	bool aux; /**< no speech */
};

enum watch_fate {
	WATCH_NEW,
	WATCH_WAITS,
	WATCH_REFUSED,
	WATCH_GONE,
	WATCH_OUT
};

struct jitter_watch {
	struct jitter *j;
	struct jitter_cfg cfg;
	bool exact; /**< it is asked just when something is due             */
	const char *broken; /**< the first promise that was; NULL: none     */

	/* what was put */
	unsigned n;
	struct watch_packet packet[WATCH_PACKETS];
	enum watch_fate fate[WATCH_PACKETS];
	enum jitter_put reported[WATCH_PACKETS];
	unsigned long long gone;
	bool restart; /**< the next one played is the first of a source     */

	/* what came out */
	bool any, paused;
	uint32_t ts; /**< of the last                                        */
	cr_ns concealed, now;
	unsigned long long plays, conceals, pauses;
	unsigned last; /**< number of the packet played last                */
	bool numbered;
	uint16_t seq; /**< of that one, or of one that went after it        */
	unsigned long long missing;
	cr_ns wait_max;
};

static inline void watch_broke(struct jitter_watch *w, bool broken,
			       const char *promise)
{
	if (broken && !w->broken)
		w->broken = promise;
}

/* Packets that were taken will not be played. */
static inline void watch_gone(void *arg, const struct jitter_output *packet)
{
	struct jitter_watch *w = arg;
	unsigned number;

	memcpy(&number, packet->payload, 4);
	watch_broke(w, number >= w->n || w->fate[number] != WATCH_WAITS,
		    "only what waits is dropped");
	if (number < w->n) {
		w->fate[number] = WATCH_GONE;
		w->seq = w->packet[number].seq;
		w->numbered = true;
	}
	watch_broke(w, packet->restart && !(packet->aux && w->restart),
		    "only the first of a source is marked");
	w->restart = w->restart && !packet->restart;
	w->any = w->any && !packet->restart;
	w->gone++;
}

static inline void watch_open(struct jitter_watch *w,
			      const struct jitter_cfg *cfg)
{
	struct cr_err e;

	memset(w, 0, offsetof(struct jitter_watch, packet));
	memset(w->fate, 0, sizeof(w->fate));
	w->any = w->paused = w->numbered = false;
	w->concealed = w->now = w->wait_max = 0;
	w->plays = w->conceals = w->pauses = w->missing = 0;
	w->cfg = *cfg;
	w->cfg.slot_bytes = WATCH_BYTES;
	w->cfg.gone = watch_gone;
	w->cfg.arg = w;
	w->gone = 0;
	w->restart = true;
	w->exact = true;
	if (jitter_open(&w->j, &w->cfg, &e))
		abort();
}

static inline void watch_close(struct jitter_watch *w)
{
	jitter_close(w->j);
	w->j = NULL;
}

static inline unsigned long long watch_counted(const struct jitter_watch *w,
					       const atomic_ullong *counter)
{
	(void)w;
	return atomic_load_explicit(counter, memory_order_relaxed);
}

static inline unsigned watch_payload(uint8_t *p, unsigned number)
{
	unsigned bytes = 4 + number % (WATCH_BYTES - 3);

	memcpy(p, &number, 4);
	for (unsigned i = 4; i < bytes; i++)
		p[i] = (uint8_t)(number * 37 + i);
	return bytes;
}

static inline void watch_sums(struct jitter_watch *w)
{
	const struct jitter_counts *c = jitter_counts(w->j);
	unsigned long long all = c->out + jitter_waiting(w->j) + c->late +
				 c->duplicates + c->overflow + c->discarded +
				 c->out_of_range + c->too_big;
	cr_ns delay = jitter_delay(w->j);

	watch_broke(w, c->put != all, "sums");
	watch_broke(w, c->put != w->n, "all that were put are counted");
	watch_broke(w, c->concealed != w->conceals, "concealed is counted");
	watch_broke(w, c->pauses != w->pauses, "pauses are counted");
	if (w->cfg.kind == JITTER_OFF || !delay)
		return;
	watch_broke(w, w->cfg.kind == JITTER_FIXED && delay != w->cfg.most,
		    "a fixed delay");
	watch_broke(w, delay < w->cfg.least || delay > w->cfg.most,
		    "delay between its bounds");
}

/* Later than what came before it. The time of a pause may yet be played. */
static inline void watch_order(struct jitter_watch *w, enum jitter_next what,
			       uint32_t ts)
{
	watch_broke(w, w->any && (int32_t)(ts - w->ts) <= 0, "timestamps rise");
	if (what == JITTER_PAUSE)
		return;
	w->any = true;
	w->ts = ts;
}

/* What has been passed over does not come behind it; what is no speech may, if
 * it comes so late, but then at once. */
static inline void watch_numbers(struct jitter_watch *w,
				 const struct watch_packet *p,
				 const struct jitter_output *out)
{
	uint16_t step = (uint16_t)(p->seq - w->seq);
	bool late = w->numbered && (int16_t)step <= 0;

	watch_broke(w, late && !(p->aux && (!w->exact || !out->wait)),
		    "numbers rise");
	watch_broke(w,
		    out->missing &&
			    (late || !w->numbered || out->missing >= step),
		    "what is missing is between two numbers");
	w->missing += out->missing;
	if (!late)
		w->seq = p->seq;
	w->numbered = true;
}

static inline void watch_played(struct jitter_watch *w,
				const struct jitter_output *out)
{
	uint8_t want[WATCH_BYTES];
	const struct watch_packet *p;
	unsigned number;

	memcpy(&number, out->payload, 4);
	watch_broke(w, number >= w->n, "only what was put comes out");
	if (number >= w->n)
		return;
	p = &w->packet[number];
	watch_broke(w,
		    out->bytes != watch_payload(want, number) ||
			    memcmp(out->payload, want, out->bytes) != 0,
		    "payloads are as they were");
	watch_broke(w, w->fate[number] != WATCH_WAITS,
		    "each at most once, and only what was taken");
	watch_broke(w,
		    out->ts != p->ts || out->seq != p->seq ||
			    out->marker != p->marker ||
			    out->silent != p->silent || out->aux != p->aux ||
			    out->arrival != p->at,
		    "headers are as they were");
	watch_broke(w, out->wait != cr_ns_max(w->now - p->at, 0),
		    "the wait is the time since the arrival");
	watch_broke(w, out->due > w->now, "nothing before its time");
	watch_broke(w, w->exact && out->wait > w->cfg.most,
		    "nothing waits longer than the most");
	watch_broke(w, out->restart != w->restart,
		    "the first of a source is marked");
	watch_numbers(w, p, out);
	w->fate[number] = WATCH_OUT;
	w->wait_max = cr_ns_max(w->wait_max, out->wait);
	w->any = w->any && !out->restart;
	w->restart = false;
	w->paused = false;
	w->concealed = 0;
	w->plays++;
	w->last = number;
}

/* Of what is missing only the packet right behind it may know. */
static inline void watch_knows(struct jitter_watch *w, enum jitter_next what,
			       const struct jitter_output *out)
{
	unsigned number;

	if (!out->payload)
		return;
	memcpy(&number, out->payload, 4);
	watch_broke(w,
		    what != JITTER_CONCEAL || number >= w->n ||
			    w->fate[number] != WATCH_WAITS ||
			    w->packet[number].aux ||
			    w->packet[number].ts != out->ts + out->duration,
		    "what is missing ends with the packet that knows of it");
}

static inline void watch_bridged(struct jitter_watch *w, enum jitter_next what,
				 const struct jitter_output *out)
{
	watch_broke(w, !w->any || w->restart, "a gap is behind something");
	watch_broke(w, w->paused, "a pause ends with a packet");
	watch_knows(w, what, out);
	if (what == JITTER_PAUSE) {
		w->paused = true;
		w->pauses++;
		return;
	}
	w->concealed += (cr_ns)out->duration * CR_SEC / w->cfg.clock;
	w->conceals++;
	watch_broke(w, w->concealed > JITTER_CONCEAL_MAX, "60 ms in a row");
	watch_broke(w, !out->duration, "a gap has a duration");
}

/** What is due at @now comes out. Returns what came last. */
static inline enum jitter_next watch_one(struct jitter_watch *w, cr_ns now,
					 struct jitter_output *out)
{
	cr_ns due = jitter_due(w->j);
	enum jitter_next what = jitter_next(w->j, now, out);

	w->now = now;
	watch_broke(w, (what == JITTER_NOTHING) != (due > now),
		    "something comes when it is due");
	if (what == JITTER_NOTHING)
		return what;
	if (what == JITTER_PLAY && out->aux) {
		watch_played(w, out);
		watch_sums(w);
		return what;
	}
	if (what == JITTER_PLAY)
		watch_played(w, out);
	else
		watch_bridged(w, what, out);
	watch_order(w, what, out->ts);
	watch_sums(w);
	return what;
}

/** Time goes on to @until: everything that is due comes out, in its time if
 * w->exact. */
static inline void watch_until(struct jitter_watch *w, cr_ns until)
{
	struct jitter_output out;
	cr_ns due;

	while (!w->broken && (due = jitter_due(w->j)) <= until)
		(void)watch_one(w, w->exact ? cr_ns_max(due, w->now) : until,
				&out);
	w->now = cr_ns_max(w->now, until);
}

/** @p arrives, after what is due before. */
static inline enum jitter_put watch_put(struct jitter_watch *w,
					const struct watch_packet *p)
{
	const struct jitter_counts *c = jitter_counts(w->j);
	unsigned long long gone = c->overflow;
	uint8_t payload[WATCH_BYTES];
	struct rtp_packet rtp = { .seq = p->seq,
				  .ts = p->ts,
				  .ssrc = p->ssrc,
				  .marker = p->marker,
				  .payload = payload };
	struct jitter_input in = { .rtp = &rtp,
				   .arrival = p->at,
				   .duration = p->duration,
				   .silent = p->silent,
				   .aux = p->aux };
	enum jitter_put what;

	if (w->n == WATCH_PACKETS)
		abort();
	rtp.payload_bytes = watch_payload(payload, w->n);
	w->packet[w->n] = *p;
	what = jitter_put(w->j, &in);
	w->reported[w->n] = what;
	w->fate[w->n] = what < 0 ? WATCH_REFUSED : WATCH_WAITS;
	w->n++;
	if (what == JITTER_RESTART) {
		w->restart = true;
		w->numbered = false;
	}
	watch_broke(w, c->overflow - gone && what != JITTER_OVERFLOW,
		    "what overflows is told");
	watch_broke(w, w->gone != c->overflow + c->discarded,
		    "what is dropped is counted");
	watch_sums(w);
	return what;
}

#endif
