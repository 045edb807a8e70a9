/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts and networks, by their addresses: who may ask, where may be sent to.
 *
 * Pure.
 */
#ifndef BASE_NETWORKS_H
#define BASE_NETWORKS_H

#include <netinet/in.h>
#include <stdbool.h>

#include "cr/error.h"

/** More in one list are refused. */
#define NETWORKS_MAX 64u

struct network {
	struct in6_addr host; /**< IPv4 is mapped, base/address.h       */
	unsigned bits;	      /**< of it that its hosts have in common */
};

struct networks {
	unsigned n;
	struct network network[NETWORKS_MAX];
};

/** Read "ADDRESS[/BITS],...": "192.0.2.7,198.51.100.0/24,2001:db8::/32".
 * Without bits it is one host. 0; -EINVAL with @e: one of them is no such
 * thing, or there are too many. */
int networks_read(struct networks *g, const char *text, struct cr_err *e);

/** Is @host in @net? */
bool network_has(const struct network *net, const struct in6_addr *host);

/** Is @from one of them, or in one of them? */
bool networks_has(const struct networks *g,
		  const struct sockaddr_storage *from);

#endif
