/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packet time: how much speech the packets have that we send (SDP's ptime).
 * Frames of one codec have one length, and a packet has several; PCM has any;
 * of Opus and its like a packet is one frame, of the lengths that it knows.
 *
 * Pure: any thread.
 */
#ifndef NODE_PACKET_TIME_H
#define NODE_PACKET_TIME_H

#include "cr/error.h"
#include "media/pipeline.h"

/** Let packets of the output @s last @time. 0, or -EINVAL with @e and @s as it
 * was: it cannot, and @e says what it can. @path is what stands before the
 * member "ptime". */
int packet_time_set(struct pipeline_side *s, cr_ns time, const char *path,
		    struct cr_err *e);

/** Nothing is asked of the output @s, and packets of the input last @time:
 * those of the output last as long if it can have such frames, else a frame.
 * @time: the codec may have it. */
void packet_time_follow(struct pipeline_side *s, cr_ns time);

#endif
