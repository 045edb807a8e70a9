/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interarrival jitter of a call's packets (RFC 3550, 6.4.1 and A.8), of
 * those that a worker takes, in their order.
 *
 * One writer; arrivals_jitter() is for any thread. No allocation.
 */
#ifndef MEDIA_ARRIVALS_H
#define MEDIA_ARRIVALS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cr/time.h"

/** Zero has seen none. */
struct arrivals {
	cr_ns at; /**< of the last packet */
	uint32_t rtp_ts;
	bool any;
	_Atomic cr_ns jitter; /**< 16 times; relaxed */
};

/** A packet with the timestamp @rtp_ts came @at; @step units of its clock are
 * @period. A difference of a second or more is another beginning and does not
 * count. The writer only. */
static inline void arrivals_add(struct arrivals *a, cr_ns at, uint32_t rtp_ts,
				uint32_t step, cr_ns period)
{
	int32_t units = (int32_t)(rtp_ts - a->rtp_ts);
	cr_ns d = at - a->at, old;
	bool first = !a->any;

	a->at = at;
	a->rtp_ts = rtp_ts;
	a->any = true;
	if (first || !step)
		return;
	d -= units * period / (cr_ns)step;
	d = d < 0 ? -d : d;
	if (d >= CR_SEC)
		return;
	/* J += (|D| - J) / 16, of 16 J */
	old = atomic_load_explicit(&a->jitter, memory_order_relaxed);
	atomic_store_explicit(&a->jitter, old + d - old / 16,
			      memory_order_relaxed);
}

/** The jitter, ns. */
static inline cr_ns arrivals_jitter(const struct arrivals *a)
{
	return atomic_load_explicit(&a->jitter, memory_order_relaxed) / 16;
}

#endif
