/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The feeder's ports and the thread that receives at them: what comes to a
 * call's port is that call's, what comes to another one's is nobody's, and a
 * port that is given back is closed when the thread has let go of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "loopback.h"
#include "emulator.h"
#include "feeder/ports.h"
#include "feeder/feeder_call.h"
#include "patience.h"

enum { CALLS = 100, UNITS = 160 };

struct ports_fixture {
	struct ports ports;
	struct receiver *receiver;
	struct feeder_stream call[CALLS];
	char address[CALLS][PORT_TEXT];
	int peer; /* sends to the ports */
};

static void nap(void)
{
	const struct timespec ms = { .tv_nsec = CR_MS };

	(void)nanosleep(&ms, NULL);
}

/* A call that has sent its frame 0; SSRCs are from 1. */
static void begin(struct ports_fixture *r, unsigned i)
{
	const struct match_cfg m = { .in_frame = 20 * CR_MS,
				     .out_clock = 8000,
				     .out_ticks = UNITS,
				     .deadline = CR_NEVER };
	struct feeder_stream *c = &r->call[i];
	struct cr_err e = { "" };

	c->port.fd = -1;
	c->ssrc_out = i + 1;
	c->match = calloc(1, sizeof(*c->match));
	assert_non_null(c->match);
	match_init(c->match, &m);
	match_sent(c->match, 0, clock_now());
	if (ports_give(&r->ports, &c->port, r->address[i], &e) ||
	    receiver_add(r->receiver, c) ||
	    ports_listen(&r->ports, &c->port, c, &e))
		fail_msg("%s", e.text);
	c->fd = ports_fd(&r->ports, &c->port);
}

static struct ports_fixture *open_ports(enum campaign_ports layout)
{
	struct ports_fixture *r = calloc(1, sizeof(*r));
	struct sockaddr_storage a = address_at("127.0.0.1:0");
	struct cr_err e = { "" };

	assert_non_null(r);
	r->peer = loopback_socket(NULL);
	if (ports_open(&r->ports, layout, &a, &e) ||
	    receiver_open(&r->receiver, CALLS, -1, UDP_IO_AUTO, &e) ||
	    ports_receive(&r->ports, r->receiver, &e))
		fail_msg("%s", e.text);
	for (unsigned i = 0; i < CALLS; i++)
		begin(r, i);
	return r;
}

static void close_ports(struct ports_fixture *r)
{
	receiver_close(r->receiver);
	for (unsigned i = 0; i < CALLS; i++) {
		ports_drop(&r->ports, &r->call[i].port);
		free(r->call[i].match);
	}
	ports_close(&r->ports);
	(void)close(r->peer);
	free(r);
}

/* The answer to frame 0 of the call with this SSRC, to this address. */
static void answer(const struct ports_fixture *r, uint32_t ssrc,
		   const char *address)
{
	const struct rtp_packet h = { .pt = 8, .ssrc = ssrc };
	uint8_t packet[RTP_HEADER_BYTES + UNITS] = { 0 };
	struct sockaddr_storage to = address_at(address);

	(void)rtp_build(packet, &h);
	assert_int_equal(sendto(r->peer, packet, sizeof(packet), 0,
				(struct sockaddr *)&to, address_length(&to)),
			 sizeof(packet));
}

static uint64_t received(const struct ports_fixture *r, unsigned i)
{
	return atomic_load_explicit(&r->call[i].match->received,
				    memory_order_relaxed);
}

static void ports_are_as_the_layout_says(void **state)
{
	struct ports_fixture *own = open_ports(PORTS_OWN),
			     *one = open_ports(PORTS_SHARED);

	for (unsigned i = 0; i < CALLS; i++) {
		assert_string_equal(one->address[i], one->ports.address);
		assert_int_equal(one->call[i].fd, one->ports.common.fd);
		for (unsigned k = 0; k < i; k++) {
			assert_string_not_equal(own->address[i],
						own->address[k]);
			assert_int_not_equal(own->call[i].fd, own->call[k].fd);
		}
	}
	close_ports(own);
	close_ports(one);
}

static void answers_are_counted_at_their_own_port_only(void **state)
{
	struct ports_fixture *r = open_ports(PORTS_OWN);
	struct receiver_stats s;

	for (unsigned i = 0; i < CALLS; i++)
		answer(r, i + 1, r->address[i]);
	for (unsigned i = 0; i < CALLS; i++)
		answer(r, i + 1, r->address[(i + 1) % CALLS]);
	answer(r, CALLS + 1, r->address[0]); /* of no call */
	receiver_stop(r->receiver);
	receiver_stats(r->receiver, &s);
	assert_int_equal(s.packets, 2 * CALLS + 1);
	assert_int_equal(s.misdirected, CALLS);
	assert_int_equal(s.unknown_ssrc, 1);
	/* nobody sends to the peer */
	assert_int_equal(s.asymmetric, CALLS);
	for (unsigned i = 0; i < CALLS; i++)
		assert_int_equal(received(r, i), 1);
	close_ports(r);
}

