/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steady load for a rig's node: one frame of every call at a time, from a
 * thread of its own, the next ones only when all have come back. So the node
 * always has work, and a single lost frame stops the traffic.
 */
#ifndef TESTS_NODE_TRAFFIC_H
#define TESTS_NODE_TRAFFIC_H

#include <pthread.h>
#include <stdatomic.h>

#include "node_fixture.h"

struct traffic {
	struct node_fixture *rig;
	unsigned ncalls;
	struct node_stream **call;     /**< [ncalls] */
	struct fixture_sender *sender; /**< [ncalls] */
	pthread_t thread;
	atomic_bool stop, stuck;
	atomic_uint came; /**< packets that came back */
	unsigned rounds;  /**< after traffic_end()    */
};

/** Start @ncalls calls PCMU to PCMA and their frames. */
void traffic_begin(struct traffic *t, struct node_fixture *r, unsigned ncalls);
/** Wait until @n more frames have come back; fails the test when stuck. */
void traffic_flows(struct traffic *t, unsigned n);
/** Stop; the calls stay. Every frame sent has come back then, or the test has
 * failed. */
void traffic_end(struct traffic *t);
/** End the calls; fails the test unless each has done all its frames and lost
 * none. */
void traffic_balance(struct traffic *t);

#endif
