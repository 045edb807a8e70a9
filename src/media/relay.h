/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A relay: one direction of a conversation whose parties speak the same. The
 * receiver of the endpoint that it hears at sends each packet of the party on
 * from the other endpoint, in the turn that it came in. Payload types are
 * mapped; all else of a packet is as it came: sequence, timestamp, SSRC,
 * marker, CSRC, extension, padding, payload. So is the order, and what was lost
 * or doubled stays so: the party at the other end knows best what to do about
 * it.
 *
 * A relay is no task of the engine, and no worker knows of it. It counts as a
 * call does (media/counters.h): at rest
 *
 *   packets_in = relayed = packets_out + send_failed + no_destination + held
 *
 * Handover. Parties that speak the same may come to differ, and the other way
 * round (a re-INVITE). So a relay may *stand for* a call: one of both has the
 * party's packets. Control says which it wants, the receiver changes over
 * (relay_takes()):
 *
 *   relay -> call   at the next packet, also one that the endpoint then refuses
 *   call -> relay   at a packet of the codec that is relayed, which the
 *                   endpoint has accepted, when the call is at rest: every
 *                   frame before has been sent, and no digit goes on
 *
 * To who listens it is one stream: SSRC, sequence numbers and timestamps go on.
 * So from the first call on, these are mapped, too: a constant is added. What
 * the sender has lost or doubled still shows. So it is from the first time on
 * that the listener was on hold: a receiver takes a gap in the numbers for
 * loss, and a large one for another sender (RFC 3550, A.1). How long it was
 * shows in the timestamps.
 *
 * Three threads meet here:
 *   control   makes it, says what is wanted, reads its counters
 *   rx        the receiver of its incoming endpoint: everything under "rx", and
 *             the counters
 *   others    write the destination of its outgoing endpoint
 * Reclaim: its endpoints out of the receivers -> RCU grace period ->
 * relay_free().
 */
#ifndef MEDIA_RELAY_H
#define MEDIA_RELAY_H

#include "media/call.h"
#include "udp/burst.h"
#include "udp/intake.h"

/** A type that is not passed on: the other party may mean something else by
 * its number. */
#define RELAY_NO_TYPE 0xffu
/** Comfort noise has a type of its own (RFC 3551, table 4). */
#define RELAY_NOISE_PT 13u

/** What payload types become. */
struct relay_types {
	uint8_t in; /**< the codec's */
	struct aux_types aux;
	uint8_t type[128];
	/** Of the timestamps of speech that was agreed on, Hz; 0: is none. */
	uint32_t clock[128];
	cr_ns period; /**< how long a packet is */
	struct rcu_later rcu;
};

/** What packets it is to have; the call has the others. */
enum relay_share {
	RELAY_NONE,
	RELAY_SOME, /**< all but those that only the call knows */
	RELAY_ALL
};

struct relay {
	/** Control's, replaced by relay_change(); rx reads in_endpoint only,
	 * which is constant. What concerns a codec or the engine is without
	 * effect. */
	struct call_cfg cfg;
	struct rcu_later rcu;
	void *owner; /**< control's */

	/* what every packet needs */
	_Alignas(CACHE_LINE) struct endpoint *out_endpoint; /**< constant */
	/** Control's word, read by rx in a read-side critical section. */
	_Atomic(struct relay_types *) types;
	_Atomic(struct call *) call; /**< that it stands for, or NULL      */
	atomic_uint share;	     /**< enum relay_share                 */
	/* rx */
	atomic_bool on;	   /**< it has the packets; others may look    */
	bool renumbers;	   /**< not as they came: as @out.ssrc         */
	uint8_t sent_pt;   /**< of the last one, as it came            */
	uint16_t seq_more; /**< what is added then ...                 */
	uint32_t ts_more;  /**< ...                                    */
	/** SSRC of what was sent last, above 2^32; 0: nothing. Others look. */
	_Atomic uint64_t sent_ssrc;
	struct rtp_source seen;
	struct stream_out out; /**< the newest; constant: out.destination, fd */
	struct call_counters count;
};

/** What the types of @cfg become: those that signalling has said are passed on,
 * and no others; or (nothing said) those of both sides, which are alike.
 * @aux: what comes among speech, and came before. NULL: out of memory.
 * Control, as the next three. */
struct relay_types *relay_types_new(const struct call_cfg *cfg,
				    struct aux_types aux);
/** And, where its numbers are free, the speech of @former: parties that have
 * not heard of a change go on by that. */
void relay_types_keep(struct relay_types *t, const struct relay_types *former);
/** But no other speech that @others have: a call can make something of that. */
void relay_types_leave(struct relay_types *t, const struct call_types *others);
/** May the party of @cfg send what is for a call, beside what is passed on? */
bool relay_needs_call(const struct call_cfg *cfg);

