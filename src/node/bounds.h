/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can be promised about a call beside those that are there now: how late
 * its frames can be, and the play-out buffer that makes up for it.
 *
 *   in time   what the policy says of itself (explain()'s key in_time): no
 *             frame is late that takes no longer than its call's worst case
 *   edf-hsb   of soft calls: the theory of analysis/hsb.h, with the budgets
 *             that the policy has given them
 *   nothing   all other policies, plug-ins that do not say in_time, and calls
 *             that count by their mean
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

/** What @nc can expect. Takes time in proportion to the calls under edf-hsb,
 * next to none else. */
struct bound bound_of(struct node_call *nc);

#endif
