/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was sent against what came back, for one stream: by RTP timestamp, which
 * the daemon maps one to one (scaled by the two clocks) from a base that it
 * tells when the call starts. One that does not tell it (learn) has it learned:
 * the first packet that comes is taken for the answer to the first that was
 * sent. If that one is lost, delays are longer by the frames lost, and never
 * shorter than they were. And what is lost on the way there may be missing in
 * the sequence numbers of such a daemon's output alone, or in its timestamps
 * alone: the one that is farther counts.
 *
 * Struct heard (feeder/phone.h) is a second account, of two-way calls, because
 * it judges all packets that a party is sent by their own numbers, across
 * changes of SSRC and without times of sending, where match judges speech
 * against these; match_heard() takes the delay of what the first has counted.
 *
 * Two threads: the pacer calls match_sent(), the receiver match_received();
 * counters may be read by any thread. The window between them is a ring of
 * atomics: no lock, no allocation.
 */
#ifndef FEEDER_MATCH_H
#define FEEDER_MATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/counter.h"
#include "cr/time.h"
#include "observe/histogram.h"
#include "rtp/rtp.h"

/*
 * When every frame of a stream was sent and came back, and the file of it: with
 * the daemon's trace, what the network took of each frame's delay.
 */

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
	uint32_t stream;  /**< the daemon's number                      */
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

/** Write the head; errors are the stream's. */
void times_write_header(FILE *f, cr_ns realtime_offset);

/** Append the frames of a stream. @ts_first: RTP timestamp of frame 0;
 * @ts_ticks: of one frame. Errors are the stream's. */
void times_write(const struct times *t, FILE *f, uint32_t stream,
		 uint32_t ts_first, uint32_t ts_ticks);

/** Frames that may be under way at once (10 s of 20 ms). */
#define MATCH_WINDOW 512u

struct match_cfg {
	cr_ns in_frame;	    /**< speech in a packet sent, ns                */
	unsigned out_clock; /**< Hz of output timestamps                    */
	unsigned out_ticks; /**< RTP ticks of one packet received           */
	uint32_t ts_base;   /**< output timestamp of input frame 0          */
	cr_ns deadline;	    /**< later frames are late; CR_NEVER: none      */
	bool dtx;	    /**< silence is not sent: losses by sequence    */
	bool learn;	    /**< ts_base is not known                       */
};

/** A frame under way. */
struct match_slot {
	atomic_uint_fast64_t key; /**< frame + 1; release, pairs with the
				       acquire of match_received()          */
	_Atomic int64_t sent;	  /**< ns */
};

struct match {
	struct match_cfg cfg;
	struct times *times; /**< of every frame, owned; NULL: not kept */
	/* pacer */
	atomic_ullong sent, copies, octets_sent, withheld, missed;
	atomic_uint_fast64_t first; /**< frame + 1 of the first that was sent;
				       release, pairs with the acquire of
				       match_received()                     */
	struct match_slot slots[MATCH_WINDOW];
	/* receiver */
	atomic_ullong received, late, duplicates, reordered, unmatched, gaps,
		octets_received;
	uint64_t seen[MATCH_WINDOW]; /**< output frame + 1                  */
	struct rtp_source source;
	uint64_t seq_last; /**< learned: extended, counted in output frames */
	uint16_t seq;	   /**< of that                                     */
	bool learned;	   /**< ts_base is                                   */
	uint64_t ts_last;  /**< extended, from the base; offset by 2^32      */
	bool timed;
	cr_ns latest;  /**< delay of the new frame that came last          */
	cr_ns arrival; /**< of the packet before                           */
	uint64_t arrival_ts;
	struct histogram delay;	 /**< sending to receiving                  */
	struct histogram jitter; /**< inter-arrival time less nominal, abs. */
};

/** Begin; @m is zeroed memory, or has times. */
void match_init(struct match *m, const struct match_cfg *cfg);

/** Frame @frame leaves at @now. Pacer. */
void match_sent(struct match *m, uint64_t frame, cr_ns now);

/**
 * A packet arrived at @now. Receiver. Returns true and the output frame's
 * number in *@index when it is a new frame; false for duplicates, unmatched.
 */
bool match_received(struct match *m, const struct rtp_packet *p, cr_ns now,
		    uint64_t *index);

/**
 * New speech @p came at @now to a party of a two-way call, in packet @index as
 * counted by timestamps from the first one's (heard_packet()). That one is
 * taken for the answer to the first that was sent: if it was lost, delays are
 * longer by the frames lost. Receiver. Never late: a jitter buffer may hold it.
 */
void match_heard(struct match *m, const struct rtp_packet *p, uint64_t index,
		 cr_ns now);

/** Output packets that the frames sent so far should bring. */
uint64_t match_expected(const struct match *m);

/** Of these, how many have not come. */
uint64_t match_lost(const struct match *m);

#endif
