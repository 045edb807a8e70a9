/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A UDP socket of our own at any port of 127.0.0.1.
 */
#ifndef SUPPORT_LOOPBACK_H
#define SUPPORT_LOOPBACK_H

#include "base/address.h"
#include "cmocka_cr.h"
#include "udp/socket.h"

/** Where it is goes into @at. The test fails when there is none. */
static inline int loopback_socket(struct sockaddr_storage *at)
{
	socklen_t len = sizeof(*at);
	int fd;

	assert_int_equal(address_parse("127.0.0.1:0", at), 0);
	fd = udp_socket(at, NULL);
	assert_true(fd >= 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)at, &len), 0);
	return fd;
}

#endif
