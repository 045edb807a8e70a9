/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can be promised about a call, given the calls that there are now: how
 * late its frames can be, and the play-out buffer that makes up for it. The
 * policy tells one of these:
 *
 *   lateness  no frame is later than this
 *   servers   soft calls have a budget each: the bound is that of
 *             analysis/hsb.h, with the servers that the policy tells
 *   nothing   no bound, and why
 *
 * Control thread.
 */
#ifndef NODE_BOUNDS_H
#define NODE_BOUNDS_H

struct node_call;

/** A promise. Times in ns. */
struct bound {
	const char *rule; /**< what says so; NULL: nothing is promised ... */
	const char *why; /**< ... because                                     */
	double tardiness; /**< behind the end of its server's period */
	double lateness; /**< behind a frame's deadline                       */
	double frames;	 /**< queue for what is late: equation (4), >= 1      */
	double buffer;	 /**< from a frame's arrival to when it is there      */
	double cost;	 /**< of frames that it is about; 0: of all           */
};

/** What @nc can expect. Takes time in proportion to the calls where these have
 * servers, next to none else. */
struct bound bound_of(struct node_call *nc);

#endif
