/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which pairs of ports of a range are free: an even port for RTP and the odd
 * one above it for RTCP (RFC 3550, 11).
 *
 * Pairs are taken in random order at first. After that the pair that has been
 * free for the longest time is next, so that late packets of a call that has
 * ended do not reach the next one. Taking and giving back are O(1).
 *
 * Knows no sockets. One thread at a time.
 */
#ifndef UDP_PORT_POOL_H
#define UDP_PORT_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "cr/error.h"

/** What --rtp-ports says: both ends may be used. @from 0: there is none. */
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

/** How many pairs there are in @r. */
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

/** @port, which was taken, is free again. */
void port_pool_give(struct port_pool *p, unsigned port);

#endif
