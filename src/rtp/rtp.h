/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RTP packets (RFC 3550): the fixed header in and out, and what a receiver
 * knows of one source: its sequence, losses and duplicates.
 *
 * Pure functions over the caller's memory: any thread, no allocation. A struct
 * rtp_source belongs to one thread at a time. RTCP is only told apart here; it
 * is rtcp.h's.
 */
#ifndef RTP_RTP_H
#define RTP_RTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cr/time.h"

/** Bytes of a header without CSRC list and extension. */
#define RTP_HEADER_BYTES 12u

/** Why a packet was refused; negative, so that -reason counts from 1. */
enum rtp_reason {
	RTP_OK = 0,
	RTP_TOO_SHORT = -1,	    /**< less than a fixed header            */
	RTP_BAD_VERSION = -2,	    /**< not version 2                       */
	RTP_IS_RTCP = -3,	    /**< second octet 192..223 (RFC 5761, 4) */
	RTP_CSRC_OVERRUN = -4,	    /**< CSRC list longer than the packet    */
	RTP_EXTENSION_OVERRUN = -5, /**< extension longer than the packet    */
	RTP_BAD_PADDING = -6	    /**< count 0 or more than the payload    */
};

/** One more than the largest -reason: the size of a table of counters. */
#define RTP_NREASONS 7u

/** The @n bytes at @p, which come where RTP does, are RTCP (RFC 5761, 4). They
 * may still be malformed. */
static inline bool rtp_is_rtcp(const uint8_t *p, size_t n)
{
	return n >= 2 && p[0] >> 6 == 2 && p[1] >= 192 && p[1] <= 223;
}

/** @time, days of it, too, in units of a @clock, Hz. */
static inline int64_t rtp_ticks_in(cr_ns time, uint32_t clock)
{
	return time / CR_SEC * clock + time % CR_SEC * clock / CR_SEC;
}

/** A packet, parsed or to be made; payload points into a parsed one. */
struct rtp_packet {
	uint8_t pt; /**< payload type, 0..127 */
	bool marker;
	uint16_t seq;
	uint32_t ts; /**< in units of the payload's RTP clock */
	uint32_t ssrc;
	const uint8_t *payload; /**< after CSRC list and extension       */
	size_t payload_bytes;	/**< without padding; may be 0           */
};

/**
 * Parse the @n bytes at @p (RFC 3550, 5.1 and 5.3.1; padding per 5.1).
 * Returns 0, or a negative enum rtp_reason; *@out is written only with 0.
 */
int rtp_parse(const uint8_t *p, size_t n, struct rtp_packet *out);

/**
 * Write the fixed header of @h: version 2, no padding, extension or CSRC.
 * @buf: at least RTP_HEADER_BYTES. Returns RTP_HEADER_BYTES.
 */
size_t rtp_build(uint8_t *buf, const struct rtp_packet *h);

/** The meaning of a sequence number to its receiver. */
enum rtp_arrival {
	RTP_NEW,	 /**< follows what came before, perhaps after a gap  */
	RTP_DUPLICATE,	 /**< seen already: discard                          */
	RTP_REORDERED,	 /**< older than the newest, but not seen before     */
	RTP_RESTART,	 /**< the sender began again: forget its timestamps  */
	RTP_OUT_OF_RANGE /**< far off, not (yet) a restart: discard          */
};

/**
 * The receiver's view of one SSRC (RFC 3550, A.1), without A.1's
 * probation: our SSRCs are announced by signalling. Zero is "nothing received
 * yet". Read the counters; the rest is private.
 */
struct rtp_source {
	/* touched by every packet */
	uint64_t received; /**< new and reordered packets, restarts        */
	uint64_t ext;	   /**< newest extended sequence number            */
	uint64_t window;   /**< bit i: ext - i was received                */
	uint32_t restart;  /**< 1 + number that proves a restart; 0: none  */
	bool started;
	/* by some */
	uint64_t base;	     /**< extended number this run began with        */
	uint64_t past;	     /**< packets expected in earlier runs           */
	uint64_t duplicates; /**< discarded: seen before                     */
	uint64_t reordered;  /**< of received: came late                     */
	uint64_t out_of_range; /**< discarded: far off the sequence */
};

/**
 * Account for @seq. Reorder and duplicates are told apart within the newest 64
 * numbers; a number 3000 or more ahead or 64 or more behind is out of range,
 * and two of these in sequence are a restart (RFC 3550, A.1).
 */
enum rtp_arrival rtp_source_update(struct rtp_source *s, uint16_t seq);

/** Would @seq be late, or a duplicate? */
bool rtp_source_has_passed(const struct rtp_source *s, uint16_t seq);

/** The sender begins again with another SSRC: the next number may be any. What
 * was counted stays. */
void rtp_source_again(struct rtp_source *s);

/** Packets that never came (so far): expected less received (RFC 3550, A.3;
 * unlike there, duplicates are not counted as received). */
uint64_t rtp_source_lost(const struct rtp_source *s);

/* --- numbers in network byte order, at any address --- */

static inline uint16_t rtp_get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t rtp_get32(const uint8_t *p)
{
	return (uint32_t)rtp_get16(p) << 16 | rtp_get16(p + 2);
}

static inline void rtp_put16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static inline void rtp_put32(uint8_t *p, uint32_t v)
{
	rtp_put16(p, (uint16_t)(v >> 16));
	rtp_put16(p + 2, (uint16_t)v);
}

#endif
