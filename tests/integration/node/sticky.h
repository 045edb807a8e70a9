/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A codec that does not come back while it is held: PCMA whose encoder blocks.
 */
#ifndef TESTS_NODE_STICKY_H
#define TESTS_NODE_STICKY_H

#include <stdatomic.h>
#include <stdbool.h>

#include "node_fixture.h"

extern atomic_bool sticky_held;
/** Frames that may come back nevertheless. */
extern atomic_int sticky_tickets;
/** Frames in the encoder now, and all that have ever been. */
extern atomic_uint sticky_inside, sticky_entered;

const struct cr_codec *sticky_codec(void);

/** A call from PCMU to it, its output to nobody. */
struct node_stream *sticky_call(struct node_fixture *r);

/** @w, with its done() and arg, waits for the cost of such a call. Returns when
 * the thread that measures is in the held encoder. */
void sticky_measure(struct node_fixture *r, struct node_cost_wait *w);

#endif
