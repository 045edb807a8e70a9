/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets on their way from the receiver that was given them to the one whose
 * call they are for.
 *
 * The kernel shares out the shared port by SSRC, but a train (udp/intake.h),
 * which may have packets of many calls, it gives whole to the receiver of the
 * first. Loopback and virtual machines pass such trains of a peer that sends
 * with segmentation offload. This costs a copy; packets that come one by one
 * never come here.
 *
 * Each receiver has a box, in which the others put. It is bounded.
 */
#ifndef MEDIA_HANDOVER_H
#define MEDIA_HANDOVER_H

#include "udp/inlet.h"

/** Largest packet that fits. */
#define HANDOVER_BYTES 2048u

struct handover;

struct handover *handover_new(void);	/**< NULL: out of memory */
void handover_free(struct handover *h); /**< NULL is fine */

/** Whose box it is: who waits at @in. Before anybody calls handover_wake(). */
void handover_owned(struct handover *h, struct inlet *in);

/** Put a copy of @p, of HANDOVER_BYTES at most. False: the box is full. Any
 * thread; handover_wake() follows. */
bool handover_put(struct handover *h, const struct intake_packet *p);
/** Let the owner look, if it waits. Any thread. */
void handover_wake(struct handover *h);

/** The oldest packet, until handover_done(). NULL: there is none. The owner. */
const struct intake_packet *handover_first(struct handover *h);
/** The oldest one has been taken. */
void handover_done(struct handover *h);

#endif
