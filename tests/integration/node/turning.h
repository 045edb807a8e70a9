/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call of two streams in whose course relays become calls, and calls relays:
 * what each party says is heard, once, with the next number and timestamp.
 */
#ifndef TEST_TURNING_H
#define TEST_TURNING_H

#include "talkers.h"

/** A packet of 20 ms, in units of 8 kHz. */
#define TURNING_STEP 160u

/** The packet that a party has heard last. */
struct line {
	bool any;
	uint16_t seq;
	uint32_t ts, ssrc;
};

struct turning {
	struct node_fixture rig;
	struct node_call *c;
	struct talker p[2];
	struct line line[2]; /**< what each hears */
	unsigned pt[2];	     /**< of what each sends, and is sent */
	unsigned long long sent;
};

/** Party A sends, and is sent, packets of type @a, B of @b. Both have spoken
 * once, so that their addresses are known. */
void turning_open(struct turning *t, const struct fixture_options *o,
		  const char *json, unsigned a, unsigned b);
/** The call ends; all sums are exact. */
void turning_close(struct turning *t);

/** @t hears one packet of type @pt, @seq_step and @ts_step behind the one
 * before. */
void line_hears(struct line *l, const struct talker *t, unsigned pt,
		uint16_t seq_step, uint32_t ts_step);

/** Party @i says @n packets of 20 ms, all of which are heard. */
void turning_say(struct turning *t, unsigned i, unsigned n);
/** Both do so by turns. */
void turning_say_both(struct turning *t, unsigned n);

/** What came and what left, whoever had it: all sums are exact. */
void turning_sums(struct turning *t);
/** The same of what came: digits' ticks lead to no packet. */
void turning_came(struct turning *t);

#endif
