/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An endpoint: our end towards one party. It has a port of its own, what
 * signalling said of the party, and what was learned from its packets
 * (rtp/learn.h). The party's packets feed a *stream* (media/rtp_stream.h). An
 * endpoint without one hears and learns, and counts what it drops.
 *
 * Three threads meet here, as at a stream:
 *   control   makes it, sets its terms, connects and disconnects the stream
 *   rx        the receiver that it is with: everything under "rx"
 *   worker    reads where answers go
 * Reclaim: out of the receivers -> RCU grace period -> endpoint_free().
 */
#ifndef MEDIA_ENDPOINT_H
#define MEDIA_ENDPOINT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/cache.h"
#include "base/rcu.h"
#include "cr/error.h"
#include "media/state_memory.h"
#include "media/wheel.h"
#include "observe/histogram.h"
#include "rtp/learn.h"
#include "rtp/rtcp_session.h"
#include "udp/inlet.h"

/* --- where packets go to --- */

/*
 * Where packets go to: an address that may change while others send there.
 * Written seldom, by any thread under a lock of its own; read by those who send
 * without a lock (a seqlock).
 *
 * A destination may be *held*: its address stays, and may change, but nothing
 * is sent to it.
 */

/** Words that hold an address: that of IPv6 is the longest. */
#define DESTINATION_WORDS 4u

struct destination {
	pthread_mutex_t lock; /**< of those who write */
	/** Odd while it is written; 0: never was. */
	atomic_uint version;
	_Atomic uint64_t word[DESTINATION_WORDS];
	atomic_bool held; /**< changes with the version */
};

void destination_init(struct destination *dest);
void destination_fini(struct destination *dest);

/** From now on packets go to @to; family 0: nowhere. Any thread. */
void destination_set(struct destination *dest,
		     const struct sockaddr_storage *to);

/** From now on nothing is sent by it, or (@held false) again. Any thread. */
void destination_hold(struct destination *dest, bool held);

/** Its address, held or not, family 0 if there is none, and the version of it.
 * Any thread; waits for who writes. */
unsigned destination_read(const struct destination *dest,
			  struct sockaddr_storage *to);

/** The address to send to, without waiting: for threads that may keep the
 * writer from its CPU. *@to has family 0 if there is no address, or *@held.
 * False, and nothing is read, while it is written. */
bool destination_try(const struct destination *dest, unsigned *version,
		     bool *held, struct sockaddr_storage *to);

/** Has it changed since @version of it was read? Any thread. */
static inline bool destination_changed(const struct destination *dest,
				       unsigned version)
{
	return atomic_load_explicit(&dest->version, memory_order_acquire) !=
	       version;
}

/* --- packets of types that stand for nothing --- */

/** Types that are counted one by one; further ones are counted together. */
#define PAYLOAD_UNKNOWN_TYPES 8u

/** Packets of types that stand for nothing. Zero is none. One thread counts,
 * any thread reads. */
struct payload_unknown {
	/** 1 + type in the upper octet, then packets; 0: free. */
	_Atomic uint64_t type[PAYLOAD_UNKNOWN_TYPES];
	_Atomic uint64_t others;
};

void payload_unknown_count(struct payload_unknown *u, uint8_t pt);

/** The @i-th type, in the order in which they came first: returns its packets
 * and sets *@pt; 0: there is none. @i == PAYLOAD_UNKNOWN_TYPES: further ones
 * together, *@pt = 255. */
uint64_t payload_unknown_type(const struct payload_unknown *u, unsigned i,
			      uint8_t *pt);

/** Enough for any text of the next one. */
#define PAYLOAD_UNKNOWN_TEXT 384u

/** Write "12 of type 96, 3 of type 101, 2 of others" to @buf, cut at @size;
 * empty: none. Returns @buf. */
const char *payload_unknown_text(const struct payload_unknown *u, char *buf,
				 size_t size);

/* --- an endpoint --- */

struct stream;
struct endpoint_rtcp;

