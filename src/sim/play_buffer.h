/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The jitter buffer of one simulated call: the same state machine as the
 * daemon's (rtp/jitter.h), whose packets carry what the simulator knows of
 * them.
 *
 * Thread rule: one thread at a time.
 */
#ifndef SIM_PLAY_BUFFER_H
#define SIM_PLAY_BUFFER_H

#include <stdbool.h>
#include <stdint.h>

#include "campaign/campaign.h"

struct play_buffer;

/** A packet, or what stands in for it. */
struct play_frame {
	uint64_t frame; /**< number in the call                             */
	cr_ns arrival;	/**< from the network; concealed: when it was missed */
	cr_ns waited;	/**< in the buffer                                  */
	bool concealed; /**< it did not come                                */
};

/** What the buffer does not play, and calls for with its @arg. */
typedef void play_buffer_gone(void *arg, const struct play_frame *f);

/** As the flow @f says. 0 and *@b (NULL: the flow has none; else
 * play_buffer_close()), or -ENOMEM. @gone: what it had taken and drops. */
int play_buffer_open(struct play_buffer **b, const struct campaign_flow *f,
		     play_buffer_gone *gone, void *arg);
/** NULL is fine. */
void play_buffer_close(struct play_buffer *b);

/** Packet number @seq of the call, with frame @frame, came at @arrival, and the
 * receiver has it now, at @now. False: it is of no use any more. */
bool play_buffer_put(struct play_buffer *b, uint64_t frame, uint64_t seq,
		     cr_ns arrival, cr_ns now);

/** What is played at @now: call until false. */
bool play_buffer_next(struct play_buffer *b, cr_ns now, struct play_frame *f);

/** When that has something to do; CR_NEVER: not before a packet comes. */
cr_ns play_buffer_due(const struct play_buffer *b);

/** Whether packets wait. */
bool play_buffer_waits(const struct play_buffer *b);

/** The call is over: what waits is dropped. */
void play_buffer_end(struct play_buffer *b);

#endif
