/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends every packet of every call when it is due: one thread, a heap by due
 * time, absolute sleeps, one burst (udp/burst.h) for what is due together. A
 * packet leaves at its time or at most PACER_SLACK later while the CPU is
 * there.
 */
#ifndef FEEDER_PACER_H
#define FEEDER_PACER_H

#include "cr/error.h"
#include "feeder/feeder_call.h"
#include "udp/io.h"

/** How long a due packet may wait for others to share its system call. */
#define PACER_SLACK (500 * CR_US)

struct pacer;

struct pacer_cfg {
	cr_ns epoch;	/**< CLOCK_MONOTONIC time of the plan's zero          */
	int cpu;	/**< pin to it; -1: no                                */
	enum udp_io io; /**< how to send                                    */
	size_t streams; /**< most of them */
};

struct pacer_stats {
	uint64_t packets, batches;
	uint64_t failed;     /**< packets that the socket refused           */
	cr_ns cpu, late_max; /**< late_max: behind a packet's due time      */
};

int pacer_open(struct pacer **p, const struct pacer_cfg *cfg, struct cr_err *e);

/** Begin to send @st from its port, which stays open until st->done; packets
 * whose time has passed already are counted as missed. Any thread; returns at
 * once. */
void pacer_add(struct pacer *p, struct feeder_stream *st);

/** Stop sending: every stream ends now. Waits for the thread. */
void pacer_stop(struct pacer *p);

/** After pacer_stop(). */
void pacer_stats(const struct pacer *p, struct pacer_stats *out);

void pacer_close(struct pacer *p); /**< stops it too; NULL is fine */

#endif
