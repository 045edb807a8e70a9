/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets at pairs of ports of a range, or at any ports: even and odd, nobody
 * else's, and a message that says what to do when there are no more.
 *
 * The ranges are below those that the kernel takes ports from by itself, and of
 * each process its own.
 */
#include "loopback.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "node/interfaces.h"
#include "udp/socket.h"

enum { PAIRS = 5 };

/* The first port of this process. */
static unsigned first(void)
{
	return 12000 + 50 * (unsigned)(getpid() % 400);
}

/* Ports from @from to @to, counted from first(); @to 0: any. */
static struct port_pairs *pairs_at(const char *host, unsigned from, unsigned to)
{
	struct port_pairs_config cfg = { .bytes = 1 << 16, .seed = 5 };
	struct port_pairs *p;
	struct cr_err e;

	assert_int_equal(address_parse_host(host, &cfg.local), 0);
	if (to)
		cfg.range = (struct port_range){ (uint16_t)(first() + from),
						 (uint16_t)(first() + to) };
	assert_int_equal(port_pairs_new(&p, &cfg, &e), 0);
	return p;
}

static unsigned port_of(int fd)
{
	struct sockaddr_storage at;
	socklen_t len = sizeof(at);

	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	return address_port(&at);
}

static int socket_at(unsigned port)
{
	struct sockaddr_storage at = address_at("127.0.0.1:0");

	address_set_port(&at, first() + port);
	return udp_socket_small(&at, 1 << 16, NULL);
}

static void expect_info(struct port_pairs *p, unsigned pairs, unsigned used,
			unsigned passed_over)
{
	struct port_pairs_info info;

	port_pairs_info(p, &info);
	assert_int_equal(info.pairs, pairs);
	assert_int_equal(info.used, used);
	assert_int_equal(info.passed_over, passed_over);
}

static void rtp_is_even_and_rtcp_is_above_it(void **state)
{
	struct port_pairs *p = pairs_at("127.0.0.1", 0, 9);
	struct port_pair pair[PAIRS];
	struct cr_err e = { "" };
	bool seen[PAIRS] = { false };

	for (unsigned i = 0; i < PAIRS; i++) {
		bool rtcp = i % 2;

		assert_int_equal(port_pair_open(p, rtcp, &pair[i], &e), 0);
		assert_int_equal(port_of(pair[i].rtp), pair[i].port);
		assert_int_equal(pair[i].port % 2, 0);
		assert_false(seen[(pair[i].port - first()) / 2]);
		seen[(pair[i].port - first()) / 2] = true;
		if (rtcp)
			assert_int_equal(port_of(pair[i].rtcp),
					 pair[i].port + 1);
		else
			assert_int_equal(pair[i].rtcp, -1);
	}
	expect_info(p, PAIRS, PAIRS, 0);
	for (unsigned i = 0; i < PAIRS; i++)
		port_pair_close(p, &pair[i]);
	expect_info(p, PAIRS, 0, 0);
	port_pairs_free(p);
}

static void exhaustion_names_the_limit_and_the_way_out(void **state)
{
	struct port_pairs *p = pairs_at("127.0.0.1", 0, 9);
	struct port_pair pair[PAIRS], more;
	struct cr_err e = { "" };
	char text[80];

	for (unsigned i = 0; i < PAIRS; i++)
		assert_int_equal(port_pair_open(p, false, &pair[i], &e), 0);
	assert_int_equal(port_pair_open(p, false, &more, &e), -EADDRINUSE);
	(void)snprintf(text, sizeof(text),
		       "--rtp-ports %u-%u: all 5 pairs are in use", first(),
		       first() + 9);
	assert_non_null(strstr(e.text, text));
	assert_non_null(strstr(e.text, "127.0.0.1"));
	assert_non_null(strstr(e.text, "widen the range"));
	/* the one that is given back is the one that is had again */
	more = pair[3];
	port_pair_close(p, &pair[3]);
	assert_int_equal(pair[3].rtp, -1);
	port_pair_close(p, &pair[3]); /* nothing */
	assert_int_equal(port_pair_open(p, true, &pair[3], &e), 0);
	assert_int_equal(pair[3].port, more.port);
	for (unsigned i = 0; i < PAIRS; i++)
		port_pair_close(p, &pair[i]);
	port_pairs_free(p);
}

