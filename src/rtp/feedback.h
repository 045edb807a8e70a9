/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the far side's reports say of the stream that we send: its losses, its
 * jitter, and the round trip (RFC 3550, 6.4.1).
 *
 * Pure; one thread at a time.
 */
#ifndef RTP_FEEDBACK_H
#define RTP_FEEDBACK_H

#include <stdint.h>

#include "cr/time.h"
#include "rtp/rtcp.h"

/** SRs that may be answered; earlier ones are forgotten. */
#define FEEDBACK_SRS 4u

/** A quantity that was told several times. Zero: not yet. */
struct feedback_span {
	uint64_t n;
	uint64_t sum;
	uint64_t last, min, max;
};

struct feedback {
	uint64_t reports;	       /**< on us                           */
	struct feedback_span fraction; /**< lost of an interval, 1/256      */
	struct feedback_span jitter;   /**< ticks of the clock that we send */
	struct feedback_span rtt;      /**< round trip, ns                  */
	int32_t lost;		       /**< packets, as told last           */
	uint32_t highest;	       /**< sequence number, as told last   */
	uint64_t odd; /**< reports that answered no SR of ours, or in no time */
	struct {
		uint32_t lsr; /**< 0: none */
		cr_ns at;
	} sr[FEEDBACK_SRS]; /**< the newest that we sent                    */
	unsigned next;
};

/** An SR that tells @ntp is sent at @now. */
void feedback_sr(struct feedback *f, uint64_t ntp, cr_ns now);

/**
 * Report @r on us has come at @now. The round trip counts if it answers one of
 * the newest SRs; it is A - LSR - DLSR, where A - LSR is taken on the clock of
 * @now, so that a wall clock that is set does no harm.
 */
void feedback_report(struct feedback *f, const struct rtcp_report *r,
		     cr_ns now);

/** The mean of @s, rounded down; 0: nothing was told. */
uint64_t feedback_mean(const struct feedback_span *s);

#endif
