/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RTCP of one endpoint: what is heard and sent, the reports on it, and what the
 * far side reports (RFC 3550, 6).
 *
 * How an endpoint uses it. The endpoint has a struct rtcp_session and a struct
 * rtcp_sent.
 *
 *   endpoint begins  rtcp_session_init()
 *   packet, accepted rtcp_heard_rtp(); its answer separates new from duplicate
 *   packet sent      rtcp_sent_rtp()
 *   RTCP, accepted   rtcp_heard(): what came to port + 1, or
 *                    to the RTP port, where rtp_is_rtcp() says so
 *   timer            at rtcp_due() or later: rtcp_build(), send if there is
 *                    something, set the timer to rtcp_due() again
 *   endpoint ends    rtcp_bye(), send if there is something
 *
 * Which addresses and SSRCs may speak is the endpoint's business: nothing is
 * checked here. An SSRC that changes is followed.
 *
 * Threads: the one that owns the endpoint calls everything but rtcp_sent_rtp(),
 * which is for whoever sends: one thread at a time, perhaps another one. So the
 * two structs are apart; each belongs on a cache line of its owner. No call
 * allocates, asks for the time or makes a system call. Times @now are
 * monotonic, @wall is ns since 1970.
 */
#ifndef RTP_RTCP_SESSION_H
#define RTP_RTCP_SESSION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cr/time.h"
#include "rtp/rtcp.h"
#include "rtp/rtp.h"

/** The interval that RFC 3550, 6.2, recommends. */
#define RTCP_INTERVAL (5 * CR_SEC)

struct rtcp_clock {
	uint64_t random; /**< state of the generator                        */
	cr_ns base;	 /**< interval / (e - 1.5), see the timer        */
	cr_ns last;	 /**< when the last report was sent                 */
	cr_ns due;	 /**< look again then; CR_NEVER: stopped            */
	bool sent;	 /**< a report; the first comes in half the time    */
};

/** Begin at @now. Reports come @interval apart in the mean, 0.41 to 1.23 times
 * that each. @interval: at most 10 min; 0: never. */
void rtcp_clock_init(struct rtcp_clock *c, uint64_t seed, cr_ns interval,
		     cr_ns now);

/** A report must be sent at @now. False: not yet, see .due, which may have
 * moved. */
bool rtcp_clock_ready(struct rtcp_clock *c, cr_ns now);

/* --- feedback --- */

/*
 * The far side's reports of the stream that we send: its losses, its
 * jitter, and the round trip (RFC 3550, 6.4.1).
 *
 * Pure; one thread at a time.
 */

/** SRs that may be answered; earlier ones are forgotten. */
#define FEEDBACK_SRS 4u

/** A quantity that was reported several times. Zero: not yet. */
struct feedback_span {
	uint64_t n;
	uint64_t sum;
	uint64_t last, min, max;
};

struct feedback {
	uint64_t reports;	       /**< on us                           */
	struct feedback_span fraction; /**< lost of an interval, 1/256      */
	struct feedback_span jitter;   /**< ticks of the clock that we send */
	struct feedback_span rtt;      /**< round trip, ns                  */
	int32_t lost;		       /**< packets, as reported last       */
	uint32_t highest;	       /**< sequence number, reported last  */
	uint64_t odd; /**< reports that answered no SR of ours, or in no time */
	struct {
		uint32_t lsr; /**< 0: none */
		cr_ns at;
	} sr[FEEDBACK_SRS]; /**< the newest that we sent                    */
	unsigned next;
};

/** An SR with the time @ntp is sent at @now. */
void feedback_sr(struct feedback *f, uint64_t ntp, cr_ns now);

/**
 * Report @r on us has come at @now. The round trip counts if it answers one of
 * the newest SRs; it is A - LSR - DLSR, where A - LSR is taken on the clock of
 * @now, so that a wall clock that is set does no harm.
 */
void feedback_report(struct feedback *f, const struct rtcp_report *r,
		     cr_ns now);

/** The mean of @s, rounded down; 0: nothing was reported. */
uint64_t feedback_mean(const struct feedback_span *s);

/* --- reception --- */

/*
 * A receiver's knowledge of the source that it hears, for its reports
 * (RFC 3550, 6.4.1): sequence, losses, interarrival jitter, the last SR.
 *
 * Pure; one thread at a time.
 */

/** Bytes from the beginning that a packet in order touches: aligned to them, it
 * is one cache line. */
#define RECEPTION_HOT_BYTES 64u

struct reception {
	uint64_t per_ns;  /**< ticks of the RTP clock, 0.64 fixed point     */
	uint32_t ssrc;	  /**< of the source; meaningful once it has begun  */
	uint32_t rate;	  /**< Hz of the RTP clock                          */
	uint32_t transit; /**< arrival less timestamp of the last packet    */
	uint32_t jitter;  /**< 16 times the estimate, ticks (A.8)           */
	bool timed;	  /**< transit is of a packet                       */
	struct rtp_source source; /**< sequence, losses, duplicates         */
	/* of the whole session */
	uint64_t sources;     /**< SSRCs that were heard                  */
	uint64_t lost_before; /**< of those before the present one        */
	uint64_t packets_before;
	/* since the last report */
	uint64_t expected;
	uint64_t received;
	/* the last SR */
	uint32_t sr_ssrc;
	uint32_t lsr; /**< middle of its ntp; 0: there was none             */
	cr_ns sr_at;
};

/** Begin, with an RTP clock of @rate Hz (1 to 10^6). */
void reception_init(struct reception *r, uint32_t rate);

/** The clock of the packets that follow is @rate Hz (RFC 7160). */
void reception_set_rate(struct reception *r, uint32_t rate);

/**
 * Packet @p has come at @now, which may go back. Another SSRC than before is
 * another source: its numbers begin anew. Returns what the number means, as
 * rtp_source_update(). @timed: its timestamp is its sampling instant, unlike in
 * further packets of a telephone event, or of another clock; only then it
 * counts for the jitter. No division.
 */
enum rtp_arrival reception_packet(struct reception *r,
				  const struct rtp_packet *p, bool timed,
				  cr_ns now);

/** Sender @ssrc has reported @ntp in an SR that came at @now. */
void reception_sender(struct reception *r, uint32_t ssrc, uint64_t ntp,
		      cr_ns now);

/**
 * The report of the source at @now into *@out; from here on the next one
 * counts. False: nothing was received since the last report, and none is due
 * (RFC 3550, 6.4).
 */
bool reception_report(struct reception *r, cr_ns now, struct rtcp_report *out);

/** Interarrival jitter, ns. */
cr_ns reception_jitter(const struct reception *r);

/** Packets that never came, of all sources of the session, and that came. A
 * duplicate is none. */
uint64_t reception_lost(const struct reception *r);
uint64_t reception_received(const struct reception *r);

/* --- session --- */

/** The packets sent with one SSRC. Zero: nothing yet. Each word is coherent in
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
	struct feedback far;	/**< the far side's reports about us        */
	struct rtcp_clock clock;
	struct rtcp_session_config cfg;
	uint32_t reported[2]; /**< packets sent, at the last reports */
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

/** Let @s, of a process that has died, go on as @cfg says, but with the SSRC
 * that it had. As rtcp_session_init(), or -EINVAL: it cannot, and is as before.
 */
int rtcp_session_resume(struct rtcp_session *s,
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
