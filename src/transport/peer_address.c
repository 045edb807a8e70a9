/* SPDX-License-Identifier: Apache-2.0 */
/*
 * IPv4 and IPv6 addresses: resolve, print, find the local one. No SCTP.
 */
#include <errno.h>
#include <netdb.h>
#include <string.h>
#include <unistd.h>

#include "base/address.h"
#include "transport/ops.h"

int peer_address_resolve(struct address *a, const char *host, uint16_t port,
			 struct cr_err *e)
{
	struct addrinfo hints = { .ai_socktype = SOCK_DGRAM }, *list = NULL;
	char service[8];
	int rc;

	(void)snprintf(service, sizeof(service), "%u", (unsigned)port);
	rc = getaddrinfo(host, service, &hints, &list);
	if (rc)
		return cr_fail(e, -EINVAL, "%s: %s", host,
			       rc == EAI_SYSTEM ? strerror(errno)
						: gai_strerror(rc));
	*a = (struct address){ .len = list->ai_addrlen };
	memcpy(&a->sa, list->ai_addr, list->ai_addrlen);
	freeaddrinfo(list);
	return 0;
}

int peer_address_towards(struct address *a, const struct address *to,
			 struct cr_err *e)
{
	struct address found = { .len = sizeof(found.sa) }, probe = *to;
	int fd = socket(to->sa.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int rc = 0;

	if (fd < 0)
		return cr_fail(e, -errno, "UDP socket: %s", strerror(errno));
	if (!address_port(&probe.sa))
		address_set_port(&probe.sa, TRANSPORT_UDP_PORT);
	if (connect(fd, (const struct sockaddr *)&probe.sa, probe.len) ||
	    getsockname(fd, (struct sockaddr *)&found.sa, &found.len))
		rc = cr_fail(e, -errno, "no way to the server: %s",
			     strerror(errno));
	(void)close(fd);
	if (rc)
		return rc;
	address_set_port(&found.sa, 0);
	*a = found;
	return 0;
}

void peer_address_host(const struct address *a, char *buf, size_t size)
{
	if (getnameinfo((const struct sockaddr *)&a->sa, a->len, buf,
			(socklen_t)size, NULL, 0, NI_NUMERICHOST))
		(void)snprintf(buf, size, "?");
}

void peer_address_text(const struct address *a, char *buf, size_t size)
{
	char host[64];

	peer_address_host(a, host, sizeof(host));
	(void)snprintf(buf, size,
		       a->sa.ss_family == AF_INET6 ? "[%s]:%u" : "%s:%u", host,
		       address_port(&a->sa));
}
