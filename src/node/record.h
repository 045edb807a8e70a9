/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is left of a call when it is over, and what is known of it so far: a
 * plain struct. Calls of a conversation have one together.
 */
#ifndef NODE_RECORD_H
#define NODE_RECORD_H

#include "node/info.h"

#define RECORD_TIME_MAX 32u

/** The name of a node, with its NUL. */
#define RECORD_NODE_MAX 65u
#define RECORD_ID_MAX (RECORD_NODE_MAX + 32u)

/** What came from the network. */
struct record_heard {
	const char *source; /**< address; NULL: nothing came     */
	char source_is[NODE_ADDRESS_MAX]; /**< where it leads */
	uint32_t ssrc;			  /**< the last one; 0: none      */
	/** At a port of its own; else there are none. */
	unsigned long long ssrc_changes, address_changes;
	unsigned long long expected; /**< by sequence numbers             */
	unsigned long long lost;     /**< of them, never came             */
	cr_ns jitter;		     /**< RFC 3550, at the end            */
};

/** From arrival to sending; see observe/sketch.h. */
struct record_delay {
	uint64_t count; /**< frames */
	cr_ns p50, p99, max;
};

/** Packets that a listener should have had, and @lost of them that it lacks. */
struct record_loss {
	unsigned long long lost, expected;
};

/** By the E-model, see observe/g107.h. */
struct record_quality {
	double r, mos;
	bool wideband;
	double loss; /**< 0..1, random */
	cr_ns delay; /**< that was assumed */
};

/** One direction. */
struct record_stream {
	struct node_call_info info;
	const struct record_heard *heard; /**< NULL: a thread has it */
	struct record_delay delay;
	const struct record_quality *quality; /**< NULL: no published value */

	struct record_heard heard_is; /**< where the pointers lead */
	struct record_quality quality_is;
};

struct node_record {
	char id[RECORD_ID_MAX]; /**< no other call of any node has it */
	const char *type;	/**< "end" or "interim" */
	const char *node;
	uint32_t call;		    /**< its first stream's id */
	uint32_t conversation;	    /**< 0: of a call by itself */
	uint32_t pair;		    /**< of that: the call it was paired with */
	const char *label, *tag[2]; /**< or NULL */
	unsigned line;		    /**< of a description; 0: of none */
	char start[RECORD_TIME_MAX], end[RECORD_TIME_MAX]; /**< UTC */
	cr_ns duration;
	/** Why it ended, on whose word, and where that one is. NULL: it goes
	 * on; or nobody is. */
	const char *why, *by, *peer;
	struct record_stream stream[2]; /**< from party 0, and back */
	unsigned nstreams;

	char peer_is[NODE_ADDRESS_MAX];
};

#endif
