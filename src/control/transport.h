/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages over SCTP: one small interface, two stacks behind it.
 *
 * transport_kernel.c speaks kernel SCTP through libsctp, transport_user.c
 * usrsctp over UDP (RFC 6951). <netinet/sctp.h> and <usrsctp.h> clash, so the
 * two files share nothing but this header.
 */
#ifndef CONTROL_TRANSPORT_H
#define CONTROL_TRANSPORT_H

#include <event2/event.h>
#include <stddef.h>
#include <stdint.h>

#include "cr/error.h"

enum transport_kind { TRANSPORT_AUTO, TRANSPORT_KERNEL, TRANSPORT_USER };

/** Where to listen or connect. */
struct transport_addr {
	char host[64];	    /**< numeric or name; "127.0.0.1", "::1"          */
	uint16_t sctp_port; /**< SCTP port                                    */
	uint16_t udp_port;  /**< UDP encapsulation port of the server (9899)  */
};

#endif
