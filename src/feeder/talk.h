/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A conversation as the feeder plays it: two calls, one for each direction.
 * Main thread.
 */
#ifndef FEEDER_TALK_H
#define FEEDER_TALK_H

#include "feeder/balance.h"
#include "feeder/call.h"

struct talk {
	struct feeder_call *side[2]; /**< what a says; what b says           */
	int64_t id;		     /**< the daemon's number                */
	bool began;		     /**< it was accepted                    */
	bool relay;		     /**< without codecs                     */
	unsigned ended;		     /**< streams of which call.ended told   */
	cr_ns patience;		     /**< until then that is waited for      */
	cr_ns close_at;		     /**< what is under way has come         */
	json_t *told;		     /**< conversation.stop's, owned; NULL   */
	struct balance balance[2];   /**< of what each side says             */
};

/** The other direction of @c's conversation. */
static inline const struct feeder_call *talk_other(const struct feeder_call *c)
{
	return c->talk->side[!c->flow->party.side];
}

#endif
