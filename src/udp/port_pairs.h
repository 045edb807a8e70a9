/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets for calls at one local address, each at a pair of ports of its own:
 * RTP at an even port, RTCP at the odd one above it (RFC 3550, 11).
 *
 * The ports are those of a range (udp/port_pool.h), or what the kernel has. A
 * pair of the range is its owner's as a whole, even if its RTCP port is not
 * opened. Ports that other programs have are passed over.
 *
 * Any thread.
 */
#ifndef UDP_PORT_PAIRS_H
#define UDP_PORT_PAIRS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "cr/error.h"
#include "udp/port_pool.h"

struct port_pairs;

struct port_pairs_config {
	struct sockaddr_storage local; /**< its port does not count          */
	struct port_range range;       /**< 0: any port that is free         */
	unsigned tos;		       /**< of what is sent, see udp/tos.h   */
	int bytes;		       /**< receive buffer of a socket       */
	uint64_t seed;		       /**< the order of the ports follows */
};

/** One owner's sockets. */
struct port_pair {
	int rtp, rtcp; /**< descriptors; -1: none */
	unsigned port; /**< of RTP; RTCP's, if there is one, is one above */
};

/** What is there, and what is in use. */
struct port_pairs_info {
	unsigned pairs;	      /**< in the range; 0: there is no range         */
	unsigned used;	      /**< pairs that have an owner                   */
	uint64_t passed_over; /**< times that another program had a port      */
};

/** 0, or -ENOMEM with @e. No socket is opened yet. */
int port_pairs_new(struct port_pairs **p, const struct port_pairs_config *cfg,
		   struct cr_err *e);
/** All pairs have been closed. NULL is fine. */
void port_pairs_free(struct port_pairs *p);

/**
 * Open a pair, RTCP's socket only with @rtcp. Without RTCP and without a range
 * the port is any, odd ones too.
 *
 * Returns 0 and *@out; -EADDRINUSE: all are in use, and @e says which limit
 * that is and what to do; -EMFILE, -ENFILE: no descriptor; -errno otherwise,
 * all with
 * @e.
 */
int port_pair_open(struct port_pairs *p, bool rtcp, struct port_pair *out,
		   struct cr_err *e);

/** Close @pair's sockets, and let others have its ports. Nothing, if it has no
 * sockets (both -1). */
void port_pair_close(struct port_pairs *p, struct port_pair *pair);

void port_pairs_info(struct port_pairs *p, struct port_pairs_info *out);

#endif
