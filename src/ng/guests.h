/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may ask: hosts and networks, by their addresses.
 *
 * Pure.
 */
#ifndef NG_GUESTS_H
#define NG_GUESTS_H

#include <netinet/in.h>
#include <stdbool.h>

#include "cr/error.h"

/** More in one list are refused. */
#define NG_GUESTS_MAX 64u

struct ng_network {
	struct in6_addr host; /**< IPv4 is mapped, base/address.h       */
	unsigned bits;	      /**< of it that its hosts have in common */
};

struct ng_guests {
	unsigned n;
	struct ng_network network[NG_GUESTS_MAX];
};

/** Read "ADDRESS[/BITS],...": "192.0.2.7,198.51.100.0/24,2001:db8::/32".
 * Without bits it is one host. 0; -EINVAL with @e: one of them is no such
 * thing, or there are too many. */
int ng_guests_read(struct ng_guests *g, const char *text, struct cr_err *e);

/** Is @from one of them, or in one of them? */
bool ng_guests_has(const struct ng_guests *g,
		   const struct sockaddr_storage *from);

#endif
