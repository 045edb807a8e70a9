/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a way to receive implements; for inlet.c and inlet_uring.c only. The
 * functions are those of inlet.h.
 */
#ifndef UDP_INLET_OPS_H
#define UDP_INLET_OPS_H

#include "udp/inlet.h"

/** Full batches from one socket before the others get a look. */
#define INLET_ROUNDS 16u

struct inlet_ops {
	enum udp_io io;
	int (*open)(struct inlet **in, struct cr_err *e);
	void (*close)(struct inlet *in);
	int (*add)(struct inlet *in, int fd, uint64_t tag,
		   enum inlet_traffic traffic, uint64_t *key, struct cr_err *e);
	void (*del)(struct inlet *in, uint64_t key);
	int (*wait)(struct inlet *in, cr_ns timeout);
	bool (*next)(struct inlet *in, struct inlet_packet *p);
	uint64_t (*ahead)(struct inlet *in, unsigned n); /**< NULL: 0 */
	void (*leave)(struct inlet *in); /**< NULL: nothing to do */
	void (*wake)(struct inlet *in);
};

/** The first member of each way's own struct. */
struct inlet {
	const struct inlet_ops *ops;
	/* the thread that adds and removes */
	unsigned gathers; /* depth: inlet_gather() less inlet_notify() */
	bool owed;	  /* a wake, which waits for the last of those */
};

extern const struct inlet_ops inlet_uring_ops;

#endif
