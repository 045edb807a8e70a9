/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receiving with io_uring, with sizes to choose: for tests.
 */
#ifndef UDP_INLET_URING_H
#define UDP_INLET_URING_H

#include "udp/inlet.h"

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
