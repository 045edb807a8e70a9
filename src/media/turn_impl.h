/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of a turn share: private to turn*.c.
 *
 *   turn.c        a worker's turns: what waits to be sent, is counted, traced
 *   turn_frame.c  what comes of one frame
 */
#ifndef MEDIA_TURN_IMPL_H
#define MEDIA_TURN_IMPL_H

#include "media/turn.h"

/* The turn in progress. */
struct turn {
	struct turn_worker *worker;
	struct call *call;
	cr_ns coded;   /* when the codec handed over its last packet */
	cr_ns sending; /* time inside the socket, if the burst overflowed */
};

/* What the turn in progress leaves to be sent. Its place is another one when
 * others have flushed while the codec was at work. */
static inline struct turn_unsent *turn_in_progress(struct turn_worker *w)
{
	return &w->unsent[w->nunsent];
}

/* Takes the frame of @c no time of the stream? */
static inline bool turn_is_timeless(const struct call *c)
{
	return c->meta.what == CR_RING_EVENT || c->meta.what == CR_RING_TICK;
}

/* Send the burst; a packet's tag is its turn's place among the unsent. Returns
 * how long that took. Lock held. */
cr_ns turn_send_all(struct turn_worker *w);

/* Run the claimed frame of the turn's call, within the codec; put what comes of
 * it into the burst. 0, or negative: the packet is malformed. */
int turn_frame(struct turn *t, const struct pipeline_input *in, bool stale);

#endif
