/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the workers of a recorded run spent their time: turns, what these took
 * beside the codecs, wake-ups, and what something else took.
 *
 * A worker's turn is all of its time for a frame: from its pick until the next
 * one, if it found that waiting. What a turn took beside the codecs is the
 * overhead; it is played as it was, frame by frame. A turn of more than three
 * times the median of its flow, or a wake-up of more than a millisecond, is
 * time that something else had the CPU: what is beyond the median stays where
 * it was in time, whichever frame it meets. What a turn takes more when the
 * worker goes over to another call (its codec's state is not in the cache) is
 * the context cost: the medians of both kinds of turns, by flow. A frame that
 * was not worked on takes what one drawn from those of its flow took about that
 * time. A worker that slept takes its time to wake up.
 *
 * Turns of codec_report/locality.py are of the same rule; those of
 * codec_report/blocks.py end with their frame, and begin with the end before.
 *
 * Thread rule: one thread.
 */
#ifndef SIM_WORKER_TIME_H
#define SIM_WORKER_TIME_H

#include "sim/recording.h"

struct worker_time_terms {
	const unsigned *flow; /**< [replay.ncalls] each call's              */
	unsigned nflows;
	bool own_overheads; /**< they are played                            */
	uint64_t seed;	    /**< of what is drawn                           */
};

/** Complete what is known of the frames of @r: cost, rest, received; and find
 * its overheads and stolen time. 0, or -errno with @e. */
int worker_time_find(struct recording *r, const struct worker_time_terms *t,
		     struct cr_err *e);

/** For people. */
void worker_time_report(const struct recording_overheads *o, FILE *f);

/** Of @n values, which it sorts; 0: there are none. */
cr_ns worker_time_quantile(cr_ns *v, size_t n, unsigned percent);

#endif
