/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Socket addresses as text: "127.0.0.1:5004", "[::1]:5004".
 */
#ifndef BASE_ADDRESS_H
#define BASE_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "cr/error.h"

/** Write @a as text; "?" when it is neither IPv4 nor IPv6. Returns @buf. */
const char *address_text(const struct sockaddr_storage *a, char *buf,
			 size_t size);

/** The same without port and brackets: "127.0.0.1", "::1". */
const char *address_host_text(const struct sockaddr_storage *a, char *buf,
			      size_t size);

/** Is it 0.0.0.0 or ::, at which one listens, but to which nobody sends? */
bool address_any(const struct sockaddr_storage *a);

/** Is it of 127.0.0.0/8, or ::1? */
bool address_loopback(const struct sockaddr_storage *a);

/**
 * Cut "host", "host:port" or "[host]:port" in two; the host may be a name. An
 * IPv6 address without brackets has no port.
 *
 * Returns 0, @host and *@port (-1: none is given), -EINVAL: no host or one of
 * @size octets or more, or -ERANGE: the port is no number from 0 to 65535.
 */
int address_split(const char *text, char *host, size_t size, int *port);

/** Read a numeric address with a port (0 allowed). 0 or -EINVAL. */
int address_parse(const char *text, struct sockaddr_storage *out);

/** Read a numeric address without a port, such as 192.0.2.1, ::1 or [::1]; the
 * port becomes 0. 0 or -EINVAL. */
int address_parse_host(const char *text, struct sockaddr_storage *out);

/** Bytes of @a that the kernel wants. */
socklen_t address_length(const struct sockaddr_storage *a);

/** Same family, address and port? And the same link (scope), where both name
 * one: a datagram's sender does, an address read from text does not. */
bool address_equal(const struct sockaddr_storage *a,
		   const struct sockaddr_storage *b);

/** As address_equal(), whatever the ports are. */
bool address_same_host(const struct sockaddr_storage *a,
		       const struct sockaddr_storage *b);

/** Its host among those of IPv6, where IPv4 is mapped (RFC 4291, 2.5.5.2). */
struct in6_addr address_mapped(const struct sockaddr_storage *a);

/** Its port in host order. */
unsigned address_port(const struct sockaddr_storage *a);
void address_set_port(struct sockaddr_storage *a, unsigned port);

/* --- hosts and networks: who may ask, where may be sent to --- */

/** More in one list are refused. */
#define NETWORKS_MAX 64u

struct network {
	struct in6_addr host; /**< IPv4 is mapped, address_mapped()      */
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
