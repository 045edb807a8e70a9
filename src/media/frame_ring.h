/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame buffer of a stream: a lock-free ring with a single producer and a
 * single consumer; when it is full the OLDEST frame goes.
 *
 * Producer: the stream's receiver; wait-free. Consumer: the holder of its
 * run-queue lock (peek, claim), then the one worker that runs its job (reads
 * the claimed frame). Order is kept, no frame is torn or seen twice, under a
 * consumer that is arbitrarily slow.
 *
 *   slot[seq % slots]  an atomic word: sequence | full bit | buffer index
 *   buffers            slots + 2: one per slot, the producer's spare, and the
 *                      one the consumer holds
 *
 * The producer fills its spare buffer, exchanges it into the slot of its
 * sequence and gets the slot's former buffer as the new spare; if that one was
 * still full, its frame is dropped (and its metadata is still readable, so the
 * drop can be traced). The consumer compare-and-swaps on the exact word it
 * expects; when it fails it was lapped and skips ahead.
 */
#ifndef MEDIA_FRAME_RING_H
#define MEDIA_FRAME_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cr/time.h"

/** The kinds of frames. All but the first two were not sent by the party as
 * speech, and some were not sent at all: its receiver made them. */
enum frame_ring_what {
	FRAME_RING_SPEECH, /**< a payload of one of the input's codecs */
	FRAME_RING_NOISE,  /**< a payload of comfort noise (rtp/comfort_noise.h)
			    */
	FRAME_RING_EVENT,  /**< a payload of telephone events  */
	FRAME_RING_LOST,   /**< made: nothing came for `rtp_ticks`   */
	FRAME_RING_SILENCE, /**< made: nothing is being said for `rtp_ticks` */
	FRAME_RING_TICK /**< made: time has passed                            */
};

/** Members of a frame that the engine needs without touching its bytes. Those
 * behind seq are kept with them, as words. */
struct cr_frame_meta {
	uint64_t seq;	  /**< producer's count, from 0, no gaps            */
	cr_ns arrival;	  /**< kernel receive time, monotonic               */
	uint32_t rtp_ts;  /**< the packet's RTP timestamp                   */
	uint16_t rtp_seq; /**< the packet's; behind a jitter buffer one is
				counted for each frame that takes time */
	uint16_t bytes;	  /**< payload length; LOST: of the packet behind it */
	uint8_t marker;
	/** Which sender's, by turns 0..127: where it is not that of the frame
	 * before, timestamps say nothing of how far the two are apart. That
	 * shows in every frame, so none that is dropped takes it along. */
	uint8_t sender;
	uint8_t what;  /**< enum frame_ring_what                           */
	uint8_t codec; /**< of the input's codecs, 0..15                 */
	uint8_t decode_only; /**< its time was filled: for the decoder only */
	uint8_t importance;  /**< as cr/sched.h has it                      */
	uint16_t rtp_ticks; /**< what was made: how long, in RTP's clock; EVENT:
			 its clock, kHz */
	uint32_t waited;    /**< in a jitter buffer, before `arrival`, ns     */
	uint32_t shift;	    /**< rtp_ts is so much later than the party has it:
			       time was filled before                     */
};

/** Bytes of the packet that a frame is; 0: it was made, whatever it brings. */
static inline uint16_t cr_frame_packet_bytes(const struct cr_frame_meta *m)
{
	return m->what == FRAME_RING_LOST ? 0 : m->bytes;
}

/** Hangs more on it than how it sounds (cr_job.must_keep): digits and their
 * time, what a decoder is to learn, and what tells of a loss? */
static inline bool frame_must_be_kept(const struct cr_frame_meta *m)
{
	return m->decode_only || m->what == FRAME_RING_EVENT ||
	       m->what == FRAME_RING_LOST || m->what == FRAME_RING_TICK;
}

/** Does it take time of the stream? Digits are beside it, and what is for the
 * decoder only comes when its time is filled. */
static inline bool cr_frame_takes_time(const struct cr_frame_meta *m)
{
	return !m->decode_only && m->what != FRAME_RING_EVENT &&
	       m->what != FRAME_RING_TICK;
}

struct frame_ring;

/**
 * Make a ring of @slots frames (2..4096) of at most @frame_bytes each.
 * Returns NULL when out of memory. frame_ring_free(NULL) is fine; nobody else
 * may use the ring then.
 */
struct frame_ring *frame_ring_new(unsigned slots, size_t frame_bytes);
void frame_ring_free(struct frame_ring *r);

/** Bytes of memory that the ring takes. */
size_t frame_ring_bytes(const struct frame_ring *r);

/** Producer: the buffer to fill next, frame_bytes long. */
uint8_t *frame_ring_reserve(struct frame_ring *r);

/**
 * Producer: publish the reserved buffer with @meta (seq is filled in here and
 * returned in *@meta). Returns true if the oldest frame was dropped for it;
 * *@dropped then holds the lost frame's metadata.
 */
bool frame_ring_push(struct frame_ring *r, struct cr_frame_meta *meta,
		     struct cr_frame_meta *dropped);

/** Fetch the producer's part into the cache: a hint before
 * frame_ring_reserve(). Any thread. */
void frame_ring_fetch_producer(const struct frame_ring *r);

/** Fetch the consumer's part into the cache: a hint before frame_ring_peek() on
 * a thread that was not the last consumer. Any thread, while no other is at it.
 */
void frame_ring_fetch(const struct frame_ring *r);

/**
 * Consumer: metadata of the oldest waiting frame. False: empty. The frame may
 * be dropped right after; only frame_ring_claim() settles it.
 */
bool frame_ring_peek(struct frame_ring *r, struct cr_frame_meta *meta);

/**
 * Consumer: take frame @seq, which must be the oldest one. Returns its bytes
 * (valid until the next claim; meta->bytes says how many) and *@meta, or NULL
 * when the frame is gone.
 */
const uint8_t *frame_ring_claim(struct frame_ring *r, uint64_t seq,
				struct cr_frame_meta *meta);

/** Any thread: frames waiting now (a snapshot), and dropped so far. */
unsigned frame_ring_waiting(const struct frame_ring *r);
uint64_t frame_ring_dropped(const struct frame_ring *r);

#endif
