/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A burst, sockets that it sends from, and peers that check what comes: whole,
 * from the socket it was sent from, in the order in which it was put.
 */
#ifndef TESTS_BURST_FIXTURE_H
#define TESTS_BURST_FIXTURE_H

#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "loopback.h"
#include "udp/burst.h"

enum { SOCKETS = 8, PEERS = 3 };

/* The packets of the burst. */
struct sent_packet {
	unsigned socket, peer, number;
	size_t bytes;
	bool refused; /* it cannot be sent */
};

static struct {
	struct burst burst; /* 130 KiB: not for the stack */
	int from[SOCKETS], peer[PEERS];
	struct sockaddr_storage source[SOCKETS], at[PEERS];
	struct sent_packet packet[BURST_PACKETS];
	unsigned numbers;
} fixture;

static inline int fixture_socket(struct sockaddr_storage *at)
{
	const int room = 1 << 20;
	int fd = loopback_socket(at);

	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	return fd;
}

/* One CPU: loopback keeps the order of what is sent on the same one. */
static inline void fixture_stay(void)
{
	cpu_set_t here;

	CPU_ZERO(&here);
	CPU_SET((size_t)sched_getcpu(), &here);
	assert_int_equal(sched_setaffinity(0, sizeof(here), &here), 0);
}

static inline void fixture_open(enum udp_io io)
{
	fixture_stay();
	memset(&fixture, 0, sizeof(fixture));
	burst_open(&fixture.burst, io);
	for (int i = 0; i < SOCKETS; i++)
		fixture.from[i] = fixture_socket(&fixture.source[i]);
	for (int i = 0; i < PEERS; i++)
		fixture.peer[i] = fixture_socket(&fixture.at[i]);
}

static inline void fixture_close(void)
{
	burst_close(&fixture.burst);
	for (int i = 0; i < SOCKETS; i++)
		(void)close(fixture.from[i]);
	for (int i = 0; i < PEERS; i++)
		(void)close(fixture.peer[i]);
}

/* Says in its first octets which one it is. */
static inline void fixture_fill(uint8_t *data, unsigned number)
{
	memset(data, (int)(number * 7), BURST_BYTES);
	data[0] = (uint8_t)number;
	data[1] = (uint8_t)(number >> 8);
}

/* The next packet, from @fd to @to. */
static inline void fixture_put_to(int fd, const struct sockaddr_storage *to,
				  const struct sent_packet *what)
{
	struct sent_packet *p = &fixture.packet[fixture.burst.count];
	uint8_t data[BURST_BYTES];

	*p = *what;
	p->number = fixture.numbers++;
	fixture_fill(data, p->number);
	burst_put(&fixture.burst, fd, to, 0, data, p->bytes);
}

static inline void fixture_put(unsigned from, unsigned to, size_t bytes)
{
	const struct sent_packet p = { .socket = from,
				       .peer = to,
				       .bytes = bytes };

	fixture_put_to(fixture.from[from], &fixture.at[to], &p);
}

/* Ways of being refused. */
enum { REFUSED_NO_SOCKET, REFUSED_OTHER_FAMILY, REFUSED_BROADCAST, REFUSALS };

static inline void fixture_put_refused(unsigned why, unsigned from,
				       size_t bytes)
{
	static const struct sockaddr_storage other = { .ss_family = AF_INET6 };
	static struct sockaddr_storage all;
	const struct sent_packet p = { .bytes = bytes, .refused = true };

	assert_int_equal(address_parse("255.255.255.255:9", &all), 0);
	if (why == REFUSED_NO_SOCKET) /* the descriptor of none */
		fixture_put_to(1 << 20, &fixture.at[0], &p);
	else
		fixture_put_to(fixture.from[from],
			       why == REFUSED_OTHER_FAMILY ? &other : &all, &p);
}

static inline void fixture_expect(const struct sent_packet *p)
{
	uint8_t data[BURST_BYTES + 1], want[BURST_BYTES];
	struct sockaddr_storage from;
	socklen_t len = sizeof(from);
	ssize_t n = recvfrom(fixture.peer[p->peer], data, sizeof(data),
			     MSG_DONTWAIT, (struct sockaddr *)&from, &len);

	fixture_fill(want, p->number);
	assert_int_equal(n, p->bytes);
	assert_memory_equal(data, want, p->bytes);
	assert_true(address_equal(&from, &fixture.source[p->socket]));
}

static inline void fixture_expect_no_more(void)
{
	uint8_t data[8];

	for (int i = 0; i < PEERS; i++)
		assert_int_equal(
			recv(fixture.peer[i], data, sizeof(data), MSG_DONTWAIT),
			-1);
}

/* The packets that were put have come, and those not sent are marked. */
static inline void fixture_check(void)
{
	for (unsigned i = 0; i < fixture.burst.count; i++) {
		const struct sent_packet *p = &fixture.packet[i];

		assert_int_equal(fixture.burst.packet[i].failed, p->refused);
		if (!p->refused)
			fixture_expect(p);
	}
	fixture_expect_no_more();
	burst_clear(&fixture.burst);
}

static inline void fixture_send(void)
{
	burst_send(&fixture.burst);
	fixture_check();
}

#endif
