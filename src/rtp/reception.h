/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a receiver knows of the source that it hears, as its reports tell it
 * (RFC 3550, 6.4.1): sequence, losses, interarrival jitter, the last SR.
 *
 * Pure; one thread at a time.
 */
#ifndef RTP_RECEPTION_H
#define RTP_RECEPTION_H

#include "cr/time.h"
#include "rtp/rtcp.h"
#include "rtp/rtp.h"

/** Bytes from the beginning that a packet in order touches: aligned to them, it
 * is one cache line. */
#define RECEPTION_HOT_BYTES 64u

struct reception {
	uint64_t per_ns;  /**< ticks of the RTP clock, 0.64 fixed point     */
	uint32_t ssrc;	  /**< of the source; meaningful once it has begun  */
	uint32_t rate;	  /**< Hz of the RTP clock                          */
	uint32_t transit; /**< arrival less timestamp of the last packet    */
	uint32_t jitter;  /**< 16 times the estimate, ticks (A.8)           */
	bool timed;	  /**< transit is of a packet                       */
	struct rtp_source source; /**< sequence, losses, duplicates         */
	/* of the whole session */
	uint64_t sources;     /**< SSRCs that were heard                  */
	uint64_t lost_before; /**< of those before the present one        */
	uint64_t packets_before;
	/* since the last report */
	uint64_t expected;
	uint64_t received;
	/* the last SR */
	uint32_t sr_ssrc;
	uint32_t lsr; /**< middle of its ntp; 0: there was none             */
	cr_ns sr_at;
};

/** Begin, with an RTP clock of @rate Hz (1 to 10^6). */
void reception_init(struct reception *r, uint32_t rate);

/** The clock of the packets that follow is @rate Hz (RFC 7160). */
void reception_set_rate(struct reception *r, uint32_t rate);

/**
 * Packet @p has come at @now, which may go back. Another SSRC than before is
 * another source: its numbers begin anew. Returns what the number means, as
 * rtp_source_update(). @timed: its timestamp is its sampling instant, unlike in
 * further packets of a telephone event, or of another clock; only then it
 * counts for the jitter. No division.
 */
enum rtp_arrival reception_packet(struct reception *r,
				  const struct rtp_packet *p, bool timed,
				  cr_ns now);

/** Sender @ssrc has told @ntp in an SR that came at @now. */
void reception_sender(struct reception *r, uint32_t ssrc, uint64_t ntp,
		      cr_ns now);

/**
 * The report of the source at @now into *@out; from here on the next one
 * counts. False: nothing was received since the last report, and none is due
 * (RFC 3550, 6.4).
 */
bool reception_report(struct reception *r, cr_ns now, struct rtcp_report *out);

/** Interarrival jitter, ns. */
cr_ns reception_jitter(const struct reception *r);

/** Packets that never came, of all sources of the session, and that came. A
 * duplicate is none. */
uint64_t reception_lost(const struct reception *r);
uint64_t reception_received(const struct reception *r);

#endif