/** Packets a second of which an endpoint hears no more: twice as many as a
 * party sends with the shortest frames (2.5 ms), so that each may come twice.
 * Whoever sends more after as many as make ENDPOINT_BURST is not heard for
 * ENDPOINT_REST: what goes round between calls or nodes, and has no end by
 * itself, is over then. */
#define ENDPOINT_RATE 1000u
#define ENDPOINT_BURST (10 * CR_SEC)
#define ENDPOINT_REST CR_SEC

/** The configuration of an endpoint. Zero-initialise. */
struct endpoint_cfg {
	int fd;		   /**< its RTP socket (udp_socket()); borrowed      */
	unsigned receiver; /**< which one it is with (media/rx.h)     */
	struct learn_terms terms;
	bool waits;	  /**< for rx_go_on_endpoint() before it is heard */
	cr_ns first_poll; /**< when endpoint_poll() is called first; 0: never */
	/** Where a new process finds what it has counted, as learn_counts(),
	 * and its RTCP; NULL: nowhere, or not before endpoint_keep(). */
	struct state_stream *state;
};

/** The parts that wait for a time: the endpoint itself (RTCP), and the receive
 * stage of the stream that it feeds. They share a timer. */
enum endpoint_part { ENDPOINT_OWN, ENDPOINT_RECEIVE_STAGE, ENDPOINT_PARTS };

struct endpoint {
	struct endpoint_cfg cfg; /**< constant but for the terms: control's */
	/** The destination of answers. */
	struct destination to;
	/** NULL: it has no RTCP; constant. */
	struct endpoint_rtcp *rtcp;

	/* every packet needs this cache line, and the first one of @learn */

	/** The stream that gets its party's packets, or NULL. Set by control,
	 * followed by the receiver in a read-side critical section. */
	_Alignas(CACHE_LINE) _Atomic(struct stream *) stream;
	atomic_uint version; /**< raised (release) when there are new @terms */
	unsigned terms_version; /**< rx: the version of them it goes by */
	uint32_t drops; /**< rx: of its port, counted so far            */

	/* rx */
	_Alignas(CACHE_LINE) struct learn learn;
	struct wheel *wheel;	  /**< of its receiver; constant            */
	struct wheel_entry timer; /**< the one for all that it waits for */
	cr_ns used;    /**< until then, at ENDPOINT_RATE, by what was heard */
	cr_ns rests;   /**< not heard until then, after too many */
	cr_ns poll_at; /**< it is armed for; CR_NEVER: it is not */
	cr_ns due[ENDPOINT_PARTS]; /**< what each waits for */
	/** Packets of payload types that stand for nothing, by type. */
	struct payload_unknown unknown;
	/** Without a stream, to which they are counted otherwise:
	 * datagrams that its full port lost, and that were in it at the end.
	 * Whoever frees it adds them to sums. */
	atomic_ullong port_drops, unread;

	/** New terms for rx; under the lock. */
	_Alignas(CACHE_LINE) pthread_mutex_t lock;
	struct learn_terms terms;

	/* control */
	uint64_t key;	   /**< its name, see endpoints_add() */
	uint64_t port_key; /**< of its port, for the receiver         */
};

/** NULL: out of memory. */
struct endpoint *endpoint_new(const struct endpoint_cfg *cfg);
/** Free an endpoint that no thread can see any more; its socket stays open.
 * NULL is fine. */
void endpoint_free(struct endpoint *ep);

/** Fetch into the cache what hearing a packet of @ep is about to use. */
static inline void endpoint_fetch(const struct endpoint *ep)
{
	cache_fetch(&ep->stream, sizeof(ep->stream));
	cache_fetch(&ep->learn, sizeof(ep->learn.settled));
}

/** Let its party's packets feed @s from now on, or nothing (NULL). The former
 * stream may get packets until a grace period has passed. Control. */
void endpoint_feed(struct endpoint *ep, struct stream *s);

/** The stream that gets its party's packets, or NULL. */
static inline struct stream *endpoint_stream(const struct endpoint *ep)
{
	return atomic_load_explicit(&ep->stream, memory_order_acquire);
}

