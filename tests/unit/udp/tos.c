/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The differentiated services field: by number and by name, and on the wire.
 */
#include "cmocka_cr.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/address.h"
#include "udp/socket.h"

static void numbers_and_names_are_read(void **state)
{
	static const struct {
		const char *text;
		unsigned tos;
	} cases[] = {
		{ "0", 0 },	 { "184", 184 },  { "0xb8", 184 },
		{ "0XB8", 184 }, { "252", 252 },  { "EF", 184 },
		{ "ef", 184 },	 { "VA", 176 },	  { "LE", 4 },
		{ "CS0", 0 },	 { "cs5", 160 },  { "CS7", 224 },
		{ "AF11", 40 },	 { "AF41", 136 }, { "af43", 152 },
		{ "044", 44 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct cr_err e = { "" };
		unsigned tos = 1;

		assert_int_equal(tos_parse(cases[i].text, &tos, &e), 0);
		assert_int_equal(tos, cases[i].tos);
	}
}

static void what_is_neither_is_refused(void **state)
{
	static const char *const texts[] = { "",     "256",  "-4",  "EFX",
					     "AF14", "AF51", "CS8", "CS",
					     "0x",   "4x",   "b8",  " 184" };
	unsigned tos = 7;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct cr_err e = { "" };

		assert_int_equal(tos_parse(texts[i], &tos, &e), -EINVAL);
		assert_true(*e.text);
	}
	assert_int_equal(tos, 7);
}

/* 46 is EF as a DSCP, and who writes it means that. */
static void a_dscp_in_place_of_the_octet_is_explained(void **state)
{
	struct cr_err e = { "" };
	unsigned tos;

	assert_int_equal(tos_parse("46", &tos, &e), -EINVAL);
	assert_non_null(strstr(e.text, "write 184"));
}

/* The field of a packet that the socket at @text sends to itself. */
static unsigned arrives_with(const char *text, unsigned tos)
{
	struct sockaddr_storage at;
	socklen_t len = sizeof(at);
	char data[4], room[256];
	struct iovec iov = { data, sizeof(data) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = room,
			      .msg_controllen = sizeof(room) };
	int fd, on = 1;
	unsigned found = 1000;
	bool v6;

	assert_int_equal(address_parse(text, &at), 0);
	v6 = at.ss_family == AF_INET6;
	fd = udp_socket_small(&at, 1 << 16, NULL);
	if (fd < 0)
		return tos; /* no IPv6 here */
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	assert_int_equal(setsockopt(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP,
				    v6 ? IPV6_RECVTCLASS : IP_RECVTOS, &on,
				    sizeof(on)),
			 0);
	assert_int_equal(tos_set(fd, at.ss_family, tos), 0);
	assert_int_equal(sendto(fd, "abcd", 4, 0, (struct sockaddr *)&at, len),
			 4);
	assert_int_equal(recvmsg(fd, &msg, 0), 4);
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c;
	     c = CMSG_NXTHDR(&msg, c)) {
		if (v6 && c->cmsg_level == IPPROTO_IPV6 &&
		    c->cmsg_type == IPV6_TCLASS)
			found = *(unsigned *)(void *)CMSG_DATA(c);
		if (!v6 && c->cmsg_level == IPPROTO_IP &&
		    c->cmsg_type == IP_TOS)
			found = *CMSG_DATA(c);
	}
	(void)close(fd);
	return found;
}

static void packets_carry_it(void **state)
{
	assert_int_equal(arrives_with("127.0.0.1:0", 184), 184);
	assert_int_equal(arrives_with("127.0.0.1:0", 0), 0);
	assert_int_equal(arrives_with("[::1]:0", 136), 136);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_and_names_are_read),
		cmocka_unit_test(what_is_neither_is_refused),
		cmocka_unit_test(a_dscp_in_place_of_the_octet_is_explained),
		cmocka_unit_test(packets_carry_it),
	};

	return cmocka_run_group_tests_name("tos", tests, NULL, NULL);
}
