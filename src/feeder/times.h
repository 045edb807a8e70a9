/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When every frame of a call was sent and came back, and the file of it:
 * with the daemon's trace, what the network took of each frame's delay.
 *
 * The pacer calls times_sent(), the receiver times_received(): of the same
 * frame too, for they write different members. Others read when both have
 * stopped.
 */
#ifndef FEEDER_TIMES_H
#define FEEDER_TIMES_H

#include <stdint.h>
#include <stdio.h>

#include "cr/time.h"

#define TIMES_MAGIC "CRFRAME1"

/** Head of the file, little-endian; records follow until its end. */
struct times_header {
	char magic[8];
	uint32_t record_bytes; /**< sizeof(struct times_record) */
	uint32_t pad;
	int64_t realtime_offset; /**< CLOCK_REALTIME - CLOCK_MONOTONIC, ns */
};

/** One frame that was sent. */
struct times_record {
	uint32_t call;	  /**< the daemon's number                      */
	uint32_t rtp_ts;  /**< of the packet sent                       */
	int64_t sent;	  /**< CLOCK_MONOTONIC, ns                      */
	int64_t received; /**< the packet that answers it; 0: none came */
};

_Static_assert(sizeof(struct times_header) == 24, "file format");
_Static_assert(sizeof(struct times_record) == 24, "file format");

struct times;

/** For so many frames; those beyond are not kept. NULL: no memory. */
struct times *times_new(uint64_t frames);
void times_free(struct times *t); /**< NULL is fine */

void times_sent(struct times *t, uint64_t frame, cr_ns now);
void times_received(struct times *t, uint64_t frame, cr_ns now);

/** Write the head; errors are the stream's. */
void times_write_header(FILE *f, cr_ns realtime_offset);

/** Append the frames of a call. @ts_first: RTP timestamp of frame 0;
 * @ts_units: of one frame. Errors are the stream's. */
void times_write(const struct times *t, FILE *f, uint32_t call,
		 uint32_t ts_first, uint32_t ts_units);

#endif
