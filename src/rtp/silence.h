/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets that are sent while a party is silent: when silence is due, which
 * timestamp it has, and where speech belongs that comes back.
 *
 * A sender that saves packets says so (SID, comfort noise) and sends nothing,
 * or very little. Those behind us may have no such thing, and wait for a frame
 * every ptime. A frame is due when the one behind the last packet should have
 * come, and half a ptime has passed: so a packet that is late by less comes
 * before it, and nothing is sent twice. With `always`, unsignalled
 * silence is filled, too, from 60 ms on. A packet that comes alone
 * meanwhile only says what the noise is like (Opus sends one every 400 ms: RFC
 * 7587, 3.1.3), so there is no such hole behind it.
 *
 * *Timestamps* of frames and packets together never go back, and no two
 * overlap. Silence that comes when its time has been filled (SIDs from time to
 * time) is *covered*: it is for the decoder's state only. Speech that does so
 * is moved behind what was sent, and all that follows with it, until there is
 * silence again, which is made shorter by as much. So a sender's clock that is
 * slower than ours by x moves nothing by more than x of the longest silence.
 * A step back by more than SILENCE_FAR is another time of the same sender:
 * it stays as far from what was before.
 *
 * *Never a burst*: a caller that comes late skips what he has missed; a gap of
 * the timestamps shows it.
 *
 * Pure; one thread at a time.
 */
#ifndef RTP_SILENCE_H
#define RTP_SILENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "cr/time.h"

/** So long nothing must come before it is unsignalled silence. */
#define SILENCE_UNSIGNALLED (60 * CR_MS)
/** Speech is moved by no more than this. */
#define SILENCE_FAR (2 * CR_SEC)

struct silence_cfg {
	uint32_t clock; /**< of RTP timestamps, Hz                     */
	uint32_t step;	/**< a ptime in its units                      */
	bool always;	/**< fill unsignalled silence, too     */
};

struct silence {
	struct silence_cfg cfg;
	cr_ns step_ns;
	bool known;	 /**< a packet has come                       */
	bool was_silent; /**< the last one was silence                */
	bool away;	 /**< it is filled, though nobody signalled it */
	bool filled;	 /**< since the last packet                   */
	uint32_t end;	 /**< of what was sent, timestamp             */
	uint32_t moved;	 /**< speech goes so much behind its timestamp */
	uint32_t shift;	 /**< and so much further: its sender's time leapt */
	cr_ns due;	 /**< CR_NEVER: nothing is                    */
};

/** The place of a packet. */
struct silence_place {
	uint32_t ts;
	bool decode_only; /**< its time has been filled: nothing is to be sent
			   */
};

void silence_init(struct silence *s, const struct silence_cfg *cfg);

/** A ptime is @step units from now on. */
void silence_set_step(struct silence *s, uint32_t step);

/** A packet of @rtp_ticks from @ts on is sent on at @at; @silent: what comes
 * behind it is silence. */
struct silence_place silence_packet(struct silence *s, uint32_t ts,
				    uint32_t rtp_ticks, bool silent, cr_ns at);

/** The sender begins anew, with other timestamps. */
void silence_restart(struct silence *s);

/** How much later than its timestamp something is placed now. */
static inline uint32_t silence_shift(const struct silence *s)
{
	return s->shift + s->moved;
}

/** When silence_next() has something to say, unless a packet comes before. */
static inline cr_ns silence_due(const struct silence *s)
{
	return s->due;
}

/** At @now: is a frame of a ptime to be sent, from *@ts on? Once per call. */
bool silence_next(struct silence *s, cr_ns now, uint32_t *ts);

#endif
