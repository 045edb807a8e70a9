/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A receiving thread: packets of many sockets (udp/inlet.h) through
 * packet_take() into frame buffers, and one release per batch. There may be
 * several, see below.
 *
 * A turn serves every socket that is ready, however many. After it the thread
 * may sleep before it looks again, so that under load it wakes a bounded number
 * of times a second, whatever the packet rate: as struct pace says, or for
 * `coalesce`. An idle socket wakes it at once.
 */
#ifndef MEDIA_RX_H
#define MEDIA_RX_H

#include <stdbool.h>
#include <stdint.h>

#include "cr/time.h"
#include "media/endpoint.h"
#include "media/packet.h"
#include "udp/inlet.h"

/* --- pace --- */

/*
 * How far apart the receiver's turns begin.
 *
 * A turn has a price of its own: a sleep, a wake-up, and on a CPU that a worker
 * has, too, two switches of threads. While that CPU has time to spare, nobody
 * pays for it, and packets are taken as they come. The busier the CPU, the
 * longer the receiver waits between two turns, so that a turn has more packets;
 * a turn that had many already is followed by the next one at once. What a
 * packet pays for it is the rest of the gap, and the frames of those that came
 * with it: docs/notes/performance-2026-11.md.
 *
 * Pure: time and figures are arguments. Thread rule: one thread.
 */

/** The gap is never longer. */
#define PACE_GAP_MAX (1500 * CR_US)
/** A turn of so many packets need not become longer. */
#define PACE_PACKETS 64u
/** How often the load is looked at. */
#define PACE_LOOK (20 * CR_MS)

/** Zero, then pace_look(). */
struct pace {
	cr_ns looked; /**< when                                  */
	cr_ns used;   /**< CPU time that was used by then        */
	int64_t load; /**< of the CPU, ppm; a decaying average   */
	cr_ns gap;    /**< between the beginnings of turns       */
};

/** The gap at a load of @load_ppm. */
cr_ns pace_gap(int64_t load_ppm);

/** Is it time for a look? */
static inline bool pace_due(const struct pace *p, cr_ns now)
{
	return now - p->looked >= PACE_LOOK;
}

/** By @now the CPU has worked for @used altogether (any origin). */
void pace_look(struct pace *p, cr_ns now, cr_ns used);

/** How long to wait after a turn of @packets that began at @began, at @now; 0:
 * not at all. */
static inline cr_ns pace_wait(const struct pace *p, unsigned packets,
			      cr_ns began, cr_ns now)
{
	if (packets >= PACE_PACKETS)
		return 0;
	return cr_ns_max(began + p->gap - now, 0);
}

/* --- handover --- */

/*
 * Packets on their way from the receiver that was given them to the one whose
 * stream they are for.
 *
 * The kernel shares out the shared port by SSRC, but a train (udp/inlet.h),
 * which may have packets of many streams, it gives whole to the receiver of the
 * first. Loopback and virtual machines pass such trains of a peer that sends
 * with segmentation offload. This costs a copy; packets that come one by one
 * never come here.
 *
 * Each receiver has a box, in which the others put. It is bounded.
 */

/** Largest packet that fits. */
#define HANDOVER_BYTES 2048u

struct handover;

struct handover *handover_new(void);	/**< NULL: out of memory */
void handover_free(struct handover *h); /**< NULL is fine */

/** Its owner waits at @in. Before any call of handover_wake(). */
void handover_owned(struct handover *h, struct inlet *in);

/** Put a copy of @p, of HANDOVER_BYTES at most. False: the box is full. Any
 * thread; handover_wake() follows. */
bool handover_put(struct handover *h, const struct intake_packet *p);
/** Let the owner look, if it waits. Any thread. */
void handover_wake(struct handover *h);

/** Has its owner taken all? Any thread. */
bool handover_is_empty(const struct handover *h);

