/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RTCP of an endpoint (RFC 3550, 6): its reports go out, those of the far side
 * come in, and what both say can be asked for. The rules are
 * rtp/rtcp_session.h's; here are addresses, sockets and threads.
 *
 * Where. With ENDPOINT_RTCP_PORT at a socket of its own, the port above RTP's;
 * with ENDPOINT_RTCP_MUX at RTP's (RFC 5761). A far side that multiplexes
 * although it was not agreed is heard, and answered in the same way. With a
 * socket of its own it may also be agreed later (endpoint_rtcp_mux()).
 *
 * With whom. The *party* is whoever the endpoint's RTP comes from. An endpoint
 * that has one stream only, whose listener is somebody else, talks to that
 * *listener*, too. RTCP is believed from hosts that the party has (told or
 * learned) or the listener has; that of others is counted. Reports go where the
 * far side's RTCP comes from, if it has sent some to our port for it; else
 * where signalling has told (endpoint_rtcp_set_destination(), RFC 3605), unless
 * the party is not at the host that was told for RTP; else to where its RTP is,
 * one port higher unless it is multiplexed.
 *
 * Threads:
 *   receiver  of the endpoint: everything, unless stated otherwise
 *   worker    tells what is sent (rtcp_sent_rtp() of endpoint_rtcp_sent())
 *   control   makes and frees it, and asks
 */
#ifndef MEDIA_ENDPOINT_RTCP_H
#define MEDIA_ENDPOINT_RTCP_H

#include "cr/error.h"
#include "media/endpoint.h"
#include "observe/histogram.h"
#include "rtp/rtcp_session.h"
#include "udp/inlet.h"

enum endpoint_rtcp_mode {
	ENDPOINT_RTCP_OFF,
	ENDPOINT_RTCP_PORT,
	ENDPOINT_RTCP_MUX
};

/** The streams that it is about: those in and out. May change. */
struct endpoint_rtcp_use {
	uint32_t ssrc;	   /**< of what is sent; 0: as it was     */
	uint32_t rate_in;  /**< Hz of the RTP clock that it receives */
	uint32_t rate_out; /**< and of what it sends              */
};

/** The configuration of RTCP. Zero-initialise. */
struct endpoint_rtcp_cfg {
	enum endpoint_rtcp_mode mode;
	int fd; /**< PORT: its socket (udp_socket()); borrowed */
	struct endpoint_rtcp_use use;
	cr_ns interval;	    /**< of reports, on average                    */
	uint64_t random[3]; /**< for the CNAME and the intervals          */
	/** Of a one-way stream; family 0: none but the party. */
	struct sockaddr_storage listener;
};

/** The result of a packet. */
enum endpoint_rtcp_result {
	ENDPOINT_RTCP_HEARD,
	ENDPOINT_RTCP_REFUSED, /**< it is no RTCP */
	ENDPOINT_RTCP_FOREIGN  /**< nobody's that the endpoint talks with */
};

/** Of all endpoints of a receiver, which writes them; any thread reads. Zero is
 * empty. */
struct endpoint_rtcp_sums {
	struct histogram round_trip; /**< ns */
	struct histogram jitter;     /**< that far sides have, ns */
	/** Reports on what we send, and the shares that they say were lost, in
	 * 1/256, added up. */
	atomic_ullong reports, lost_256;
	atomic_ullong sent; /**< packets */
};

/** Figures of RTCP. */
struct endpoint_rtcp_info {
	/* of the party, as we see it */
	bool heard;		 /**< false: none of the following is known */
	uint32_t ssrc;		 /**< it sends with */
	uint64_t received, lost; /**< packets */
	cr_ns jitter;
	/* of what we send, as the far side's reports say */
	uint64_t reports;     /**< 0: none of the following is known */
	double lost_share;    /**< 0..1, in the last report's interval */
	double lost_mean;     /**< over all reports                    */
	int32_t lost_total;   /**< packets; < 0: duplicates            */
	cr_ns far_jitter;     /**< in the last report                  */
	uint64_t round_trips; /**< measured; 0: none of the following */
	cr_ns rtt, rtt_mean, rtt_min, rtt_max;
	/* packets */
	uint64_t packets_in, octets_in, packets_out;
	uint64_t refused, foreign; /**< see enum endpoint_rtcp_result */
	uint64_t byes;		   /**< of the party             */
	uint64_t unsent;	   /**< that the socket refused  */
};

