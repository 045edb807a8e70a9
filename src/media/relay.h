/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A relay: one direction of a conversation whose parties speak the same. The
 * receiver of the leg that it hears at sends each packet of the party on from
 * the other leg, in the turn that it came in. Payload types are mapped; all
 * else of a packet is as it came: sequence, timestamp, SSRC, marker, CSRC,
 * extension, padding, payload. So is the order, and what was lost or doubled
 * stays so: the party at the other end knows best what to do about it.
 *
 * A relay is no task of the engine, and no worker knows of it. It counts as a
 * call does (media/counters.h): at rest
 *
 *   packets_in = relayed = packets_out + send_failed + nowhere
 *
 * Three threads meet here:
 *   control   makes it, reads its counters
 *   rx        the receiver of its ear: everything under "rx", and the counters
 *   others    write the way of its mouth
 * Reclaim: its legs out of the receivers -> RCU grace period -> relay_free().
 */
#ifndef MEDIA_RELAY_H
#define MEDIA_RELAY_H

#include "media/call.h"
#include "udp/burst.h"
#include "udp/intake.h"

struct relay {
	/** Constant. What is a codec's, or the engine's, is only told. Ear and
	 * mouth are legs. */
	struct call_cfg cfg;
	struct rcu_head rcu;
	void *owner; /**< control's */

	/* rx: what every packet needs fits two lines, but for the counters */
	_Alignas(CACHE_LINE) struct leg *mouth; /**< constant */
	unsigned way_version;  /**< of what is in @to                    */
	int fd;		       /**< from where; constant                 */
	uint8_t pt_in, pt_out; /**< the codec's; constant               */
	struct rtp_source seen;
	struct sockaddr_storage to;
	/** What a payload type becomes, or RELAY_NO_TYPE; constant. */
	uint8_t type[128];
	struct call_counters count;
};

/** A type that is not passed on: the other party may mean something else by
 * its number. */
#define RELAY_NO_TYPE 0xffu

/** NULL: out of memory. @cfg: both sides alike; with ear and mouth. */
struct relay *relay_new(const struct call_cfg *cfg);
/** Free a relay that no thread can see any more. NULL is fine. */
void relay_free(struct relay *r);

/** Fetch into the cache what taking a packet of @r is about to use. */
static inline void relay_fetch(const struct relay *r)
{
	cache_fetch(&r->mouth, sizeof(r->mouth));
	cache_fetch(&r->to, sizeof(struct sockaddr_in6));
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

/** Pass on @p, parsed from @in, which has come to @leg; it may wait in @out for
 * others. False: @leg has no relay. A receiver, in a read-side critical section
 * that it leaves after relay_flush() only. */
bool relay_take(struct relay_burst *out, struct leg *leg,
		const struct rtp_packet *p, const struct intake_packet *in);

/** Send and count what waits. The same thread. */
void relay_flush(struct relay_burst *out);

#endif