/** The oldest packet, until handover_done(). NULL: there is none. The owner. */
const struct intake_packet *handover_first(struct handover *h);
/** The oldest one has been taken. */
void handover_done(struct handover *h);

/* --- one receiver --- */

struct rx;
struct endpoint_rtcp_sums;

/** rx_config.coalesce: as struct pace says. */
#define RX_COALESCE_AUTO (-1)

struct rx_config {
	unsigned number; /**< of this receiver, from 0 */
	struct handover *
		*box; /**< of each receiver, by number; NULL: one only */
	struct stream_table *table;
	const struct endpoints *endpoints; /**< of all receivers */
	struct live *live;
	struct trace_ring *trace;
	enum udp_io io; /**< how to receive                                 */
	cr_ns coalesce; /**< sleep after a turn; 0: none; or RX_COALESCE_AUTO */
	bool shares_cpu; /**< with workers: their load is that of its CPU     */
	int rt_priority; /**< SCHED_FIFO; 0: none                           */
	int cpu;	 /**< OS CPU to pin to; -1: none                    */
	/** The thread has ended: inlet_wait() said @err (-errno). NULL: nobody
	 * wants to know. On the thread. */
	void (*failed)(void *arg, unsigned receiver, int err);
	void *arg;
};

/** Start the thread. 0, or -errno with @e. @warn says what was not granted
 * (real-time priority); it stays empty otherwise. */
int rx_open(struct rx **rx, const struct rx_config *cfg, struct cr_err *warn,
	    struct cr_err *e);
/** Stop and join, and free. NULL is fine. */
void rx_close(struct rx *rx);

/** Receive at @fd, a socket of the shared port (udp_socket()), too, or again;
 * borrowed. 0, or -errno with @e. Control thread. */
int rx_listen(struct rx *rx, int fd, enum inlet_traffic kind, struct cr_err *e);
/** Receive for @ep, too, which has a name (endpoints_add()). Control thread.
 */
int rx_add_endpoint(struct rx *rx, struct endpoint *ep, struct cr_err *e);
/** Stop that. The socket may be closed after a grace period. */
void rx_del_endpoint(struct rx *rx, struct endpoint *ep);
/** Count what the port of @ep still holds, and what it has dropped behind the
 * last packet that was taken: with its stream, or with the endpoint if
 * it has none. A grace period after rx_del_endpoint(), when the
 * socket is about to be closed. Any thread. */
void rx_count_rest(struct endpoint *ep);
/** The same of its port for RTCP, if it has one: always with the endpoint. */
void rx_count_rtcp_rest(struct endpoint *ep);

/** Receive at the ports of @ep no more, nor serve its timers: another process
 * may. What was taken is used as ever. Control thread, as the next three. */
void rx_pause_endpoint(struct rx *rx, struct endpoint *ep);
/** Go on with that, when it rests; or begin, if it waits for this. 0, or -errno
 * with @e. */
int rx_go_on_endpoint(struct rx *rx, struct endpoint *ep, struct cr_err *e);
/** Pause its socket of the shared port, if it has one, until rx_listen(). */
void rx_pause_shared(struct rx *rx);
/** Before the first pause: those of a failed attempt that it never let go of
 * are not waited for. */
void rx_begin_pauses(struct rx *rx);
/** Has the receiver let go of all sockets that were paused? A grace period
 * later it has handed out all that it has taken from them. */
bool rx_rests(const struct rx *rx);

/** How it receives: UDP_IO_URING or UDP_IO_EPOLL. */
enum udp_io rx_io(const struct rx *rx);

/** Sums of RTCP of its endpoints. Any thread. */
const struct endpoint_rtcp_sums *rx_rtcp(const struct rx *rx);
const struct packet_counters *rx_counters(const struct rx *rx);
/** CPU time of the thread so far, ns. */
cr_ns rx_cpu(const struct rx *rx);

/* --- all of them --- */

