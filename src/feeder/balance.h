/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The balance of one direction of a conversation: what one party sent, what
 * the daemon counted of it, and what the other party was sent. Every packet
 * must be in each of the three, and once:
 *
 *   sent        = taken in + refused, by each of the daemon's reasons
 *   taken in + made = transcoded + dropped, by each of its reasons
 *   transcoded <= sent on <= transcoded + made for what was missing
 *   sent on     = came to the other party
 *
 * What comes goes on without a break: no number and no speech twice, and no
 * number left out for which nothing was missing. Digits come in the order in
 * which they were dialled, none twice, each as long as it was, and without
 * speech in it.
 *
 * What is relayed is not transcoded: it comes as it was sent, so only the sums
 * are judged.
 *
 * Pure.
 */
#ifndef FEEDER_BALANCE_H
#define FEEDER_BALANCE_H

#include "feeder/heard.h"
#include "feeder/phone.h"
#include "media/counters.h"

/** Sentences that a direction can earn. */
#define BALANCE_FAULTS_MAX 16u
#define BALANCE_TEXT 256u

/** One direction. */
struct balance_side {
	const struct phone *phone; /**< who sends                       */
	const struct heard *heard; /**< what the other one is sent      */
	/** The daemon's counters of the stream, by enum call_counter. */
	const uint64_t *daemon;
	bool reported;	    /**< the daemon did tell these              */
	uint64_t drops;	    /**< of the other one's sockets             */
	unsigned clock_out; /**< of the timestamps of what comes, Hz    */
	/** One packet out for each of speech in: equally long, and no codec
	 * leaves any out. */
	bool one_to_one;
	/** The daemon passes packets on as they are: numbers, timestamps and
	 * what is wrong with them are the sender's. */
	bool relay;
};

/** What was found. Zero: nothing. */
struct balance {
	unsigned count; /**< of faults */
	char faults[BALANCE_FAULTS_MAX][BALANCE_TEXT];
	unsigned digits_sent;  /**< dialled, and something of it was sent */
	unsigned digits_right; /**< of these: came as they were           */
};

/** Judge @s into @out. */
void balance_judge(const struct balance_side *s, struct balance *out);

#endif
