/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many packets a stream may send: one each packet time, in the long run.
 *
 * The input decides how much is sent: an octet may be 120 ms of Opus,
 * timestamps may stand still, and gaps in the numbers are concealed. A network
 * that stalled may deliver seconds of speech at once, but speech is no faster
 * than time. So a stream has a bucket (the generic cell rate algorithm of ITU-T
 * I.371), and a packet that does not fit is not sent.
 *
 * Pure; time is an argument. One thread at a time.
 */
#ifndef MEDIA_QUOTA_H
#define MEDIA_QUOTA_H

#include <stdbool.h>

#include "cr/time.h"

/** So much speech may be sent at once. */
#define QUOTA_BURST (2 * CR_SEC)
/** Clocks of senders may be faster than ours: by a 32nd of it. */
#define QUOTA_DRIFT 32

/** Zero has sent nothing. */
struct quota {
	cr_ns until; /**< what was sent lasts until then */
};

/** Would quota_take() be true? */
static inline bool quota_fits(const struct quota *q, cr_ns burst, cr_ns now,
			      cr_ns time)
{
	return cr_ns_max(q->until, now) - now <= burst - time;
}

/** May a packet of @time be sent at @now, where @burst may be at once? It
 * counts. A clock that goes back allows no more. */
static inline bool quota_take(struct quota *q, cr_ns burst, cr_ns now,
			      cr_ns time)
{
	if (!quota_fits(q, burst, now, time))
		return false;
	q->until = cr_ns_max(q->until, now) + time - time / QUOTA_DRIFT;
	return true;
}

#endif
