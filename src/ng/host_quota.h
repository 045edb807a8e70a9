/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each host that asks has of this node: media lines, each of which takes
 * two endpoints with their ports and descriptors, and memory for what was said
 * of them. One host may not have all of it.
 *
 * Pure but for memory. One thread.
 */
#ifndef NG_HOST_QUOTA_H
#define NG_HOST_QUOTA_H

#include <bsd/sys/tree.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "cr/error.h"

/** Memory that may be taken for each line that may be had, octets. */
#define NG_LINE_OCTETS ((size_t)32 << 10)

struct ng_bounds {
	unsigned lines, lines_of_host;
	unsigned offers_of_host; /**< that nobody has answered yet */
	unsigned lines_of_call;	 /**< of one description           */
};

struct ng_share;
RB_HEAD(ng_share_tree, ng_share);

struct ng_host_quota {
	struct ng_bounds most;
	unsigned lines;
	size_t octets;
	struct ng_share_tree tree;
};

/** What one dialog has; zero: nothing yet. */
struct ng_due {
	struct ng_share *share; /**< whose it is; NULL: nobody's yet */
	unsigned lines;
	size_t octets;
	bool rings; /**< nobody has answered it yet */
};

/** @d is on @host from now on. 0, or -ENOMEM with @e. */
int ng_due_open(struct ng_host_quota *s, struct ng_due *d,
		const struct sockaddr_storage *host, struct cr_err *e);
/** It has so much now. 0; -ENOSPC with @e, which names the bound: nothing has
 * changed. Less is always possible. */
int ng_due_change(struct ng_host_quota *s, struct ng_due *d, unsigned lines,
		  size_t octets, struct cr_err *e);
/** It was offered, and @rings until somebody answers. 0; -ENOSPC with @e: its
 * host has as many of these as it may have. */
int ng_due_ring(struct ng_host_quota *s, struct ng_due *d, bool rings,
		struct cr_err *e);
/** How many of its host's ring; 0: nobody's. */
unsigned ng_due_ringing(const struct ng_due *d);
/** It has nothing any more; nobody's is fine. */
void ng_due_close(struct ng_host_quota *s, struct ng_due *d);

#endif
