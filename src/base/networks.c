/* SPDX-License-Identifier: Apache-2.0 */
#include "base/networks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"

enum { ADDRESS_BITS = 128, MAPPED_BITS = 96, ITEM_MAX = 64 };

/* "24" of at most @most. */
static int read_bits(unsigned *out, const char *text, unsigned most)
{
	if (!*text || strlen(text) > 3 || text[strspn(text, "0123456789")])
		return -EINVAL;
	*out = (unsigned)strtoul(text, NULL, 10);
	return *out > most ? -EINVAL : 0;
}

static int read_network(struct network *out, char *text)
{
	char *bits = strchr(text, '/');
	struct sockaddr_storage a;
	unsigned before, own;

	if (bits)
		*bits++ = '\0';
	if (address_parse_host(text, &a))
		return -EINVAL;
	before = a.ss_family == AF_INET ? MAPPED_BITS : 0;
	own = ADDRESS_BITS - before;
	if (bits && read_bits(&own, bits, own))
		return -EINVAL;
	*out = (struct network){ address_mapped(&a), before + own };
	return 0;
}

int networks_read(struct networks *g, const char *text, struct cr_err *e)
{
	char item[ITEM_MAX];
	size_t n;

	g->n = 0;
	for (;; text += n + 1) {
		n = strcspn(text, ",");
		if (g->n == NETWORKS_MAX)
			return cr_fail(e, -EINVAL, "more than %u networks",
				       NETWORKS_MAX);
		(void)snprintf(item, sizeof(item), "%.*s", (int)n, text);
		if (n >= sizeof(item) ||
		    read_network(&g->network[g->n++], item))
			return cr_fail(e, -EINVAL,
				       "%.*s: is no ADDRESS[/BITS], such as "
				       "192.0.2.7 or 2001:db8::/32",
				       (int)(n < ITEM_MAX ? n : ITEM_MAX),
				       text);
		if (!text[n])
			return 0;
	}
}

bool network_has(const struct network *net, const struct in6_addr *host)
{
	unsigned octets = net->bits / 8, rest = net->bits % 8;
	unsigned differ;

	if (memcmp(host, &net->host, octets) != 0)
		return false;
	if (!rest)
		return true;
	differ = host->s6_addr[octets] ^ net->host.s6_addr[octets];
	return !(differ >> (8 - rest));
}

bool networks_has(const struct networks *g, const struct sockaddr_storage *from)
{
	const struct in6_addr host = address_mapped(from);

	for (unsigned i = 0; i < g->n; i++)
		if (network_has(&g->network[i], &host))
			return true;
	return false;
}
