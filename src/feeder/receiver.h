/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receives what the daemon sends back: one thread, any number of sockets
 * (udp/inlet.h), packets with the kernel's timestamps, demultiplexed by SSRC,
 * or by port. A packet that comes to another call's socket is counted and given
 * to nobody. The thread looks every two milliseconds: the kernel's timestamp
 * says when a packet came, so being woken for each would cost CPU and tell
 * nothing.
 */
#ifndef FEEDER_RECEIVER_H
#define FEEDER_RECEIVER_H

#include "cr/error.h"
#include "feeder/talk.h"
#include "udp/io.h"

struct receiver;

struct receiver_stats {
	uint64_t packets, malformed, unknown_ssrc;
	uint64_t misdirected; /**< came to another call's socket           */
	uint64_t rtcp;	      /**< RTCP that came where RTP does            */
	uint64_t foreign;     /**< by NG: of no payload type that was agreed */
	uint64_t asymmetric;  /**< came from another port than the one to
				   which the call, or the party, sends     */
	cr_ns cpu;
};

/** Of a socket at which all calls receive. */
#define RECEIVER_ANY_CALL UINT64_C(0)

/** @calls: most calls; @cpu: pin, or -1; @io: as inlet_open(). */
int receiver_open(struct receiver **r, size_t calls, int cpu, enum udp_io io,
		  struct cr_err *e);

/** The tag of @call's own socket. */
static inline uint64_t receiver_tag(const struct feeder_call *call)
{
	return (uint64_t)(uintptr_t)call;
}

/** Receive at @fd (udp_socket(), borrowed), which is that of call @tag, or of
 * RECEIVER_ANY_CALL. 0 with *@key, or -errno with @e. Main thread. */
int receiver_listen(struct receiver *r, int fd, uint64_t tag, uint64_t *key,
		    struct cr_err *e);

/** Receive no more at the socket @key. Returns the turn (receiver_turns())
 * after which it may be closed. Main thread. */
uint64_t receiver_forget(struct receiver *r, uint64_t key);

/** How many turns the thread has ended. Any thread. */
uint64_t receiver_turns(const struct receiver *r);

/** Listen for @call's ssrc_out from now on; what comes to the port of a talk's,
 * or of one that is by_port, needs no such thing. Main thread. -EEXIST: that
 * SSRC is another call's. */
int receiver_add(struct receiver *r, struct feeder_call *call);

/** Stop and wait for the thread. */
void receiver_stop(struct receiver *r);

/** After receiver_stop(). */
void receiver_stats(const struct receiver *r, struct receiver_stats *out);

void receiver_close(struct receiver *r); /**< stops it too; NULL is fine */

#endif
