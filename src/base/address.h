/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Socket addresses as text: "127.0.0.1:5004", "[::1]:5004".
 */
#ifndef BASE_ADDRESS_H
#define BASE_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

/** Write @a as text; "?" when it is neither IPv4 nor IPv6. Returns @buf. */
const char *address_text(const struct sockaddr_storage *a, char *buf,
			 size_t size);

/** Read a numeric address with a port (0 allowed). 0 or -EINVAL. */
int address_parse(const char *text, struct sockaddr_storage *out);

/** Bytes of @a that the kernel wants. */
socklen_t address_length(const struct sockaddr_storage *a);

/** Same family, address and port? */
bool address_equal(const struct sockaddr_storage *a,
		   const struct sockaddr_storage *b);

/** Its port in host order. */
unsigned address_port(const struct sockaddr_storage *a);

#endif
