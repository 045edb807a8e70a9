/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A receiving thread: packets of many sockets (udp/inlet.h) through
 * packet_take() into the rings, and one release per batch. There may be
 * several, see media/receivers.h.
 *
 * A turn serves every socket that is ready, however many. After it the thread
 * may sleep before it looks again, so that under load it wakes a bounded number
 * of times a second, whatever the packet rate: as media/pace.h says, or for
 * `coalesce`. An idle socket wakes it at once.
 */
#ifndef MEDIA_RX_H
#define MEDIA_RX_H

#include "media/handover.h"
#include "media/endpoints.h"
#include "media/packet.h"
#include "udp/inlet.h"

struct rx;
struct endpoint_rtcp_sums;

/** rx_config.coalesce: as media/pace.h says. */
#define RX_COALESCE_AUTO (-1)

struct rx_config {
	unsigned number; /**< of this receiver, from 0 */
	/** A socket of the shared port (udp_socket()), borrowed; -1: none. */
	int fd;
	/** Others have sockets of that port, too. Then trains are not welcome:
	 * the kernel would give one whole, calls of others included. */
	bool one_of_many;
	struct handover *
		*box; /**< of each receiver, by number; NULL: one only */
	struct call_table *table;
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
/** Stop and join: it hands over no more. */
void rx_stop(struct rx *rx);
/** Stop, if rx_stop() has not, and free. NULL is fine. */
void rx_close(struct rx *rx);

/** Receive for @l, too, which has a name (media/endpoints.h). Control thread.
 */
int rx_add_endpoint(struct rx *rx, struct endpoint *l, struct cr_err *e);
/** Stop that. The socket may be closed after a grace period. */
void rx_del_endpoint(struct rx *rx, struct endpoint *l);
/** Between these two, both of those wake it once (inlet_gather()). */
void rx_gather(struct rx *rx);
void rx_notify(struct rx *rx);

/** Count what the port of @l still holds, and what it has dropped behind the
 * last packet that was taken: with @c, of its listener or relay, or with the
 * endpoint if that is NULL. A grace period after rx_del_endpoint(), when the
 * socket is about to be closed. Any thread. */
void rx_count_rest(struct endpoint *l, struct call_counters *c);
/** The same of its port for RTCP, if it has one: always with the endpoint. */
void rx_count_rtcp_rest(struct endpoint *l);

/** How it receives: UDP_IO_URING or UDP_IO_EPOLL. */
enum udp_io rx_io(const struct rx *rx);

/** What RTCP of its endpoints says. Any thread. */
const struct endpoint_rtcp_sums *rx_rtcp(const struct rx *rx);
const struct packet_counters *rx_counters(const struct rx *rx);
/** CPU time of the thread so far, ns. */
cr_ns rx_cpu(const struct rx *rx);

#endif
