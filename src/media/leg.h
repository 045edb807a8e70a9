/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A leg: our end towards one party. It has a port of its own, what signalling
 * said of the party, and what was learned from its packets (rtp/learn.h). What
 * the party says feeds a call, the leg's *listener*, or is passed on as it is
 * by a *relay*. A leg with neither hears and learns, and counts what it drops.
 *
 * Three threads meet here, as at a call:
 *   control   makes it, tells its terms, connects and disconnects listeners
 *   rx        the receiver that it is with: everything under "rx"
 *   worker    reads where answers go
 * Reclaim: out of the receivers -> RCU grace period -> leg_free().
 */
#ifndef MEDIA_LEG_H
#define MEDIA_LEG_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "base/cache.h"
#include "base/rcu.h"
#include "cr/error.h"
#include "media/way.h"
#include "media/wheel.h"
#include "rtp/learn.h"
#include "rtp/payload_types.h"

struct call;
struct relay;
struct leg_rtcp;

/** Packets a second of which a leg hears no more: twice as many as a party
 * sends with the shortest frames (2.5 ms), so that each may come twice. Whoever
 * sends more after as many as make LEG_BURST is not heard for LEG_REST: what
 * goes round between calls or nodes, and has no end by itself, is over then. */
#define LEG_RATE 1000u
#define LEG_BURST (10 * CR_SEC)
#define LEG_REST CR_SEC

/** What a leg is to be. Zero-initialise. */
struct leg_cfg {
	uint32_t id;
	int fd;		   /**< its RTP socket (udp_socket()); borrowed      */
	unsigned receiver; /**< which one it is with (media/receivers.h)     */
	struct learn_terms terms;
	cr_ns first_poll; /**< when leg_poll() is called first; 0: never */
};

/** Who waits for a time: the leg itself (RTCP), and the inflow of whom it
 * feeds. They share a timer. */
enum leg_part { LEG_OWN, LEG_INFLOW, LEG_PARTS };

struct leg {
	struct leg_cfg cfg; /**< constant but for the terms: control's */
	struct rcu_later rcu;
	/** Where answers go. */
	struct way to;
	/** NULL: it has no RTCP (media/leg_rtcp.h); constant. */
	struct leg_rtcp *rtcp;

	/* What every packet needs: this line, and the first one of @learn. */

	/** Whom its party's speech feeds, or NULL. Set by control, followed by
	 * the receiver in a read-side critical section. */
	_Alignas(CACHE_LINE) _Atomic(struct call *) listener;
	/** Who passes its party's packets on, or NULL; as @listener, for which
	 * it may stand, and which has those that it leaves. */
	_Atomic(struct relay *) relay;
	atomic_uint version;  /**< raised (release) when there are new @terms */
	unsigned terms_taken; /**< rx: the version of them it goes by         */
	uint32_t drops;	      /**< rx: of its port, counted so far            */

	/* rx */
	_Alignas(CACHE_LINE) struct learn learn;
	struct wheel *wheel;	  /**< of its receiver; constant            */
	struct wheel_entry timer; /**< the one for all that it waits for */
	cr_ns used;	      /**< until then, at LEG_RATE, by what was heard */
	cr_ns rests;	      /**< not heard until then, after too many */
	cr_ns poll_at;	      /**< it is armed for; CR_NEVER: it is not */
	cr_ns due[LEG_PARTS]; /**< what each waits for */
	/** Packets of payload types that stand for nothing, by type. */
	struct payload_unknown unknown;
	/** Without a listener or relay, to whom they are counted otherwise:
	 * datagrams that its full port lost, and that were in it at the end.
	 * Whoever frees it adds them to sums. */
	atomic_ullong port_drops, unread;

	/** New terms for rx; under the lock. */
	_Alignas(CACHE_LINE) pthread_mutex_t lock;
	struct learn_terms terms;

	/* control */
	uint64_t key;	   /**< its name among the legs: media/legs.h */
	uint64_t port_key; /**< of its port, for the receiver         */
};

/** NULL: out of memory. */
struct leg *leg_new(const struct leg_cfg *cfg);
/** Free a leg that no thread can see any more; its socket stays open. NULL is
 * fine. */
void leg_free(struct leg *l);

/** Fetch into the cache what hearing a packet of @l is about to use. */
static inline void leg_fetch(const struct leg *l)
{
	cache_fetch(&l->listener, sizeof(l->listener));
	cache_fetch(&l->learn, sizeof(l->learn.settled));
}

/** Let its party be heard by @listener from now on, or by nobody (NULL). The
 * former listener may get packets until a grace period has passed. Control. */
void leg_listen(struct leg *l, struct call *listener);

/** Whom that is, NULL if nobody. */
static inline struct call *leg_listener(const struct leg *l)
{
	return atomic_load_explicit(&l->listener, memory_order_acquire);
}

/** Let its party's packets be passed on by @relay from now on, as
 * leg_listen(). */
void leg_relay(struct leg *l, struct relay *relay);

/** Who does, NULL if nobody. */
static inline struct relay *leg_relayer(const struct leg *l)
{
	return atomic_load_explicit(&l->relay, memory_order_acquire);
}

/** A new offer or answer: go on under @terms (learn_again()). The receiver
 * takes them at the next packet. Answers go to an address at once that replaces
 * another one, is the first known, or is the only one heard (strict). Control.
 */
void leg_again(struct leg *l, const struct learn_terms *terms);

/** Its party wants nothing to be sent to it, or (@held false) again. It is
 * heard meanwhile, and RTCP goes on (RFC 3264, 8.4). Control. */
void leg_hold(struct leg *l, bool held);

/** Judge a packet that came at @now: learn_packet(). The receiver. */
unsigned leg_hear(struct leg *l, const struct learn_arrival *p, cr_ns now);

/** May one more packet of its party, which came at @now, be heard, by LEG_RATE?
 * The receiver. */
static inline bool leg_paces(struct leg *l, cr_ns now)
{
	/* the kernel's clock, which stamps packets, was set back */
	if (l->used - now > LEG_BURST + LEG_REST)
		l->used = l->rests = now;
	if (now < l->rests)
		return false;
	if (l->used - now > LEG_BURST) {
		l->rests = now + LEG_REST;
		l->used = l->rests;
		return false;
	}
	l->used = cr_ns_max(l->used, now) + CR_SEC / LEG_RATE;
	return true;
}

/** Its timers are @w's from now on, and leg_poll() is called first when its
 * configuration says. Before its receiver knows it. Returns whether that must
 * be woken. Control. */
bool leg_begin_polls(struct leg *l, struct wheel *w);
/** leg_poll() is not called any more, but for a call under way, which has ended
 * a grace period later. Control. */
void leg_end_polls(struct leg *l);
/** Has leg_end_polls() been called? Control. */
static inline bool leg_polls_ended(const struct leg *l)
{
	return l->timer.closed;
}

/** Do what is due of LEG_OWN at @now, and perhaps more. Returns when to call it
 * again; CR_NEVER: not any more. The receiver. */
cr_ns leg_poll(struct leg *l, cr_ns now);
/** @part waits for @due from now on, and for nothing else. The receiver. */
void leg_wait(struct leg *l, enum leg_part part, cr_ns due);

static inline struct leg *leg_of_timer(struct wheel_entry *timer)
{
	return (struct leg *)(void *)((unsigned char *)timer -
				      offsetof(struct leg, timer));
}

#endif