/** A new offer or answer: go on under @terms (learn_again()). The receiver
 * takes them at the next packet. Answers go to an address at once that replaces
 * another one, is the first known, or is the only one heard (strict). Control.
 */
void endpoint_again(struct endpoint *ep, const struct learn_terms *terms);

/** Its party wants nothing to be sent to it, or (@held false) again. It is
 * heard meanwhile, and RTCP goes on (RFC 3264, 8.4). Control. */
void endpoint_hold(struct endpoint *ep, bool held);

/** Judge a packet that came at @now: learn_packet(). The receiver. */
unsigned endpoint_receive(struct endpoint *ep, const struct learn_arrival *p,
			  cr_ns now);

/** May one more packet of its party, which is read at @now, be heard, by
 * ENDPOINT_RATE? @now never goes back. The receiver. */
static inline bool endpoint_paces(struct endpoint *ep, cr_ns now)
{
	if (now < ep->rests)
		return false;
	if (ep->used - now > ENDPOINT_BURST) {
		ep->rests = now + ENDPOINT_REST;
		ep->used = ep->rests;
		return false;
	}
	ep->used = cr_ns_max(ep->used, now) + CR_SEC / ENDPOINT_RATE;
	return true;
}

/** Its timers are @w's from now on, and endpoint_poll() is called first when
 * its configuration says. Before its receiver knows it. Returns whether that
 * must be woken. Control. */
bool endpoint_begin_polls(struct endpoint *ep, struct wheel *w);
/** endpoint_poll() is not called any more, but for a call under way, which has
 * ended a grace period later. Control. */
void endpoint_end_polls(struct endpoint *ep);
/** Has endpoint_end_polls() been called? Control. */
static inline bool endpoint_polls_ended(const struct endpoint *ep)
{
	return ep->timer.closed;
}

/** Do what is due of ENDPOINT_OWN at @now, and perhaps more. Returns when to
 * call it again; CR_NEVER: not any more. The receiver. */
cr_ns endpoint_poll(struct endpoint *ep, cr_ns now);
/** Another process has heard it until now: RTCP goes on by @state, where a new
 * process finds it from now on. Nobody hears it yet. Control. */
void endpoint_keep(struct endpoint *ep, struct state_stream *state, cr_ns now);
/** @part waits for @due from now on, and for nothing else. The receiver. */
void endpoint_wait(struct endpoint *ep, enum endpoint_part part, cr_ns due);

static inline struct endpoint *endpoint_of_timer(struct wheel_entry *timer)
{
	return (struct endpoint *)(void *)((unsigned char *)timer -
					   offsetof(struct endpoint, timer));
}

/* --- the endpoints by name --- */

/*
 * The endpoints by name. An endpoint's name is what its receiver's inlet gives
 * each packet as a tag (udp/inlet.h): a number, not a pointer, so that what
 * comes late cannot reach an endpoint that has gone, nor its successor.
 *
 * Thread rule: control adds and removes; receivers find, without a lock, under
 * rcu_read_begin() from look-up to last use.
 */

/** Set in the tag of an endpoint's RTCP port, beside its name. */
#define ENDPOINTS_RTCP (UINT64_C(1) << 31)

/** Zero is empty. */
struct endpoints {
	struct sockets places; /**< tags are the endpoints' addresses */
};

/** Name @ep: ep->key, never 0. 0 or -ENOMEM. */
int endpoints_add(struct endpoints *t, struct endpoint *ep);
/** A receiver may still have it until a grace period has passed. */
void endpoints_del(struct endpoints *t, struct endpoint *ep);
/** The endpoint that @key names, with or without ENDPOINTS_RTCP, or NULL. */
static inline struct endpoint *endpoints_find(const struct endpoints *t,
					      uint64_t key)
{
	struct sockets_entry e;

	key &= ~ENDPOINTS_RTCP;
	return sockets_find(&t->places, key, &e) ? (void *)(uintptr_t)e.tag
						 : NULL;
}
/** Free the memory. */
void endpoints_fini(struct endpoints *t);

/* --- RTCP --- */

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
	struct state_rtcp *kept; /**< in state memory, or @own */
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
