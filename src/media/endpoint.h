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
#include "rtp/learn.h"
#include "rtp/payload_types.h"
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
	 * and its RTCP; NULL: nowhere. */
	struct state_stream *state;
};

/** The parts that wait for a time: the endpoint itself (RTCP), and the receive
 * stage of the stream that it feeds. They share a timer. */
enum endpoint_part { ENDPOINT_OWN, ENDPOINT_RECEIVE_STAGE, ENDPOINT_PARTS };

struct endpoint {
	struct endpoint_cfg cfg; /**< constant but for the terms: control's */
	/** The destination of answers. */
	struct destination to;
	/** NULL: it has no RTCP (media/endpoint_rtcp.h); constant. */
	struct endpoint_rtcp *rtcp;

	/* every packet needs this cache line, and the first one of @learn */

	/** The stream that gets its party's packets, or NULL. Set by control,
	 * followed by the receiver in a read-side critical section. */
	_Alignas(CACHE_LINE) _Atomic(struct stream *) stream;
	atomic_uint version;  /**< raised (release) when there are new @terms */
	unsigned terms_taken; /**< rx: the version of them it goes by         */
	uint32_t drops;	      /**< rx: of its port, counted so far            */

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

#endif
