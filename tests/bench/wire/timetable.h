/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the packets of many calls are due: one of each call in every period, the
 * calls begin at different times of it.
 *
 * A sender that has lost its CPU for some milliseconds would send what was due
 * meanwhile at one go: a burst that no callers make, which whatever receives it
 * needs a while to work off. So the timetable is *held*: everything that is
 * still to be sent moves by as much as the sender was late.
 *
 * Time is an argument. One thread.
 */
#ifndef TESTS_BENCH_WIRE_TIMETABLE_H
#define TESTS_BENCH_WIRE_TIMETABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "cr/time.h"

struct timetable {
	unsigned calls;
	cr_ns every;	/**< the period                                  */
	cr_ns patience; /**< how late a sender may be                    */
	cr_ns start;
	uint64_t next; /**< packet, of all calls                         */
	cr_ns held;    /**< by so much altogether                        */
	struct timetable_turn *turns;
};

/** Begins at @start; evenly spaced, or at random by @seed. 0, or -ENOMEM. */
int timetable_open(struct timetable *t, unsigned calls, cr_ns every,
		   cr_ns patience, cr_ns start, bool even, uint64_t seed);
void timetable_close(struct timetable *t);

/** When the next packet is due, and whose it is. */
cr_ns timetable_due(const struct timetable *t);
unsigned timetable_call(const struct timetable *t);

/** It has been sent. */
static inline void timetable_sent(struct timetable *t)
{
	t->next++;
}

/** Hold it if the next packet is later than the patience at @now: that packet
 * is due now. */
void timetable_hold(struct timetable *t, cr_ns now);

#endif
