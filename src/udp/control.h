/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel tells beside a datagram: when it came, what was dropped
 * before it, how long the packets of a train are.
 */
#ifndef UDP_CONTROL_H
#define UDP_CONTROL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <time.h>

#include "cr/time.h"

/** Room for all of it. */
#define CONTROL_BYTES                                                          \
	(CMSG_SPACE(sizeof(struct timespec)) + CMSG_SPACE(sizeof(uint32_t)) +  \
	 CMSG_SPACE(sizeof(int)))

/** Turns real time, in which the kernel stamps, into CLOCK_MONOTONIC. */
struct control_clock {
	cr_ns now;
	cr_ns skew; /**< real time minus monotonic */
};

struct control {
	cr_ns arrival;	/**< CLOCK_MONOTONIC, not after clock.now; if the kernel
			 * did not stamp it, clock.now */
	uint32_t drops; /**< see inlet_packet.drops */
	size_t stride;	/**< octets of a train's packets; 0: it is none */
};

/** Read both clocks: once a batch is enough. */
void control_clock_read(struct control_clock *clock);

/** Read the control data of @m. */
void control_read(const struct msghdr *m, const struct control_clock *clock,
		  struct control *out);

#endif
