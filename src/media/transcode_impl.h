/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of a turn share: private to turn*.c.
 *
 *   turn.c        a worker's turns: what waits to be sent, is counted, traced
 *   transcode_frame.c  what comes of one frame
 */
#ifndef MEDIA_TRANSCODE_IMPL_H
#define MEDIA_TRANSCODE_IMPL_H

#include "media/transcode.h"

/* The turn in progress. */
struct transcode {
	struct transcode_worker *worker;
	struct call *call;
	cr_ns coded;   /* when the codec handed over its last packet */
	cr_ns sending; /* time inside the socket, if the burst overflowed */
	bool excess;   /* no packet of speech may be sent: no codec runs */
};

/* What the turn in progress leaves to be sent. Its place is another one when
 * others have flushed while the codec was at work. */
static inline struct transcode_unsent *transcode_in_progress(
	struct transcode_worker *w)
{
	return &w->unsent[w->nunsent];
}

/* Has the frame of @c a number in which gaps show? Behind a jitter buffer,
 * which has told already of those that never came, all that takes time; else
 * what has come by RTP. */
static inline bool turn_is_numbered(const struct call *c)
{
	return c->buffers ? cr_frame_takes_time(&c->meta)
			  : c->meta.what == FRAME_RING_SPEECH ||
				    c->meta.what == FRAME_RING_NOISE ||
				    c->meta.what == FRAME_RING_EVENT;
}

/* Send the burst; a packet's tag is its turn's place among the unsent. Returns
 * how long that took. Lock held. */
cr_ns transcode_send_all(struct transcode_worker *w);

/* Run the claimed frame of the turn's call, within the codec; put what comes of
 * it into the burst. 0, or negative: the packet is malformed. */
int transcode_frame(struct transcode *t, const struct pipeline_input *in,
		    bool expired);

#endif
