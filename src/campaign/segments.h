/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What calls of a flow say comes from many segments of speech, made before the
 * campaign begins; each call has a way of its own through them: its own first
 * one, its own offset and its own order. The feeder, which sends them, and the
 * simulator, which rates them, share it.
 *
 * Pure; any thread.
 */
#ifndef CAMPAIGN_SEGMENTS_H
#define CAMPAIGN_SEGMENTS_H

#include <stddef.h>
#include <stdint.h>

#include "cr/time.h"

struct campaign_flow;

struct segments {
	unsigned count;
	unsigned frames; /**< of one */
};

/** Of @f in a campaign of @duration: segments need not be longer. PCM has as
 * many as fit into some memory, codecs fewer: each costs codec time. */
struct segments segments_of(const struct campaign_flow *f, cr_ns duration);

/** One call's way. */
struct segment_walk {
	struct segments in;
	uint64_t first, step, offset;
};

/** That of the call with @seed. */
void segment_walk_init(struct segment_walk *w, struct segments in,
		       uint64_t seed);

/** The place of media frame @frame: segment * frames + frame of it. */
size_t segment_at(const struct segment_walk *w, uint64_t frame);

#endif
