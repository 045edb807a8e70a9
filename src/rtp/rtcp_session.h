/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RTCP of one endpoint: what is heard and sent, the reports on it, and what the
 * far side reports (RFC 3550, 6).
 *
 * How an endpoint uses it. The endpoint has a struct rtcp_session and a struct
 * rtcp_sent.
 *
 *   endpoint begins       rtcp_session_init()
 *   packet, accepted rtcp_heard_rtp(); its answer tells new from duplicate
 *   packet sent      rtcp_sent_rtp()
 *   RTCP, accepted   rtcp_heard(): what came to port + 1, or
 *                    to the RTP port, where rtp_is_rtcp() says so
 *   timer            at rtcp_due() or later: rtcp_build(), send if there is
 *                    something, set the timer to rtcp_due() again
 *   endpoint ends         rtcp_bye(), send if there is something
 *
 * Which addresses and SSRCs may speak is the endpoint's business: nothing is
 * checked here. An SSRC that changes is followed.
 *
 * Threads: the one that owns the endpoint calls everything but rtcp_sent_rtp(),
 * which is for whoever sends: one thread at a time, perhaps another one. So the
 * two structs are apart; each belongs on a cache line of its owner. No call
 * allocates, asks for the time or makes a system call. Times @now are
 * monotonic,
 * @wall is ns since 1970.
 */
#ifndef RTP_RTCP_SESSION_H
#define RTP_RTCP_SESSION_H

#include <stdatomic.h>

#include "rtp/feedback.h"
#include "rtp/reception.h"
#include "rtp/rtcp.h"
#include "rtp/rtcp_clock.h"

/** What is sent with one SSRC. Zero: nothing yet. Each word is coherent in
 * itself, so the reader needs no lock; relaxed. */
struct rtcp_sent {
	atomic_uint_fast64_t total; /**< packets << 32 | octets             */
	atomic_uint_fast64_t last;  /**< RTP timestamp << 32 | time         */
};

struct rtcp_session_config {
	uint64_t seed;	   /**< of the random intervals                    */
	uint32_t ssrc;	   /**< ours                                       */
	const char *cname; /**< borrowed; 1 to 255 octets (RFC 7022)       */
	uint32_t rate_in;  /**< Hz of the RTP clock that is heard          */
	uint32_t rate_out; /**< Hz of the RTP clock that is sent           */
	cr_ns interval;	   /**< RTCP_INTERVAL; 0: no report is ever due    */
	const struct rtcp_sent *sent; /**< borrowed                         */
};

struct rtcp_session {
	struct reception heard; /**< first: RECEPTION_HOT_BYTES per packet  */
	struct feedback far;	/**< what the far side says of us           */
	struct rtcp_clock clock;
	struct rtcp_session_config cfg;
	uint32_t told[2]; /**< packets sent at the last report, and before  */
	/* counters */
	uint64_t packets_in;  /**< compound packets that were read          */
	uint64_t octets_in;   /**< of them                                  */
	uint64_t packets_out; /**< that were built                          */
	uint64_t collisions;  /**< that pretended to be from us             */
	uint64_t byes;	      /**< of the source that is heard              */
	uint64_t refused[RTCP_NREASONS]; /**< by -reason                    */
};

/** Octets that rtcp_build() and rtcp_bye() write at most. */
#define RTCP_BUILD_BYTES 640u

/** 0, or -EINVAL for a rate outside 1 to 10^6, an interval below 0 or above 10
 * min, or a CNAME of no or too many octets. */
int rtcp_session_init(struct rtcp_session *s,
		      const struct rtcp_session_config *cfg, cr_ns now);

/** The clocks of what is heard and sent from now on, Hz (RFC 7160). As
 * rtcp_session_init(), whose errors it has. */
int rtcp_session_set_rates(struct rtcp_session *s, uint32_t in, uint32_t out);

/** A packet was heard; see reception_packet(). Per packet. */
static inline enum rtp_arrival rtcp_heard_rtp(struct rtcp_session *s,
					      const struct rtp_packet *p,
					      bool timed, cr_ns now)
{
	return reception_packet(&s->heard, p, timed, now);
}

/** A packet with @octets of payload and timestamp @ts is sent. Per packet; two
 * words of one cache line are written. */
static inline void rtcp_sent_rtp(struct rtcp_sent *t, uint32_t octets,
				 uint32_t ts, cr_ns now)
{
	uint64_t total = atomic_load_explicit(&t->total, memory_order_relaxed);

	/* each half wraps by itself */
	total = (total & 0xffffffff00000000) + (UINT64_C(1) << 32) +
		(uint32_t)(total + octets);
	atomic_store_explicit(&t->total, total, memory_order_relaxed);
	/* 2^31 units of 1024 ns are 36 minutes */
	atomic_store_explicit(&t->last,
			      (uint64_t)ts << 32 | (uint32_t)(now >> 10),
			      memory_order_relaxed);
}

/** The @n bytes at @p came. Returns 0, or a negative enum rtcp_reason, which is
 * counted: then none of it is believed. */
int rtcp_heard(struct rtcp_session *s, const uint8_t *p, size_t n, cr_ns now);

/** When to call rtcp_build(); CR_NEVER: not any more. */
static inline cr_ns rtcp_due(const struct rtcp_session *s)
{
	return s->clock.due;
}

/** The report of @now into @buf, of RTCP_BUILD_BYTES: SR or RR, and SDES.
 * Returns its octets, or 0: it is not due. In both cases rtcp_due() moves. */
size_t rtcp_build(struct rtcp_session *s, uint8_t *buf, cr_ns now, cr_ns wall);

/** The last report, with a BYE and its @reason, which may be NULL and has at
 * most 255 octets. Returns its octets, or 0: the far side has never heard of us
 * (RFC 3550, 6.3.7). No report is due after it. */
size_t rtcp_bye(struct rtcp_session *s, uint8_t *buf, cr_ns now, cr_ns wall,
		const char *reason);

/** NTP's time (32.32 fixed point, since 1900) of @wall. */
uint64_t rtcp_ntp(cr_ns wall);

/** Octets of rtcp_cname(), with the zero at the end. */
#define RTCP_CNAME_BYTES 17u

/** A CNAME of 96 random bits (RFC 7022, 4.2) from @random, two numbers that
 * nobody can guess. */
void rtcp_cname(const uint64_t random[2], char out[RTCP_CNAME_BYTES]);

#endif