static void a_port_just_closed_rests(void **state)
{
	struct port_pairs *p = pairs_at("127.0.0.1", 0, 9);
	struct port_pair pair;
	struct cr_err e = { "" };
	unsigned last[PAIRS - 1] = { 0 };

	for (unsigned i = 0; i < 20; i++) {
		assert_int_equal(port_pair_open(p, false, &pair, &e), 0);
		for (unsigned k = 0; k < PAIRS - 1; k++)
			assert_int_not_equal(pair.port, last[k]);
		last[i % (PAIRS - 1)] = pair.port;
		port_pair_close(p, &pair);
	}
	port_pairs_free(p);
}

/* One has an RTP port, one an RTCP port. */
static void ports_of_others_are_passed_over(void **state)
{
	struct port_pairs *p = pairs_at("127.0.0.1", 20, 25);
	int even = socket_at(20);
	int odd = socket_at(25);
	struct port_pair one, other;
	struct cr_err e = { "" };

	assert_true(even >= 0 && odd >= 0);
	assert_int_equal(port_pair_open(p, true, &one, &e), 0);
	assert_int_equal(one.port, first() + 22);
	assert_int_equal(port_pair_open(p, true, &other, &e), -EADDRINUSE);
	assert_non_null(strstr(e.text, "all 3 pairs are in use (2 of them by "
				       "other programs)"));
	/* without RTCP, its port may be anybody's */
	assert_int_equal(port_pair_open(p, false, &other, &e), 0);
	assert_int_equal(other.port, first() + 24);
	(void)close(even);
	port_pair_close(p, &one);
	port_pair_close(p, &other);
	assert_int_equal(port_pair_open(p, true, &one, &e), 0);
	port_pair_close(p, &one);
	(void)close(odd);
	port_pairs_free(p);
}

static void an_address_of_others_is_an_error_and_costs_no_port(void **state)
{
	struct port_pairs *p = pairs_at("192.0.2.1", 0, 9);
	struct port_pair pair;
	struct cr_err e = { "" };

	for (unsigned i = 0; i < 3 * PAIRS; i++)
		assert_int_equal(port_pair_open(p, true, &pair, &e),
				 -EADDRNOTAVAIL);
	expect_info(p, PAIRS, 0, 0);
	port_pairs_free(p);
}

static void without_a_range_the_kernel_chooses(void **state)
{
	struct port_pairs *p = pairs_at("127.0.0.1", 0, 0);
	struct port_pair one, both[8];
	struct cr_err e = { "" };

	assert_int_equal(port_pair_open(p, false, &one, &e), 0);
	assert_int_equal(one.port, port_of(one.rtp));
	assert_int_equal(one.rtcp, -1);
	for (unsigned i = 0; i < 8; i++) {
		assert_int_equal(port_pair_open(p, true, &both[i], &e), 0);
		assert_int_equal(both[i].port % 2, 0);
		assert_int_equal(port_of(both[i].rtp), both[i].port);
		assert_int_equal(port_of(both[i].rtcp), both[i].port + 1);
	}
	expect_info(p, 0, 9, 0);
	for (unsigned i = 0; i < 8; i++)
		port_pair_close(p, &both[i]);
	port_pair_close(p, &one);
	port_pairs_free(p);
}

/* Every one can have the same port of both. */
static void families_do_not_share_ports(void **state)
{
	struct port_pairs *v4 = pairs_at("0.0.0.0", 30, 31);
	struct port_pairs *v6 = pairs_at("::", 30, 31);
	struct port_pair four, six;
	struct cr_err e = { "" };
	int err = port_pair_open(v6, true, &six, &e);

	if (err) {
		print_message("no IPv6 here: %s\n", e.text);
	} else {
		assert_int_equal(port_pair_open(v4, true, &four, &e), 0);
		assert_int_equal(six.port, first() + 30);
		assert_int_equal(four.port, first() + 30);
		port_pair_close(v4, &four);
		port_pair_close(v6, &six);
	}
	port_pairs_free(v4);
	port_pairs_free(v6);
	if (err)
		skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rtp_is_even_and_rtcp_is_above_it),
		cmocka_unit_test(exhaustion_names_the_limit_and_the_way_out),
		cmocka_unit_test(a_port_just_closed_rests),
		cmocka_unit_test(ports_of_others_are_passed_over),
		cmocka_unit_test(
			an_address_of_others_is_an_error_and_costs_no_port),
		cmocka_unit_test(without_a_range_the_kernel_chooses),
		cmocka_unit_test(families_do_not_share_ports),
	};

	return cmocka_run_group_tests_name("port_pairs", tests, NULL, NULL);
}