struct endpoint_rtcp {
	struct state_rtcp *kept; /**< in state memory, or @own; constant */
	cr_ns report_at;	 /**< next report; CR_NEVER: nothing new */
	struct endpoint_rtcp_cfg cfg;
	bool mux;		      /**< it was agreed */
	struct destination signalled; /**< of the party's RTCP, by signalling */
	unsigned signalled_version;   /**< of it, that is gone by             */
	struct endpoint_rtcp_sums *sums;
	uint32_t drops; /**< of its port, counted so far        */

	/** Reported figures; under the lock. */
	pthread_mutex_t lock;
	struct endpoint_rtcp_info info;

	uint64_t port_key; /**< control: of its port, for the receiver */

	/** Set by control or a relay; relaxed. */
	atomic_uint ssrc, rate_in, rate_out;
	atomic_bool agreed; /**< what mux is to be */

	struct state_rtcp own;
};

/** Give @ep RTCP, before its receiver knows it. 0, -ENOMEM or -EINVAL (what
 * rtcp_session_init() says) with @e. Control. */
int endpoint_rtcp_open(struct endpoint *ep, const struct endpoint_rtcp_cfg *cfg,
		       cr_ns now, struct cr_err *e);
/** Nobody has @ep any more. Its socket stays open. Nothing, if it has none. */
void endpoint_rtcp_close(struct endpoint *ep);

/** The place in which a worker notes what is sent from @ep; NULL: none. Any
 * thread. */
struct rtcp_sent *endpoint_rtcp_sent(const struct endpoint *ep);

/** Let the reports be about @use from now on. Nothing, if @ep has none.
 * Control.
 */
void endpoint_rtcp_use(struct endpoint *ep,
		       const struct endpoint_rtcp_use *use);

/** The party of @ep has agreed that RTCP goes where RTP does, or has not
 * (again). Nothing, if @ep has no RTCP, or no socket for it. Control. */
void endpoint_rtcp_mux(struct endpoint *ep, bool agreed);

/** Signalling says that the party of @ep has its RTCP at @to, where that is not
 * agreed to be RTP's port; family 0: it does not say. Nothing, if @ep has none.
 * Control. */
void endpoint_rtcp_set_destination(struct endpoint *ep,
				   const struct sockaddr_storage *to);

/** A relay passes packet @p on to the party of @ep, which has RTCP: in our
 * reports to it we speak for the packet's sender. The relay's thread. */
static inline void endpoint_rtcp_passed_on(struct endpoint *ep,
					   const struct rtp_packet *p,
					   cr_ns now)
{
	struct endpoint_rtcp *r = ep->rtcp;

	if (atomic_load_explicit(&r->ssrc, memory_order_relaxed) != p->ssrc) {
		atomic_store_explicit(&r->ssrc, p->ssrc, memory_order_relaxed);
		atomic_store_explicit(&r->kept->stream.total, 0,
				      memory_order_relaxed);
	}
	rtcp_sent_rtp(&r->kept->stream, (uint32_t)p->payload_bytes, p->ts, now);
}

/** Report the news of @ep within a second or so. */
void endpoint_rtcp_news(struct endpoint *ep, cr_ns now);

/** A packet of its party came; @timed: its timestamp is that of speech. */
static inline void endpoint_rtcp_rtp(struct endpoint *ep,
				     const struct rtp_packet *p, bool timed,
				     cr_ns now)
{
	struct endpoint_rtcp *r = ep->rtcp;

	(void)rtcp_heard_rtp(&r->kept->session, p, timed, now);
	if (r->report_at == CR_NEVER)
		endpoint_rtcp_news(ep, now);
}

/** A datagram came to its RTCP port, or (@mux) RTCP to its RTP port. */
enum endpoint_rtcp_result endpoint_rtcp_packet(struct endpoint *ep,
					       const struct intake_packet *in,
					       bool mux);

/** Send what is due at @now. Returns when to be called again; CR_NEVER: not
 * before there is news. */
cr_ns endpoint_rtcp_poll(struct endpoint *ep, cr_ns now);

/** Receiver and workers have let go of @ep: send the last report and BYE. */
void endpoint_rtcp_bye(struct endpoint *ep, cr_ns now);

/** The figures of @ep, which has RTCP; up to some two seconds old. With @last
 * they are not, if receivers have let go of @ep. Control. */
void endpoint_rtcp_report(struct endpoint *ep, bool last,
			  struct endpoint_rtcp_info *out);

/** Another process has used its state since: what that points to is ours again.
 * While its receiver does not hear @ep. */
static inline void endpoint_rtcp_reclaim(struct endpoint *ep)
{
	struct endpoint_rtcp *r = ep->rtcp;

	if (!r)
		return;
	r->kept->session.cfg.cname = r->kept->cname;
	r->kept->session.cfg.sent = &r->kept->stream;
}

#endif
