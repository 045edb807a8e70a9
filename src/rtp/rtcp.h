/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RTCP packets (RFC 3550, 6): compound packets in and out. Which reports are
 * due, and what they say, is rtcp_session.h's.
 *
 * Pure functions over the caller's memory: any thread, no allocation. What was
 * parsed points into the packet.
 */
#ifndef RTP_RTCP_H
#define RTP_RTCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Packet types that are read and written here (RFC 3550, 12.1). */
enum rtcp_type {
	RTCP_SR = 200,
	RTCP_RR = 201,
	RTCP_SDES = 202,
	RTCP_BYE = 203
};

/** The item of an SDES packet that everybody sends (RFC 3550, 6.5.1). */
#define RTCP_CNAME 1u
/** Octets of an SDES item or of a BYE's reason at most. */
#define RTCP_TEXT_BYTES 255u
/** Report blocks, SDES chunks or sources of one packet at most. */
#define RTCP_COUNT_MAX 31u

/** Why a packet was refused; negative, so that -reason counts from 1. */
enum rtcp_reason {
	RTCP_OK = 0,
	RTCP_TOO_SHORT = -1,	  /**< rest is less than a header           */
	RTCP_BAD_VERSION = -2,	  /**< not version 2                        */
	RTCP_BAD_TYPE = -3,	  /**< outside 192..223: no RTCP (RFC 5761) */
	RTCP_LENGTH_OVERRUN = -4, /**< longer than the datagram             */
	RTCP_BAD_PADDING = -5,	  /**< not in the last packet, or its count
				   * is 0, odd, or more than the packet     */
	RTCP_SENDER_OVERRUN = -6, /**< no room for an SR's or RR's sender   */
	RTCP_REPORT_OVERRUN = -7, /**< more report blocks counted than there*/
	RTCP_SDES_OVERRUN = -8,	  /**< chunk or item beyond the packet      */
	RTCP_BYE_OVERRUN = -9	  /**< sources or reason beyond the packet  */
};

/** One more than the largest -reason: the size of a table of counters. */
#define RTCP_NREASONS 10u

/** A sender's report of itself (RFC 3550, 6.4.1). */
struct rtcp_sender {
	uint64_t ntp;	  /**< seconds since 1900, 32.32 fixed point        */
	uint32_t rtp_ts;  /**< the same moment on the RTP clock             */
	uint32_t packets; /**< sent since it began, modulo 2^32             */
	uint32_t octets;  /**< of payload, likewise                         */
};

/** A receiver's report of one source (RFC 3550, 6.4.1). */
struct rtcp_report {
	uint32_t ssrc;	  /**< of the source                                */
	uint8_t fraction; /**< lost since its last report, 1/256            */
	int32_t lost;	  /**< since it began; 24 bits, < 0: duplicates     */
	uint32_t highest; /**< extended sequence number                     */
	uint32_t jitter;  /**< in units of the source's RTP clock           */
	uint32_t lsr;	  /**< middle of the ntp of its last SR; 0: none    */
	uint32_t dlsr;	  /**< since that came, 1/65536 s                   */
};

/** One packet of a compound packet. */
struct rtcp_packet {
	uint8_t type;		   /**< any of 192..223                     */
	uint8_t count;		   /**< reports, chunks or sources          */
	uint32_t ssrc;		   /**< SR, RR: who reports                 */
	struct rtcp_sender sender; /**< SR                                  */
	const uint8_t *body;	   /**< reports, chunks or sources begin    */
	size_t body_bytes;	   /**< from there, without padding         */
};

/** The rest of a compound packet. */
struct rtcp_reader {
	const uint8_t *at;
	size_t left;
};

/**
 * Check all of the @n bytes at @p (RFC 3550, A.2), then read them by
 * rtcp_next(). A compound packet may begin with any type (RFC 5506), and types
 * not named here may occur. Returns 0, or a negative enum rtcp_reason; *@r is
 * written only with 0.
 */
int rtcp_open(struct rtcp_reader *r, const uint8_t *p, size_t n);

/** The next packet into *@out; false: there was none. */
bool rtcp_next(struct rtcp_reader *r, struct rtcp_packet *out);

/** Report @i < count of an SR or RR. */
struct rtcp_report rtcp_report_at(const struct rtcp_packet *p, unsigned i);

/** Source @i < count of a BYE. */
uint32_t rtcp_bye_at(const struct rtcp_packet *p, unsigned i);

/** A compound packet under construction; .bytes are written so far. */
struct rtcp_writer {
	uint8_t *buf;
	size_t size;
	size_t bytes;
};

/*
 * The following add a packet: 0, or -ENOSPC where it does not fit, or -EINVAL
 * for a count above RTCP_COUNT_MAX or a text above RTCP_TEXT_BYTES; then
 * nothing is written. To be understood everywhere, begin with a report and let
 * the CNAME follow (RFC 3550, 6.1).
 */

/** An SR of @ssrc, or with @sender NULL an RR, with @n reports. A report's
 * .lost is limited to what 24 bits hold. */
int rtcp_put_report(struct rtcp_writer *w, uint32_t ssrc,
		    const struct rtcp_sender *sender,
		    const struct rtcp_report *report, unsigned n);

/** An SDES with the CNAME @cname of @ssrc. */
int rtcp_put_cname(struct rtcp_writer *w, uint32_t ssrc, const char *cname);

/** A BYE of @ssrc; @reason may be NULL. */
int rtcp_put_bye(struct rtcp_writer *w, uint32_t ssrc, const char *reason);

#endif
