/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns between a relay and the call that it stands for (media/relay.h): who
 * has the packet that has come, and how the numbers of what is sent go on.
 *
 * The receiver of both, in a read-side critical section.
 */
#ifndef MEDIA_RELAY_TURN_H
#define MEDIA_RELAY_TURN_H

#include "media/relay.h"

/** As many packets may be missing before a sender counts as begun anew. */
#define RELAY_HANDOVER_GAP 100

/** Has @seq come before @last, or is it that, and no new beginning? */
static inline bool relay_handover_is_late(uint16_t seq, uint16_t last)
{
	int16_t step = (int16_t)(seq - last);

	return step <= 0 && step > -RELAY_HANDOVER_GAP;
}

/** Whose a packet is. */
enum relay_handover {
	RELAY_HANDOVER_RELAY, /**< the relay's, as was the one before       */
	RELAY_HANDOVER_CALL,  /**< the call's, so, too                      */
	RELAY_HANDOVER_BEGIN, /**< the relay's, if its endpoint accepts it: then
			       relay_handover_begin()                       */
	RELAY_HANDOVER_END    /**< the call's; relay_handover_end(), before its
			   endpoint is asked                             */
};

enum relay_handover relay_handover_of(struct relay *r,
				      const struct rtp_packet *p);

/** The endpoint has accepted @p, which came at @now, and the relay has it.
 * @fresh: of another sender than the one before. */
void relay_handover_begin(struct relay *r, const struct rtp_packet *p,
			  bool fresh, cr_ns now);

/** The call has the packets from now on; what the relay has sent has left. */
void relay_handover_end(struct relay *r);

/** The first packet that is the call's, @p of a type that it knows, was
 * accepted: let the numbers of what it sends follow those of the relay. @fresh,
 * @now: as above. Where call.after is set, until it is not. */
void relay_handover_join(struct call *c, const struct rtp_packet *p, bool fresh,
			 cr_ns now);

/** The sender is another one, whose first packet is @p: what is passed on goes
 * on, if it is renumbered. */
void relay_handover_renumber(struct relay *r, const struct rtp_packet *p,
			     cr_ns now);

/** The listener has been on hold, and @p is the first packet for it: its number
 * follows that of what was sent last. */
void relay_handover_resume(struct relay *r, const struct rtp_packet *p);

#endif
