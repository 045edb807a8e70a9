/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets on their way in: datagrams out of a socket, a batch to a system call,
 * with the kernel's arrival times. Datagrams that travelled as one train (equal
 * size, same peer, back to back: UDP receive offload) cost the kernel about as
 * much as one; they are handed out one by one.
 *
 * Thread rule: one thread.
 */
#ifndef UDP_INTAKE_H
#define UDP_INTAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <time.h>

#include "cr/time.h"

struct intake;

struct intake_packet {
	const uint8_t *data; /**< until the next intake_receive()           */
	size_t bytes;
	const struct sockaddr_storage *from;
	cr_ns arrival; /**< CLOCK_MONOTONIC; a train has one. Wrong by a step
			    of CLOCK_REALTIME, in which the kernel stamps,
			    between the packet and the reading            */
	cr_ns read;    /**< CLOCK_MONOTONIC, of the batch: never goes back  */
};

struct intake *intake_open(void);     /**< NULL: out of memory */
void intake_close(struct intake *in); /**< NULL is fine */

/** Let trains come whole to @fd, which must be read with intake_receive() from
 * then on. An older kernel takes them apart, which is slower. */
void intake_take_trains(int fd);

/** One batch from @fd (see udp_socket()) takes the place of the last one. Never
 * blocks. False: there was nothing. */
bool intake_receive(struct intake *in, int fd);

/** The next packet of the batch. False: that was all. */
bool intake_next(struct intake *in, struct intake_packet *p);

/** The batch was full: the socket may hold more. */
bool intake_full(const struct intake *in);

/** The number of drops by the kernel at the socket last read, for its
 * buffer was full, when the last packet handed out came; modulo 2^32. A train
 * is dropped whole and counts once. 0: nothing yet, or not known. */
uint32_t intake_drops(const struct intake *in);

/* --- control data --- */

/*
 * The kernel reports with a datagram: when it came, how many were dropped
 * before it, how long the packets of a train are.
 */

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
