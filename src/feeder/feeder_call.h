/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call as the feeder plays it: what is asked for and ends at once, of one
 * stream, or of two, which are the directions of a two-way call.
 *
 * Threads: calls are the main thread's. It makes their streams, hands a stream
 * to the receiver (by SSRC) and then to the pacer, and reads its counters; what
 * is below "constant" does not change once it is handed over.
 */
#ifndef FEEDER_FEEDER_CALL_H
#define FEEDER_FEEDER_CALL_H

#include <jansson.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "campaign/plan.h"
#include "feeder/match.h"
#include "feeder/phone.h"
#include "feeder/ports.h"
#include "feeder/source.h"

struct dump;
struct feeder_call;

/**
 * One direction. That of a two-way call has a phone, which sends from ports of
 * its own, and what comes of it is heard at the other direction's. Its counters
 * in match are of speech.
 */
struct feeder_stream {
	/* main */
	int64_t id;	    /**< the daemon's number of it              */
	json_t *counts;	    /**< the daemon's counters, owned; NULL: not
				 reported */
	struct port port;   /**< of its own, or none       */
	struct port caller; /**< by NG: what it sends from */
	/** Of port; of a phone: of what it sends from first. */
	char address[PORT_TEXT];
	struct feeder_call *call;

	/* constant */
	const struct plan_call *plan;
	const struct campaign_flow *flow;
	uint32_t ssrc, ts_first, ts_ticks;
	uint32_t ts_base; /**< output timestamp of frame 0; of by_port: learned
			   */
	uint8_t pt;
	uint8_t pt_out; /**< of a two-way call, and by NG */
	/** Of a two-way call: what its party sends or takes among the speech;
	 * -1: none of it. */
	int pt_events, pt_noise;
	bool by_port; /**< all speech at its port is its, whatever the SSRC */
	int fd;	      /**< to send from; borrowed until done */
	struct sockaddr_storage to;
	/** Of a two-way call, and by NG: whence answers come. */
	struct sockaddr_storage from;
	uint32_t ssrc_out;
	struct match *match; /**< owned */
	struct phone *phone; /**< of a two-way call, owned: pacer    */
	struct heard *heard; /**< of a two-way call, owned: receiver */
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
 * PLANNED -> STARTING -> ACTIVE -> STOPPING -> ENDED
 *                    \-> REFUSED
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
	enum feeder_call_state state;
	struct feeder_stream *side[2]; /**< of a two-way call, what a says and
					    what b says; else [1] is NULL   */
	cr_ns start;   /**< of the first of them, in the plan             */
	int64_t id;    /**< the daemon's number                           */
	cr_ns stop_at; /**< absolute; 0: not yet known                    */
	/* of a two-way call */
	bool relay;		   /**< without codecs                      */
	unsigned ended;		   /**< streams reported by stream.ended */
	cr_ns patience;		   /**< until then that is waited for       */
	cr_ns close_at;		   /**< what is under way has come          */
	json_t *reported;	   /**< call.stop's, owned; NULL            */
	struct balance balance[2]; /**< of what each side says              */
};

/** Streams of @c. */
static inline unsigned call_streams(const struct feeder_call *c)
{
	return c->side[1] ? 2 : 1;
}

/** Is @c a two-way call that was accepted? */
static inline bool two_way_began(const struct feeder_call *c)
{
	return c->side[1] && c->state >= CALL_ACTIVE && c->state <= CALL_ENDED;
}

/** The other direction of @st's two-way call. */
static inline struct feeder_stream *opposite_stream(
	const struct feeder_stream *st)
{
	return st->call->side[!st->flow->party.side];
}

/** Speech in one packet of the daemon's: PCM comes in our ptime. */
static inline cr_ns call_out_frame(const struct campaign_flow *f)
{
	return f->out.codec->any_length
		       ? f->ptime
		       : cr_codec_frame_ns(f->out.codec, &f->out.cfg);
}

#endif
