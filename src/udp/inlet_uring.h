/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receiving with io_uring, with sizes to choose: for tests.
 */
#ifndef UDP_INLET_URING_H
#define UDP_INLET_URING_H

#include "udp/inlet.h"
#include "udp/receive_ring.h"

/** As inlet_open(). */
int inlet_uring_open(struct inlet **in, const struct receive_ring_sizes *sizes,
		     struct cr_err *e);

#endif
