/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Socket addresses as text, numeric only (no name look-ups), hosts and
 * networks. Pure.
 */
#include "base/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cr/error.h"

socklen_t address_length(const struct sockaddr_storage *a)
{
	return a->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					: sizeof(struct sockaddr_in);
}

unsigned address_port(const struct sockaddr_storage *a)
{
	if (a->ss_family == AF_INET6)
		return ntohs(((const struct sockaddr_in6 *)(const void *)a)
				     ->sin6_port);
	return ntohs(((const struct sockaddr_in *)(const void *)a)->sin_port);
}

void address_set_port(struct sockaddr_storage *a, unsigned port)
{
	if (a->ss_family == AF_INET6)
		((struct sockaddr_in6 *)(void *)a)->sin6_port =
			htons((uint16_t)port);
	else
		((struct sockaddr_in *)(void *)a)->sin_port =
			htons((uint16_t)port);
}

struct in6_addr address_mapped(const struct sockaddr_storage *a)
{
	const struct sockaddr_in *a4 = (const void *)a;
	const struct sockaddr_in6 *a6 = (const void *)a;
	struct in6_addr host = { 0 };

	if (a->ss_family == AF_INET6)
		return a6->sin6_addr;
	host.s6_addr[10] = host.s6_addr[11] = 0xff;
	memcpy(&host.s6_addr[12], &a4->sin_addr, 4);
	return host;
}

bool address_same_host(const struct sockaddr_storage *a,
		       const struct sockaddr_storage *b)
{
	const struct sockaddr_in *a4 = (const void *)a, *b4 = (const void *)b;
	const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;

	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	return (!a6->sin6_scope_id || !b6->sin6_scope_id ||
		a6->sin6_scope_id == b6->sin6_scope_id) &&
	       !memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof(a6->sin6_addr));
}

bool address_equal(const struct sockaddr_storage *a,
		   const struct sockaddr_storage *b)
{
	return address_same_host(a, b) && address_port(a) == address_port(b);
}

const char *address_text(const struct sockaddr_storage *a, char *buf,
			 size_t size)
{
	const struct sockaddr_in *a4 = (const void *)a;
	const struct sockaddr_in6 *a6 = (const void *)a;
	char host[INET6_ADDRSTRLEN] = "?";

	if (a->ss_family == AF_INET) {
		(void)inet_ntop(AF_INET, &a4->sin_addr, host, sizeof(host));
		(void)snprintf(buf, size, "%s:%u", host, address_port(a));
	} else if (a->ss_family == AF_INET6) {
		(void)inet_ntop(AF_INET6, &a6->sin6_addr, host, sizeof(host));
		(void)snprintf(buf, size, "[%s]:%u", host, address_port(a));
	} else {
		(void)snprintf(buf, size, "?");
	}
	return buf;
}

const char *address_host_text(const struct sockaddr_storage *a, char *buf,
			      size_t size)
{
	const struct sockaddr_in *a4 = (const void *)a;
	const struct sockaddr_in6 *a6 = (const void *)a;
	const void *host = a->ss_family == AF_INET6
				   ? (const void *)&a6->sin6_addr
				   : (const void *)&a4->sin_addr;

	if ((a->ss_family != AF_INET && a->ss_family != AF_INET6) ||
	    !inet_ntop(a->ss_family, host, buf, (socklen_t)size))
		(void)snprintf(buf, size, "?");
	return buf;
}

bool address_any(const struct sockaddr_storage *a)
{
	const struct sockaddr_in *a4 = (const void *)a;
	const struct sockaddr_in6 *a6 = (const void *)a;

	if (a->ss_family == AF_INET6)
		return IN6_IS_ADDR_UNSPECIFIED(&a6->sin6_addr);
	return a4->sin_addr.s_addr == htonl(INADDR_ANY);
}

bool address_loopback(const struct sockaddr_storage *a)
{
	const struct in6_addr host = address_mapped(a);

	return a->ss_family && (IN6_IS_ADDR_LOOPBACK(&host) ||
				(IN6_IS_ADDR_V4MAPPED(&host) &&
				 host.s6_addr[12] == IN_LOOPBACKNET));
}

static int read_port(const char *text, int *port)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || n > UINT16_MAX)
		return -ERANGE;
	*port = (int)n;
	return 0;
}

int address_split(const char *text, char *host, size_t size, int *port)
{
	bool bracket = *text == '[';
	const char *end = strchr(text, bracket ? ']' : ':');
	const char *after;
	int given = -1;
	size_t len;

	text += bracket;
	if (bracket && !end)
		return -EINVAL;
	if (!end || (!bracket && strchr(end + 1, ':')))
		end = text + strlen(text);
	after = end + bracket;
	len = (size_t)(end - text);
	if (!len || len >= size || (*after && *after != ':'))
		return -EINVAL;
	if (*after && read_port(after + 1, &given))
		return -ERANGE;
	memcpy(host, text, len);
	host[len] = '\0';
	*port = given;
	return 0;
}

static int parse(const char *host, int port, struct sockaddr_storage *out)
{
	struct sockaddr_in a4 = { .sin_family = AF_INET };
	struct sockaddr_in6 a6 = { .sin6_family = AF_INET6 };

	a4.sin_port = htons((uint16_t)port);
	a6.sin6_port = htons((uint16_t)port);
	memset(out, 0, sizeof(*out));
	if (inet_pton(AF_INET, host, &a4.sin_addr) == 1)
		memcpy(out, &a4, sizeof(a4));
	else if (inet_pton(AF_INET6, host, &a6.sin6_addr) == 1)
		memcpy(out, &a6, sizeof(a6));
	else
		return -EINVAL;
	return 0;
}

int address_parse(const char *text, struct sockaddr_storage *out)
{
	char host[INET6_ADDRSTRLEN];
	int port;

	if (address_split(text, host, sizeof(host), &port) || port < 0)
		return -EINVAL;
	return parse(host, port, out);
}

int address_parse_host(const char *text, struct sockaddr_storage *out)
{
	char host[INET6_ADDRSTRLEN];
	int port;

	if (address_split(text, host, sizeof(host), &port) || port >= 0)
		return -EINVAL;
	return parse(host, 0, out);
}

enum { ADDRESS_BITS = 128, MAPPED_BITS = 96, ITEM_MAX = 64 };

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
	if (bits) { /* "24" of at most all */
		unsigned long n = strtoul(bits, NULL, 10);

		if (!*bits || strlen(bits) > 3 ||
		    bits[strspn(bits, "0123456789")] || n > own)
			return -EINVAL;
		own = (unsigned)n;
	}
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
