/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receives what the daemon sends back: one thread, packets with the
 * kernel's timestamps (udp/intake.h), demultiplexed by SSRC. It polls every
 * millisecond or two: the kernel's timestamp says when a packet came, so being
 * woken for each would cost CPU and tell nothing.
 */
#ifndef FEEDER_RECEIVER_H
#define FEEDER_RECEIVER_H

#include "cr/error.h"
#include "feeder/call.h"

struct receiver;

struct receiver_stats {
	uint64_t packets, malformed, unknown_ssrc, batches;
	uint64_t kernel_drops; /**< see intake_drops(): our own loss       */
	cr_ns cpu;
};

/** @fd: udp_socket(), borrowed; @calls: most calls; @cpu: pin, or -1. */
int receiver_open(struct receiver **r, int fd, size_t calls, int cpu,
		  struct cr_err *e);

/** Listen for @call's ssrc_out from now on. Main thread. -EEXIST: that SSRC
 * is another call's. */
int receiver_add(struct receiver *r, struct feeder_call *call);

/** Stop and wait for the thread. */
void receiver_stop(struct receiver *r);

/** After receiver_stop(). */
void receiver_stats(const struct receiver *r, struct receiver_stats *out);

void receiver_close(struct receiver *r); /**< stops it too; NULL is fine */

#endif
