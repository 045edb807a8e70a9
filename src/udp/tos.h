/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How routers are asked to treat packets: the differentiated services field
 * (RFC 2474), which is the TOS octet of IPv4 and the traffic class of IPv6. Its
 * upper six bits are the DSCP; the lower two belong to ECN (RFC 3168).
 */
#ifndef UDP_TOS_H
#define UDP_TOS_H

#include "cr/error.h"

/**
 * Read the octet: a number as other media proxies take it (184 or 0xb8 are EF),
 * or the name of a DSCP: EF, VA, LE, CS0 to CS7, AF11 to AF43, in any case.
 * (RFC 2474, 2597, 3246, 5865, 8622.)
 *
 * Returns 0 and *@tos (0..252), or -EINVAL with @e: neither, or a number that
 * sets bits of ECN.
 */
int tos_parse(const char *text, unsigned *tos, struct cr_err *e);

/** Packets that the UDP socket @fd, of @family, sends carry @tos from now on. 0
 * or -errno. */
int tos_set(int fd, int family, unsigned tos);

#endif
