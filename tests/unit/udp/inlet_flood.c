/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets that get more than they may give: nothing is lost, the others have
 * their turn, and a turn ends.
 */
#include "base/descriptors.h"
#include "inlet_fixture.h"

/* A socket that gets more than it may give in a turn loses nothing. */
static void a_flood_comes_out_over_turns(void **state)
{
	enum { FLOOD = 3000 };
	uint32_t next[PORTS] = { 0 };

	for (uint32_t k = 0; k < FLOOD; k++)
		send_to(0, k); /* its buffer holds them: udp_socket() */
	send_to(PORTS - 1, 0);
	take(FLOOD + 1, next);
	assert_int_equal(next[0], FLOOD);
}

/* While one socket is never empty, the others have their turn. */
static void a_flood_does_not_keep_others_waiting(void **state)
{
	struct inlet_packet p;

	for (unsigned flooded = 0; flooded < 2; flooded++)
		for (uint32_t k = 0; k < 20; k++) {
			unsigned to = 2 + k, other = 0;

			send_to(to, k);
			/* a turn gives at most some of what is sent anew */
			for (unsigned turns = 0; !other; turns++) {
				assert_true(turns < 20);
				for (unsigned i = 0; i < 2000; i++)
					send_to(flooded, 0);
				assert_true(inlet_wait(in, 0) >= 0);
				while (next_packet(&p))
					other += p.tag == tag_of(to);
			}
			assert_int_equal(other, 1);
		}
}

/* Of a socket that is full when all others have one packet each, no more comes
 * before the last of theirs than one may give in a turn: sixteen batches of 64,
 * or all buffers. */
static void a_flood_is_ahead_of_others_by_a_turn(void **state)
{
	enum { FLOOD = 3000, TURN = 1024 };
	struct inlet_packet p;

	for (unsigned round = 0; round < 4; round++) {
		unsigned flooded = round % 2, came = 0, others = 0;

		for (uint32_t k = 0; k < FLOOD; k++)
			send_to(flooded, k);
		for (unsigned i = 2; i < PORTS; i++)
			send_to(i, 0);
		while (others < PORTS - 2) {
			take_one(&p);
			if (p.tag == tag_of(flooded))
				came++;
			else
				others++;
			assert_true(came <= TURN);
		}
		for (; came < FLOOD; came++)
			take_one(&p);
	}
}

enum { MANY = 1100 }; /* more than the requests that can wait to be armed */

/* Sockets that are never empty do not make a turn that never ends: who adds and
 * removes sockets waits for the next one. */
static void a_turn_ends_though_no_socket_is_ever_empty(void **state)
{
	static const struct receive_ring_sizes few_buffers = { 64, 4096, 4 };
	static struct port flooded[MANY];
	struct inlet_packet p;
	struct inlet *many;
	unsigned came = 0;

	descriptors_raise();
	assert_int_equal(inlet_uring_open(&many, &few_buffers, NULL), 0);
	peer = loopback_socket(&peer_at);
	for (unsigned i = 0; i < MANY; i++) {
		port[0].fd = flooded[i].fd = loopback_socket(&port[0].at);
		flooded[i].at = port[0].at;
		assert_int_equal(inlet_add(many, flooded[i].fd, i, INLET_ONE,
					   &flooded[i].key, NULL),
				 0);
		for (unsigned k = 0; k < 8; k++)
			send_to(0, k);
	}
	for (unsigned turn = 0; turn < 10; turn++) {
		assert_int_equal(inlet_wait(many, CR_NEVER), 1);
		while (inlet_next(many, &p)) {
			port[0].at = flooded[p.tag].at;
			send_to(0, 0);
			assert_true(++came < 10 * MANY);
		}
	}
	assert_true(came > 0);
	inlet_leave(many);
	inlet_close(many);
	for (unsigned i = 0; i < MANY; i++)
		(void)close(flooded[i].fd);
	(void)close(peer);
}

#define TESTS(setup)                                                           \
	TEST(a_flood_comes_out_over_turns, setup),                             \
		TEST(a_flood_does_not_keep_others_waiting, setup)

int main(void)
{
	const struct CMUnitTest epoll[] = {
		TESTS(setup_epoll),
		TEST(a_flood_is_ahead_of_others_by_a_turn, setup_epoll)
	};
	const struct CMUnitTest uring[] = {
		TESTS(setup_uring), TESTS(setup_tiny),
		TEST(a_flood_is_ahead_of_others_by_a_turn, setup_uring),
		cmocka_unit_test(a_turn_ends_though_no_socket_is_ever_empty)
	};

	return INLET_RUN(epoll, uring);
}