static void one_port_takes_the_answers_to_all(void **state)
{
	struct ports_fixture *r = open_ports(PORTS_SHARED);
	struct sockaddr_storage at;
	socklen_t n = sizeof(at);
	struct receiver_stats s;

	answer(r, 1, r->ports.address); /* binds the peer */
	assert_int_equal(getsockname(r->peer, (struct sockaddr *)&at, &n), 0);
	for (unsigned i = 1; i < CALLS; i++) {
		r->call[i].to = at;
		answer(r, i + 1, r->ports.address);
	}
	receiver_stop(r->receiver);
	receiver_stats(r->receiver, &s);
	assert_int_equal(s.packets, CALLS);
	assert_int_equal(s.misdirected, 0);
	assert_int_equal(s.asymmetric, 1); /* call 0 sends elsewhere */
	for (unsigned i = 0; i < CALLS; i++)
		assert_int_equal(received(r, i), 1);
	close_ports(r);
}

static void what_is_given_back_is_closed_and_used_again(void **state)
{
	struct ports_fixture *r = open_ports(PORTS_OWN);
	cr_ns end = clock_now() + PATIENCE;
	struct port again = { .fd = -1 };
	char address[PORT_TEXT];

	for (unsigned i = 0; i < CALLS; i += 2)
		ports_take_back(&r->ports, &r->call[i].port);
	while (r->ports.first) {
		assert_true(clock_now() < end);
		nap();
		ports_tidy(&r->ports);
	}
	for (unsigned i = 0; i < CALLS; i++) {
		bool open = fcntl(r->call[i].fd, F_GETFD) >= 0;

		assert_int_equal(open, i % 2);
		assert_int_equal(r->call[i].port.fd >= 0, i % 2);
	}
	assert_int_equal(ports_give(&r->ports, &again, address, NULL), 0);
	assert_true(again.fd >= 0);
	ports_take_back(&r->ports, &again); /* nobody listened: at once */
	assert_int_equal(again.fd, -1);
	/* the others still receive */
	answer(r, 2, r->address[1]);
	receiver_stop(r->receiver);
	assert_int_equal(received(r, 1), 1);
	close_ports(r);
}

/* Packets beyond the room of a socket are counted when it is closed, also when
 * nothing has come after it. */
static void drops_are_those_of_the_sockets(void **state)
{
	struct ports_fixture *r = open_ports(PORTS_OWN);
	struct port port = { .fd = -1 };
	char address[PORT_TEXT];
	uint8_t packet[2048];
	unsigned kept = 0;
	int size = 4096;

	if (emulator_lacks("SO_RXQ_OVFL"))
		skip();
	assert_int_equal(ports_give(&r->ports, &port, address, NULL), 0);
	assert_int_equal(
		setsockopt(port.fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)),
		0);
	for (unsigned i = 0; i < 100; i++)
		answer(r, 1, address);
	while (recv(port.fd, packet, sizeof(packet), MSG_DONTWAIT) > 0)
		kept++;
	assert_true(kept > 0 && kept < 100);
	assert_int_equal(r->ports.drops, 0);
	ports_drop(&r->ports, &port);
	assert_int_equal(r->ports.drops, 100 - kept);
	close_ports(r);
}

static void the_limit_of_descriptors_is_named(void **state)
{
	struct rlimit was, is;
	struct cr_err e = { "" };
	struct ports_fixture *r = open_ports(PORTS_OWN);
	struct port port = { .fd = -1 };
	char address[PORT_TEXT];

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	is = was;
	is.rlim_cur = 70; /* they are open already */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &is), 0);
	assert_int_equal(ports_give(&r->ports, &port, address, &e), -EMFILE);
	assert_non_null(strstr(e.text, "ulimit -n"));
	assert_int_equal(port.fd, -1);
	assert_int_equal(ports_check(PORTS_OWN, 38, true, &e), 0);
	assert_int_equal(ports_check(PORTS_OWN, 39, true, &e), -EMFILE);
	assert_non_null(strstr(e.text, "up to 39 calls"));
	assert_non_null(strstr(e.text, "may have 70"));
	assert_non_null(strstr(e.text, "use --ports shared"));
	assert_int_equal(ports_check(PORTS_OWN, 39, false, &e), -EMFILE);
	assert_null(strstr(e.text, "shared"));
	assert_non_null(strstr(e.text, "have fewer calls at once"));
	assert_int_equal(ports_check(PORTS_SHARED, 39, true, &e), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	close_ports(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ports_are_as_the_layout_says),
		cmocka_unit_test(answers_are_counted_at_their_own_port_only),
		cmocka_unit_test(one_port_takes_the_answers_to_all),
		cmocka_unit_test(what_is_given_back_is_closed_and_used_again),
		cmocka_unit_test(drops_are_those_of_the_sockets),
		cmocka_unit_test(the_limit_of_descriptors_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
