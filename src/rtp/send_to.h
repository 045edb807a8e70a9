/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The addresses that packets may be sent to. A caller names an address, which
 * gets 50 packets a second then: so not everybody's at once, not one that only
 * this link or this machine hears, and never the ports by which the daemon is
 * driven.
 *
 * Pure, but for the addresses of this machine, which change.
 */
#ifndef RTP_SEND_TO_H
#define RTP_SEND_TO_H

#include <stdbool.h>
#include <sys/socket.h>

#include "base/address.h"
#include "base/own_hosts.h"

/* Of SCTP over UDP, and of --ng. */
#define SEND_TO_OWN_MAX 2u

struct send_to {
	struct networks only; /**< none: anywhere but to @never          */
	struct networks never;
	struct sockaddr_storage own[SEND_TO_OWN_MAX];
	unsigned nown;
	const struct own_hosts *here; /**< NULL: nobody knows; borrowed */
};

/** To nowhere but the networks of @list (as networks_read() has them); NULL:
 * anywhere but to multicast, reserved and link-local addresses, and to loopback
 * only from there. To broadcast addresses never. 0; -EINVAL with @e. */
int send_to_init(struct send_to *s, const char *list, struct cr_err *e);

/** Never to the UDP port @own of ours, SEND_TO_OWN_MAX at most; where it is one
 * of any address: to that port of none of @here. Before anybody has an address
 * checked. */
void send_to_keep_from(struct send_to *s, const struct sockaddr_storage *own);

/** Why nothing is to be sent to @to, nor to the @ports - 1 above it; NULL: it
 * may be. @local: from an address of loopback. @s NULL: all may be. */
const char *send_to_refuses(const struct send_to *s,
			    const struct sockaddr_storage *to, unsigned ports,
			    bool local);

#endif