/*
 * The receivers of a node: one thread or several, and which endpoint is with
 * which of them, for life, and the stream that it feeds with it. The two
 * streams of a call may be with different ones.
 *
 * A stream at the shared port is with receiver SSRC mod the number of the
 * port's sockets: the kernel shares its packets out like that (udp/socket.h),
 * but for trains (handover). An endpoint is with the one that has fewest when
 * it is opened, and does not move when others are closed. What is then out of
 * balance goes to new ones, and no receiver has more than it has had.
 *
 * Thread rule: control.
 */

struct receivers;

/** The settings in which receivers differ: see rx_config. */
struct receivers_place {
	int cpu;
	bool shares_cpu;
};

struct receivers_config {
	struct rx_config each; /**< what all have */
	unsigned count;	       /**< at least 1 */
	/** Sockets of the shared port: one, then receiver 0 has it, or one for
	 * each receiver, from udp_socket_group(). Borrowed; NULL: nobody
	 * listens before receivers_listen(). */
	const int *fd;
	unsigned nfd;
	const struct receivers_place *place; /**< [count] */
	struct trace *trace; /**< rings from number first_ring on are theirs */
	unsigned first_ring;
};

/** Octet of an RTP packet where its SSRC is, for udp_socket_group(). */
#define RECEIVERS_KEY 8u

/** Start them. As rx_open(). */
int receivers_open(struct receivers **r, const struct receivers_config *cfg,
		   struct cr_err *warn, struct cr_err *e);
/** Listen at the shared port, whose sockets are @fd, one after the other: its
 * streams are there. 0, or -errno with @e. Control thread. */
int receivers_listen(struct receivers *r, const int *fd, struct cr_err *e);
/** Stop and join. NULL is fine. */
void receivers_close(struct receivers *r);

unsigned receivers_count(const struct receivers *r);
const struct rx *receivers_at(const struct receivers *r, unsigned i);
/** How many streams at the shared port, and endpoints, are with number @i. */
unsigned receivers_streams(const struct receivers *r, unsigned i);

/** Which one a stream is with that has @ssrc at the shared port. */
unsigned receivers_of_ssrc(const struct receivers *r, uint32_t ssrc);
/** Which one of those with a socket of the shared port has fewest. */
unsigned receivers_least_shared(const struct receivers *r);
/** Which one an endpoint should be with. */
unsigned receivers_least(const struct receivers *r);

/** A stream at the shared port is with number stream_cfg.receiver from now on,
 * and no more. */
void receivers_add(struct receivers *r, const struct transcoder *c);
void receivers_del(struct receivers *r, const struct transcoder *c);

/** @ep, which has a name, is with number endpoint_cfg.receiver from now on,
 * which receives at its port. 0, or -errno with @e. */
int receivers_add_endpoint(struct receivers *r, struct endpoint *ep,
			   struct cr_err *e);
/** Undo that. Its socket may be closed after a grace period. */
void receivers_del_endpoint(struct receivers *r, struct endpoint *ep);

/** See rx_pause_endpoint(); and: hear @ep now, unless it is. */
int receivers_begin_endpoint(struct receivers *r, struct endpoint *ep,
			     struct cr_err *e);
void receivers_pause_endpoint(struct receivers *r, struct endpoint *ep);
int receivers_go_on_endpoint(struct receivers *r, struct endpoint *ep,
			     struct cr_err *e);
void receivers_pause_shared(struct receivers *r);
/** All of them: see rx_rests(). */
bool receivers_rest(const struct receivers *r);
void receivers_begin_pauses(struct receivers *r);
/** Has each taken what others have read for it from the shared port? */
bool receivers_took_all(const struct receivers *r);

/** Between these two, adding and removing endpoints wakes no receiver. The
 * second one wakes those that have something to do: what belongs together costs
 * them one wake. */
void receivers_gather(struct receivers *r);
void receivers_notify(struct receivers *r);

#endif
