/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses by their texts, and UDP sockets of our own at any port of
 * 127.0.0.1.
 */
#ifndef SUPPORT_LOOPBACK_H
#define SUPPORT_LOOPBACK_H

#include "base/address.h"
#include "cmocka_cr.h"
#include "udp/socket.h"

static inline struct sockaddr_storage address_at(const char *text)
{
	struct sockaddr_storage a;

	assert_int_equal(address_parse(text, &a), 0);
	return a;
}

/** Where it is goes into @at, if not NULL. The test fails when there is none.
 */
static inline int udp_socket_at(const char *text, struct sockaddr_storage *at)
{
	struct sockaddr_storage a = address_at(text);
	socklen_t len = sizeof(a);
	int fd = udp_socket(&a, NULL);

	assert_true(fd >= 0);
	if (at)
		assert_int_equal(getsockname(fd, (struct sockaddr *)at, &len),
				 0);
	return fd;
}

static inline int loopback_socket(struct sockaddr_storage *at)
{
	return udp_socket_at("127.0.0.1:0", at);
}

#endif