/** NULL: out of memory. @cfg: both sides alike; with in_endpoint and
 * out_endpoint. @types are its own then. It has no call, and all packets. */
struct relay *relay_new(const struct call_cfg *cfg, struct relay_types *types);
/** The same, that stands for @call, which has the packets; its types may leave
 * some to that. */
struct relay *relay_new_for(struct call *call, const struct call_cfg *cfg,
			    struct relay_types *types);
/** Free a relay that no thread can see any more. NULL is fine. */
void relay_free(struct relay *r);

/** It stands for @call, which is complete and listens at its incoming endpoint,
 * from now on. Control. */
void relay_stand_for(struct relay *r, struct call *call);
/** Let it go on as @cfg, and pass on by @types, its own then. Control. */
void relay_change(struct relay *r, const struct call_cfg *cfg,
		  struct relay_types *types);
/** What it is to have from now on; RELAY_NONE and RELAY_SOME of one that stands
 * for a call. Control. */
void relay_want(struct relay *r, enum relay_share share);

/** What it passes on. Control; the receiver, in a read-side critical section.
 */
static inline const struct relay_types *relay_types(const struct relay *r)
{
	return atomic_load_explicit(&r->types, memory_order_acquire);
}

/** The clock of timestamps of type @pt, as far as is known, Hz. */
static inline uint32_t relay_clock(const struct relay_types *t, uint8_t pt)
{
	return t->clock[pt] ? t->clock[pt] : t->clock[t->in];
}

/** Has it the packets? Any thread. */
static inline bool relay_is_on(const struct relay *r)
{
	return atomic_load_explicit(&r->on, memory_order_acquire);
}

/** The SSRC of what it has sent last, into *@ssrc. False: nothing. Any thread.
 */
bool relay_sends_as(const struct relay *r, uint32_t *ssrc);

/** Fetch into the cache what taking a packet of @r is about to use. */
static inline void relay_fetch(const struct relay *r)
{
	cache_fetch(&r->out_endpoint,
		    offsetof(struct relay, out.to) -
			    offsetof(struct relay, out_endpoint) +
			    sizeof(struct sockaddr_in6));
	cache_fetch(&r->count.packets_in, sizeof(r->count.packets_in));
	cache_fetch(&r->count.packets_out, sizeof(r->count.packets_out) * 2);
}

/** Packets of a receiver's relays on their way out. Zero is empty. */
struct relay_burst {
	struct burst burst; /**< burst_open() may come first */
	struct relay_unsent {
		struct relay *relay;
		size_t octets; /**< of payload */
	} unsent[BURST_PACKETS];
};

/** A packet that has come, and what is to become of it. */
struct relay_packet {
	const struct rtp_packet *rtp;
	const struct intake_packet *in; /**< that it was parsed from */
	/* by relay_takes() */
	struct relay *relay;
	const struct relay_types *types; /**< control may have others by now */
	bool begins;			 /**< the call had the one before */
};

/** Has the relay of @endpoint the packet @t, if the endpoint accepts it? False:
 * there is none, or its listener has it. A receiver, in a read-side critical
 * section that it leaves after relay_flush() only, as the next two. */
bool relay_takes(struct relay_burst *out, struct endpoint *endpoint,
		 struct relay_packet *t);

/** May its party send type @pt? */
static inline bool relay_agrees(const struct relay_types *t, uint8_t pt)
{
	return t->clock[pt] || pt == RELAY_NOISE_PT ||
	       aux_what(t->aux, pt) != FRAME_RING_SPEECH;
}

/** Pass @t on, which was accepted and has a type; it may wait in @out for
 * others. @fresh: it is of another sender than the one before. */
void relay_pass(struct relay_burst *out, struct endpoint *endpoint,
		const struct relay_packet *t, bool fresh);

/** Send and count what waits. The same thread. */
void relay_flush(struct relay_burst *out);

/* --- handover --- */

/*
 * Turns between a relay and the call that it stands for: who
 * has the packet that has come, and how the numbers of what is sent go on.
 *
 * The receiver of both, in a read-side critical section.
 */

/** As many packets may be missing before a sender counts as begun anew. */
#define RELAY_HANDOVER_GAP 100

/** Has @seq come before @last, or is it that, and no new beginning? */
static inline bool relay_handover_is_late(uint16_t seq, uint16_t last)
{
	int16_t step = (int16_t)(seq - last);

	return step <= 0 && step > -RELAY_HANDOVER_GAP;
}

/** The first packet that is the call's, @p of a type that it knows, was
 * accepted: let the numbers of what it sends follow those of the relay. @fresh:
 * of another sender than the one before; @now: when it came. Where call.after
 * is set, until it is not. */
void relay_handover_join(struct call *c, const struct rtp_packet *p, bool fresh,
			 cr_ns now);

#endif
