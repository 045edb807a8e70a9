/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of a way to receive, and the members of both; for inlet.c and
 * inlet_uring.c only. The functions are those of inlet.h.
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
	void (*pause)(struct inlet *in, uint64_t key);
	int (*wait)(struct inlet *in, cr_ns timeout);
	bool (*next)(struct inlet *in, struct inlet_packet *p);
	uint64_t (*ahead)(struct inlet *in, unsigned n); /**< NULL: 0 */
	void (*leave)(struct inlet *in); /**< NULL: nothing to do */
};

/** The first member of each way's own struct. */
struct inlet {
	const struct inlet_ops *ops;
	int wake;	    /* an eventfd */
	atomic_uint paused; /* release, pairs with inlet_paused() */
	struct sockets sockets;
	/* the thread that adds and removes */
	unsigned gathers; /* depth: inlet_gather() less inlet_notify() */
	bool owed;	  /* a wake, which waits for the last of those */

	/* the receiving thread: the socket that is read by batches */
	struct intake *in;
	bool reading;	 /* the batch in the intake is of it */
	unsigned rounds; /* batches that it may still give */
	struct sockets_entry socket;
};

/** For an inlet of zeros. 0 or -errno; inlet_fini() follows either way. */
int inlet_init(struct inlet *in, const struct inlet_ops *ops, int wake_flags);
/** Free it and what the two ways have in common. */
void inlet_fini(struct inlet *in);

/** Read a batch from the socket @key: in->reading. False: there is nothing, or
 * it was removed. */
bool inlet_read_batch(struct inlet *in, uint64_t key);
/** The next packet of the batch. False: there is none. */
bool inlet_next_of_batch(struct inlet *in, struct inlet_packet *p);

extern const struct inlet_ops inlet_uring_ops;

/* --- io_uring, with sizes to choose: for tests --- */

/** Powers of two. */
struct receive_ring_sizes {
	unsigned submissions; /**< requests in one system call              */
	unsigned completions; /**< that fit the queue; at least submissions;
			       * the kernel keeps what does not fit        */
	unsigned buffers;     /**< packets that can wait between two turns;
			       * others wait in their sockets              */
};

/** As inlet_open(). */
int inlet_uring_open(struct inlet **in, const struct receive_ring_sizes *sizes,
		     struct cr_err *e);

#endif
