/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The usrsctp back-end's state, shared by sctp_user.c (sockets, timers)
 * and sctp_user_events.c (notifications). Includes <usrsctp.h>: nothing that
 * sees <netinet/sctp.h> may include this.
 */
#ifndef TRANSPORT_SCTP_USER_H
#define TRANSPORT_SCTP_USER_H

#include <usrsctp.h>

#include "transport/sctp_user_peers.h"

enum { USER_BUCKETS = 256 };

/** One association that came up; holds its peer. */
struct user_assoc {
	sctp_assoc_t id;
	struct user_peer *peer;
	LIST_ENTRY(user_assoc) chain;
};

LIST_HEAD(user_chain, user_assoc);

struct user {
	struct transport t; /**< first */
	struct transport_config cfg;
	struct address local; /**< of the UDP socket */
	int fd;
	struct socket *so;
	struct event *readable, *tick;
	struct user_peer *server; /**< of a client */
	struct silence silence;
	cr_ns earliest; /**< heard before this: lost. Never later than the
			     silence allows */

	bool ready;	  /**< usrsctp has something for us          */
	bool refused;	  /**< a send got -EAGAIN: say ROOM          */
	bool udp_refused; /**< ICMP: nothing at the server's port    */
	bool connecting;  /**< neither UP nor CANT_START so far      */
	bool failed;	  /**< CANT_START was said                   */
	bool delivering;  /**< in the event callback                 */
	bool closed;	  /**< closed there: freed afterwards        */

	struct user_chain assocs[USER_BUCKETS];
	_Alignas(16) unsigned char buffer[65536]; /**< a datagram, or a part of
						       a message */
};

/** Hand everything usrsctp holds to the owner. May free @u. */
void user_deliver(struct user *u);

/** Forget all associations, silently. */
void user_free_assocs(struct user *u);

#endif
