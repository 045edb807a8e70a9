/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call as the feeder plays it, and a conversation: two calls, one for each
 * direction.
 *
 * Threads: the main thread makes them, hands a call to the receiver (by SSRC)
 * and then to the pacer, and reads its counters; what is below "constant" does
 * not change once it is handed over. A conversation is the main thread's.
 */
#ifndef FEEDER_TALK_H
#define FEEDER_TALK_H

#include <jansson.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "campaign/plan.h"
#include "feeder/match.h"
#include "feeder/phone.h"
#include "feeder/ports.h"
#include "feeder/source.h"

struct dump;
struct talk;

/*
 * PLANNED -> STARTING -> ACTIVE -> STOPPING -> ENDED
 *                    \-> REFUSED
 *
 * A direction of a conversation is a call, too, with a talk: it
 * has a phone that sends from ports of its own, and what comes of it is heard
 * at the other direction's. Its counters in match are of speech. Both are asked
 * for, and end, at once: they have the same state.
 */
enum feeder_call_state {
	CALL_PLANNED,
	CALL_STARTING, /**< call.start is on its way                       */
	CALL_ACTIVE,
	CALL_STOPPING, /**< call.stop is on its way                        */
	CALL_ENDED,
	CALL_REFUSED
};

struct feeder_call {
	/* main */
	enum feeder_call_state state;
	int64_t id;	    /**< the daemon's number of the call */
	cr_ns stop_at;	    /**< absolute; 0: not yet known */
	json_t *counts;	    /**< the daemon's counters, owned; NULL: not told */
	struct port port;   /**< of its own, or none       */
	struct port caller; /**< by NG: what it sends from */
	/** Of port; of a talk: of what it sends from first. */
	char address[PORT_TEXT];
	struct talk *talk; /**< NULL: a call             */

	/* constant */
	const struct plan_call *plan;
	const struct campaign_flow *flow;
	uint32_t ssrc, ts_first, ts_ticks;
	uint32_t ts_base; /**< output timestamp of frame 0; of by_port: learned
			   */
	uint8_t pt;
	uint8_t pt_out; /**< of a talk, and by NG */
	/** Of a talk: what its party sends or takes among the speech; -1: none
	 * of it. */
	int pt_events, pt_noise;
	bool by_port; /**< all speech at its port is its, whatever the SSRC */
	int fd;	      /**< to send from; borrowed until done */
	struct sockaddr_storage to,
		from; /**< of a talk, and by NG: whence answers come */
	uint32_t ssrc_out;
	struct match *match; /**< owned */
	struct phone *phone; /**< of a talk, owned: pacer */
	struct heard *heard; /**< of a talk, owned: receiver */
	struct dump *dump;   /**< owned; NULL: not dumped; receiver writes */
	cr_ns playout;	     /**< what comes later is not dumped           */
	/** Of its flow: so many speak, by plan->index. NULL: all. */
	const atomic_uint *speakers;

	/* pacer */
	struct source_voice voice;
	struct plan_stream stream;
	struct plan_packet next;
	uint16_t seq_first; /**< less what it did not send, being silent   */
	bool was_silent;    /**< what it says next begins a talk spurt     */
	atomic_bool done;   /**< last packet sent; release, pairs with main */
};

/*
 * A conversation as the feeder plays it: two calls, one for each direction.
 * Main thread.
 */

struct talk {
	struct feeder_call *side[2]; /**< what a says; what b says           */
	int64_t id;		     /**< the daemon's number                */
	bool relay;		     /**< without codecs                     */
	unsigned ended;		     /**< streams of which call.ended told   */
	cr_ns patience;		     /**< until then that is waited for      */
	cr_ns close_at;		     /**< what is under way has come         */
	json_t *reported;	     /**< conversation.stop's, owned; NULL   */
	struct balance balance[2];   /**< of what each side says             */
};

/** Was it accepted? */
static inline bool talk_began(const struct talk *t)
{
	enum feeder_call_state state = t->side[0]->state;

	return state >= CALL_ACTIVE && state <= CALL_ENDED;
}

/** The other direction of @c's conversation. */
static inline struct feeder_call *talk_other(const struct feeder_call *c)
{
	return c->talk->side[!c->flow->party.side];
}

/** Speech in one packet of the daemon's: PCM comes in our ptime. */
static inline cr_ns call_out_frame(const struct campaign_flow *f)
{
	return f->out.codec->any_length
		       ? f->ptime
		       : cr_codec_frame_ns(f->out.codec, &f->out.cfg);
}

#endif
