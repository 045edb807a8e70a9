/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RTP timestamps of several clocks on one time line: that of a sender which
 * changes between codecs whose clocks differ, under one SSRC (RFC 7160).
 *
 * The line is in units of one clock. As long as a sender keeps to one clock,
 * only differences of its timestamps matter. Where it changes, the first packet
 * of the new clock is as far behind the last one of the old clock as
 *
 *   the sequence numbers say, a ptime each, if the timestamps agree with that:
 *   each packet's in units of the clock before (RFC 7160, 4.2); or else
 *   the timestamps say, in units of the old clock, if the arrivals agree
 *   better with that: the sender has paused; or else
 *   the sequence numbers say, or the arrivals, if these are much further apart:
 *   then each clock has timestamps of its own.
 *
 * A packet that comes late is where its own clock, before the change, says.
 *
 * Pure; one thread at a time.
 */
#ifndef RTP_CLOCKS_H
#define RTP_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "cr/time.h"

/** Times agree that do not differ by more than the network delays packets. */
#define CLOCKS_FAR (200 * CR_MS)

/** A packet as it arrives. */
struct clocks_packet {
	uint32_t ts, clock; /**< and that one's rate, Hz */
	uint16_t seq;
	cr_ns at;
};

/** Packets of one clock: @ts stands at @place of the line. */
struct clocks_span {
	uint32_t clock; /**< 0: none */
	uint32_t ts, place;
};

/** As many changes as may happen while a packet is on its way. */
enum { CLOCKS_SPANS = 4 };

struct clocks {
	uint32_t clock;			       /**< of the line, Hz */
	cr_ns step;			       /**< of a packet     */
	struct clocks_span span[CLOCKS_SPANS]; /**< the newest comes first */
	/* the newest packet */
	struct clocks_packet newest;
	uint32_t place;
};

/** @step: how long a packet is. */
void clocks_init(struct clocks *c, uint32_t clock, cr_ns step);
/** A packet is @step long from now on. */
void clocks_set_step(struct clocks *c, cr_ns step);

/** Another sender begins. */
void clocks_again(struct clocks *c);

/** The clock of the newest packet, Hz; the line's if there is none. */
static inline uint32_t clocks_now(const struct clocks *c)
{
	return c->span[0].clock ? c->span[0].clock : c->clock;
}

/** The place of @p, in units of the line's clock. */
uint32_t clocks_place(const struct clocks *c, const struct clocks_packet *p);

/** @p, which is at @place, is one of the sender's. */
void clocks_take(struct clocks *c, const struct clocks_packet *p,
		 uint32_t place);

#endif
