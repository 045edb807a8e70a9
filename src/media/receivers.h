/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receivers of a node: one thread or several (media/rx.h), and which call
 * is with which of them. A call stays with one receiver for life.
 *
 * A call at the shared port is with receiver SSRC mod the number of the port's
 * sockets: the kernel shares its packets out like that (udp/socket.h),
 * but for trains (media/handover.h). A call with a port of its own is with the
 * one that has fewest calls when it starts. Calls do not move when others end.
 * What is then out of balance goes to new calls, and no receiver has more than
 * it has had.
 *
 * Thread rule: control.
 */
#ifndef MEDIA_RECEIVERS_H
#define MEDIA_RECEIVERS_H

#include "media/rx.h"

struct receivers;

/** What each has of its own: see rx_config. */
struct receivers_place {
	int cpu;
	bool shares_cpu;
};

struct receivers_config {
	struct rx_config each; /**< what all have */
	unsigned count;	       /**< at least 1 */
	/** Sockets of the shared port: one, then receiver 0 has it, or one for
	 * each receiver, from udp_socket_group(). Borrowed. */
	const int *fd;
	unsigned nfd;
	const struct receivers_place *place; /**< [count] */
	struct trace *trace; /**< rings from number first_ring on are theirs */
	unsigned first_ring;
};

/** Octet of an RTP packet where its SSRC is, for udp_socket_group(). */
#define RECEIVERS_KEY 8u

/** Start them. As rx_open(). */
int receivers_open(struct receivers **r, const struct receivers_config *cfg,
		   struct cr_err *warn, struct cr_err *e);
/** Stop and join. NULL is fine. */
void receivers_close(struct receivers *r);

unsigned receivers_count(const struct receivers *r);
const struct rx *receivers_at(const struct receivers *r, unsigned i);
/** How many calls are with number @i. */
unsigned receivers_calls(const struct receivers *r, unsigned i);

/** Which one a call is with that has @ssrc at the shared port. */
unsigned receivers_of_ssrc(const struct receivers *r, uint32_t ssrc);
/** Which one of those with a socket of the shared port has fewest calls. */
unsigned receivers_least_shared(const struct receivers *r);
/** Which one a call with a port of its own should be with. */
unsigned receivers_least(const struct receivers *r);

/** A call at the shared port is with number call_cfg.receiver from now on, and
 * no more. */
void receivers_add(struct receivers *r, const struct call *c);
void receivers_del(struct receivers *r, const struct call *c);

/** @l, which has a name, is with number endpoint_cfg.receiver from now on,
 * which receives at its port. 0, or -errno with @e. */
int receivers_add_endpoint(struct receivers *r, struct endpoint *l,
			   struct cr_err *e);
/** Undo that. Its socket may be closed after a grace period. */
void receivers_del_endpoint(struct receivers *r, struct endpoint *l);

/** Between these two, adding and removing endpoints wakes no receiver. The
 * second one wakes those that have something to do: what belongs together costs
 * them one wake. */
void receivers_gather(struct receivers *r);
void receivers_notify(struct receivers *r);

#endif
