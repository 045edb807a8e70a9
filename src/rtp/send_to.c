/* SPDX-License-Identifier: Apache-2.0 */
#include "rtp/send_to.h"

#include <string.h>

#include "base/address.h"
#include "base/assert.h"

/* Multicast, reserved, broadcast and link-local addresses. */
#define NEVER "224.0.0.0/4,240.0.0.0/4,169.254.0.0/16,ff00::/8,fe80::/10"

int send_to_init(struct send_to *s, const char *list, struct cr_err *e)
{
	int err;

	memset(s, 0, sizeof(*s));
	err = networks_read(&s->never, NEVER, e);
	if (!err && list)
		err = networks_read(&s->only, list, e);
	return err;
}

void send_to_keep_from(struct send_to *s, const struct sockaddr_storage *own)
{
	CR_ASSERT(s->nown < SEND_TO_OWN_MAX);
	s->own[s->nown++] = *own;
}

static bool is_own(const struct send_to *s, const struct sockaddr_storage *to,
		   unsigned ports)
{
	const struct in6_addr host = address_mapped(to);
	unsigned to_port = address_port(to);

	for (unsigned i = 0; i < s->nown; i++) {
		const struct in6_addr own = address_mapped(&s->own[i]);
		unsigned port = address_port(&s->own[i]);

		if (port >= to_port && port < to_port + ports &&
		    (!memcmp(&host, &own, sizeof(host)) ||
		     (address_any(&s->own[i]) && own_hosts_has(s->here, to))))
			return true;
	}
	return false;
}

/* 0.0.0.0/8 is this host, whatever else it says. */
static bool is_unspecified(const struct sockaddr_storage *to)
{
	const struct in6_addr host = address_mapped(to);

	return address_any(to) ||
	       (IN6_IS_ADDR_V4MAPPED(&host) && !host.s6_addr[12]);
}

const char *send_to_refuses(const struct send_to *s,
			    const struct sockaddr_storage *to, unsigned ports,
			    bool local)
{
	if (!s || (to->ss_family != AF_INET && to->ss_family != AF_INET6))
		return NULL;
	if (is_unspecified(to))
		return "is no address that can be sent to";
	if (is_own(s, to, ports))
		return "is a port by which this daemon is driven";
	if (own_hosts_broadcasts(s->here, to))
		return "is a broadcast address of a network of this machine";
	if (s->only.n)
		return networks_has(&s->only, to) ? NULL
						  : "is in none of --send-to";
	if (networks_has(&s->never, to))
		return "is multicast, reserved or link-local; --send-to says "
		       "where packets may go";
	if (!local && address_loopback(to))
		return "is of loopback, and the endpoint is not; --send-to "
		       "says "
		       "where packets may go";
	return NULL;
}
