/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The feeder's end of calls: the UDP ports that they send from and receive at.
 * Either each call has one of its own, as real calls do, from before it is
 * asked for until it has ended; or all have the same. Main thread only.
 *
 * And what the daemon sends back to them: one thread, any number of sockets
 * (udp/inlet.h), packets with the kernel's timestamps, demultiplexed by SSRC,
 * or by port. A packet that comes to another call's socket is counted and given
 * to nobody. The thread looks every two milliseconds: the kernel's timestamp
 * says when a packet came, so being woken for each would cost CPU and tell
 * nothing.
 */
#ifndef FEEDER_PORTS_H
#define FEEDER_PORTS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "campaign/campaign.h"
#include "cr/error.h"
#include "udp/io.h"

struct feeder_stream;
struct receiver;

/** Room for "[IPv6%link]:port". */
#define PORT_TEXT 64u

/** One call's. */
struct port {
	int fd;		   /**< -1: none                                    */
	bool heard;	   /**< the receiver listens                        */
	uint64_t key;	   /**< the receiver's                              */
	uint64_t turn;	   /**< closing: the receiver has let go by then    */
	struct port *next; /**< closing                                     */
};

struct ports {
	enum campaign_ports layout;
	struct sockaddr_storage local; /**< port 0 */
	struct port common;	       /**< of all calls, and of questions  */
	char address[PORT_TEXT];       /**< of the common one               */
	struct receiver *receiver;     /**< NULL: nobody receives           */
	struct port *first, **last;    /**< closing, in the order of turns  */
	uint64_t drops; /**< packets for which sockets closed had no room   */
};

/** Open the common port on @local, whose port is 0. 0, or -errno with @e. */
int ports_open(struct ports *p, enum campaign_ports layout,
	       const struct sockaddr_storage *local, struct cr_err *e);

/** From now on @r receives: at the common port, if calls share one, or at what
 * ports_listen() names. 0, or -errno with @e. */
int ports_receive(struct ports *p, struct receiver *r, struct cr_err *e);

/** Can @calls be up at once in this @layout? 0, or -EMFILE with @e, which names
 * the limit that is too low, and the other layout, if they @may_share. */
int ports_check(enum campaign_ports layout, size_t calls, bool may_share,
		struct cr_err *e);

/** The port that a call is to use, and its @address as text; of its own if that
 * is the layout. 0, or -errno with @e, which names the limit that is too low.
 */
int ports_give(struct ports *p, struct port *port, char address[PORT_TEXT],
	       struct cr_err *e);

/** As ports_give(), but of its own in any layout. */
int ports_give_own(struct ports *p, struct port *port, char address[PORT_TEXT],
		   struct cr_err *e);

/** Receive at @port, which is that of @st alone. 0, or -errno with @e. */
int ports_listen(struct ports *p, struct port *port,
		 const struct feeder_stream *st, struct cr_err *e);

/** @port's call is over, and its last packet is sent: close it as soon as the
 * receiver has let go. Nothing, if the port is not its own. */
void ports_take_back(struct ports *p, struct port *port);

/** Close what can be closed; call it now and then. */
void ports_tidy(struct ports *p);

/** Close @port at once: nobody sends or receives any more. */
void ports_drop(struct ports *p, struct port *port);

/** Close the common port, as ports_drop() does; a second time is fine. */
void ports_close(struct ports *p);

/** The descriptor to send from. */
int ports_fd(const struct ports *p, const struct port *port);

/* --- the receiver --- */

struct receiver_stats {
	uint64_t packets, malformed, unknown_ssrc;
	uint64_t misdirected; /**< came to another call's socket           */
	uint64_t rtcp;	      /**< RTCP that came where RTP does            */
	uint64_t foreign;     /**< by NG: of no payload type that was agreed */
	uint64_t asymmetric;  /**< came from another port than the one to
				   which the call, or the party, sends     */
	cr_ns cpu;
};

/** @streams: most of them; @cpu: pin, or -1; @io: as inlet_open(). */
int receiver_open(struct receiver **r, size_t streams, int cpu, enum udp_io io,
		  struct cr_err *e);

/** Listen for @st's ssrc_out from now on; what comes to the port of a
 * two-way call's, or of one that is by_port, needs no such thing. Main thread.
 * -EEXIST: that SSRC is another one's. */
int receiver_add(struct receiver *r, struct feeder_stream *st);

/** Stop and wait for the thread. */
void receiver_stop(struct receiver *r);

/** After receiver_stop(). */
void receiver_stats(const struct receiver *r, struct receiver_stats *out);

void receiver_close(struct receiver *r); /**< stops it too; NULL is fine */

#endif
