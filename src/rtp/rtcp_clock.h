/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When reports are sent (RFC 3550, 6.2 and 6.3), between two parties. There the
 * smallest interval decides: two reports in 5 s need less than 5 % of any
 * speech stream. So neither bandwidth nor members are counted.
 *
 * Pure; one thread at a time.
 */
#ifndef RTP_RTCP_CLOCK_H
#define RTP_RTCP_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "cr/time.h"

/** The interval that RFC 3550, 6.2, recommends. */
#define RTCP_INTERVAL (5 * CR_SEC)

struct rtcp_clock {
	uint64_t random; /**< state of the generator                        */
	cr_ns base;	 /**< interval / (e - 1.5), see rtcp_clock.c        */
	cr_ns last;	 /**< when the last report was sent                 */
	cr_ns due;	 /**< look again then; CR_NEVER: stopped            */
	bool sent;	 /**< a report; the first comes in half the time    */
};

/** Begin at @now. Reports come @interval apart in the mean, 0.41 to 1.23 times
 * that each. @interval: at most 10 min; 0: never. */
void rtcp_clock_init(struct rtcp_clock *c, uint64_t seed, cr_ns interval,
		     cr_ns now);

/** A report must be sent at @now. False: not yet, see .due, which may have
 * moved. */
bool rtcp_clock_ready(struct rtcp_clock *c, cr_ns now);

/** No report is due any more. */
void rtcp_clock_stop(struct rtcp_clock *c);

#endif
