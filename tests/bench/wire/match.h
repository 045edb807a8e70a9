/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which frame a packet that came back holds, and whether the packets of a call
 * came once each, in order, with the sequence numbers that they should have.
 *
 * The RTP timestamp tells the frame where it is known which one the answer to
 * frame 0 has. Else the sequence number does, the first answer is taken for
 * that to frame 0, and timestamps are not looked at.
 *
 * Pure; one thread a call.
 */
#ifndef TESTS_BENCH_WIRE_MATCH_H
#define TESTS_BENCH_WIRE_MATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "cr/time.h"

/** Frames of a call that may be on their way. */
#define MATCH_WINDOW 256u

enum match_kind {
	MATCH_FRAME,	 /**< answered now for the first time               */
	MATCH_LATE,	 /**< the same, but a newer frame has come before   */
	MATCH_DUPLICATE, /**< answered before                               */
	MATCH_STRANGE,	 /**< of no frame that is on its way                */
	MATCH_SEQUENCE	 /**< a frame, answered now for the first time, whose
			      sequence number does not fit the last one's    */
};

/** One call. Set base, based and step, the rest is zero at the beginning. */
struct match {
	uint32_t base; /**< RTP timestamp of the answer to frame 0            */
	bool based; /**< base is known; else the first answer is to frame 0 */
	uint32_t step; /**< RTP timestamp units from answer to answer        */

	uint32_t sent; /**< frames sent                                      */
	uint32_t newest; /**< one more than the newest frame answered */
	uint16_t seq; /**< last answer's sequence number less its frame's   */
	cr_ns when[MATCH_WINDOW]; /**< by frame modulo this; 0: answered      */
};

/** The next frame leaves at @now (not 0); returns its number. */
uint32_t match_sent(struct match *m, cr_ns now);

/** The frame sent last did not leave. */
void match_unsent(struct match *m);

/** An answer has come. *@frame and *@when (it was sent) unless it is a
 * duplicate or strange. */
enum match_kind match_answer(struct match *m, uint16_t seq, uint32_t ts,
			     uint32_t *frame, cr_ns *when);

#endif
