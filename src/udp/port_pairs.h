/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairs of ports: an even port for RTP and the odd one above it for RTCP (RFC
 * 3550, 11). A pool knows which pairs of a range are free, and no sockets; a
 * set of pairs opens sockets for calls at one local address.
 *
 * Pairs are taken in random order at first. After that the pair that has been
 * free for the longest time is next, so that late packets of a call that has
 * ended do not reach the next one. Taking and giving back are O(1).
 *
 * The ports of sockets are those of a range, or what the kernel has. A pair of
 * the range is its owner's as a whole, even if its RTCP port is not opened.
 * Ports that other programs have are passed over.
 *
 * A pool: one thread at a time. Pairs of sockets: any thread.
 */
#ifndef UDP_PORT_PAIRS_H
#define UDP_PORT_PAIRS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "cr/error.h"

/* --- ranges and pools --- */

/** The range of --rtp-ports: both ends may be used. @from 0: there is none. */
struct port_range {
	uint16_t from, to;
};

/** Room for "30000-40000". */
#define PORT_RANGE_TEXT 16u

/** Read "30000-40000": ports from 1 to 65535, with room for a pair at least.
 * 0, or -EINVAL with @e. */
int port_range_parse(struct port_range *r, const char *text, struct cr_err *e);

/** "30000-40000". Returns @buf. */
const char *port_range_text(const struct port_range *r,
			    char buf[PORT_RANGE_TEXT]);

/** The number of pairs in @r. */
unsigned port_range_pairs(const struct port_range *r);

/** The pairs of a range. Zero has none. */
struct port_pool {
	unsigned first;	 /**< even port of the first pair                  */
	unsigned npairs; /**< in the range                                 */
	unsigned nfree;	 /**< of them                                      */
	unsigned head;	 /**< where the one is that is taken next          */
	uint16_t *queue; /**< [npairs] numbers of free pairs, oldest first */
	bool *taken;	 /**< [npairs]                                     */
};

/** All pairs of @r, in an order that @seed makes. 0 or -ENOMEM. */
int port_pool_init(struct port_pool *p, const struct port_range *r,
		   uint64_t seed);
/** Zero is fine; so is a second time. */
void port_pool_fini(struct port_pool *p);

/** The even port of the pair that has been free for the longest time, which is
 * taken now. 0: none is free. */
unsigned port_pool_take(struct port_pool *p);

/** The pair of @port is taken, if it is free. False: it is not one of these. */
bool port_pool_take_at(struct port_pool *p, unsigned port);

/** @port, which was taken, is free again. */
void port_pool_give(struct port_pool *p, unsigned port);

/* --- pairs of sockets --- */

struct port_pairs;

struct port_pairs_config {
	struct sockaddr_storage local; /**< its port does not count          */
	struct port_range range;       /**< 0: any port that is free         */
	unsigned tos;  /**< of what is sent, see udp/socket.h   */
	int bytes;     /**< receive buffer of a socket       */
	uint64_t seed; /**< the order of the ports follows */
};

/** One owner's sockets. */
struct port_pair {
	int rtp, rtcp; /**< descriptors; -1: none */
	unsigned port; /**< of RTP; RTCP's, if there is one, is one above */
};

/** The numbers of pairs, and of those in use. */
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
 * all with @e.
 */
int port_pair_open(struct port_pairs *p, bool rtcp, struct port_pair *out,
		   struct cr_err *e);

/** The same at @port, which another machine had. -EADDRINUSE: it is not free,
 * or not of the range. */
int port_pair_open_at(struct port_pairs *p, unsigned port, bool rtcp,
		      struct port_pair *out, struct cr_err *e);

/** @pair, which another process has opened, is in use here from now on. False:
 * it is not of this range. */
bool port_pair_adopt(struct port_pairs *p, const struct port_pair *pair);

/** Close @pair's sockets, and let others have its ports. Nothing, if it has no
 * sockets (both -1). */
void port_pair_close(struct port_pairs *p, struct port_pair *pair);

void port_pairs_info(struct port_pairs *p, struct port_pairs_info *out);

#endif
