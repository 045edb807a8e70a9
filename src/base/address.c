/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Socket addresses as text, numeric only: no name look-ups.
 */
#include "base/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

bool address_equal(const struct sockaddr_storage *a,
		   const struct sockaddr_storage *b)
{
	const struct sockaddr_in *a4 = (const void *)a, *b4 = (const void *)b;
	const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;

	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return a4->sin_port == b4->sin_port &&
		       a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	return a6->sin6_port == b6->sin6_port &&
	       !memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof(a6->sin6_addr));
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

/* Cut "host:port" or "[host]:port" in two. */
static int split(const char *text, char *host, size_t size, unsigned *port)
{
	const char *colon = strrchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : 0;
	char *end;
	unsigned long n;

	if (!colon || colon[1] < '0' || colon[1] > '9')
		return -EINVAL;
	n = strtoul(colon + 1, &end, 10);
	if (*end || n > 65535)
		return -EINVAL;
	if (len >= 2 && text[0] == '[' && text[len - 1] == ']') {
		text++;
		len -= 2;
	}
	if (!len || len >= size)
		return -EINVAL;
	memcpy(host, text, len);
	host[len] = '\0';
	*port = (unsigned)n;
	return 0;
}

int address_parse(const char *text, struct sockaddr_storage *out)
{
	struct sockaddr_in a4 = { .sin_family = AF_INET };
	struct sockaddr_in6 a6 = { .sin6_family = AF_INET6 };
	char host[INET6_ADDRSTRLEN];
	unsigned port;

	if (split(text, host, sizeof(host), &port))
		return -EINVAL;
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
