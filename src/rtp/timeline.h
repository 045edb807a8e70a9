/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RTP timestamps as times: which moment a timestamp stands for, if the sender's
 * clock ran like ours and its packets took no time. Exact for any length of a
 * call: the origin moves along by whole seconds.
 *
 * Pure; one thread at a time.
 */
#ifndef RTP_TIMELINE_H
#define RTP_TIMELINE_H

#include <stdint.h>

#include "cr/time.h"

struct timeline {
	uint32_t clock; /**< Hz, 1000..384000                              */
	int64_t newest; /**< extended timestamp that others are near to     */
	int64_t origin; /**< extended timestamp that stands for @at         */
	cr_ns at;
};

/** @ts stands for @at, and its extended form is @ts. */
static inline void timeline_begin(struct timeline *t, uint32_t clock,
				  uint32_t ts, cr_ns at)
{
	t->clock = clock;
	t->newest = t->origin = ts;
	t->at = at;
}

/** The extended form of @ts: the one that is nearest to the newest. */
static inline int64_t timeline_extend(const struct timeline *t, uint32_t ts)
{
	return t->newest + (int32_t)(ts - (uint32_t)t->newest);
}

/** How long @units (less than 2^32) of the clock last, ns. */
static inline cr_ns timeline_ns(const struct timeline *t, int64_t units)
{
	return units * CR_SEC / t->clock;
}

/** The time that the extended timestamp @ts, near to the newest, stands for. */
static inline cr_ns timeline_at(const struct timeline *t, int64_t ts)
{
	return t->at + timeline_ns(t, ts - t->origin);
}

/** @ts has been accepted: it may be the newest. */
static inline void timeline_advance(struct timeline *t, int64_t ts)
{
	const int64_t minute = 60 * (int64_t)t->clock;

	if (ts <= t->newest)
		return;
	t->newest = ts;
	while (t->newest - t->origin > 2 * minute) {
		t->origin += minute;
		t->at += 60 * CR_SEC;
	}
}

#endif
