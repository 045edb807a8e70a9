/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A burst, sockets that it sends from, and peers that check what comes: whole,
 * from the socket it was sent from, in the order in which it was put.
 */
#ifndef TESTS_BURST_RIG_H
#define TESTS_BURST_RIG_H

#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "loopback.h"
#include "udp/burst.h"

enum { SOCKETS = 8, PEERS = 3 };

/* What stands in the burst. */
struct rig_packet {
	unsigned socket, peer, number;
	size_t bytes;
	bool refused; /* it cannot be sent */
};

static struct {
	struct burst burst; /* 130 KiB: not for the stack */
	int from[SOCKETS], peer[PEERS];
	struct sockaddr_storage source[SOCKETS], at[PEERS];
	struct rig_packet packet[BURST_PACKETS];
	unsigned numbers;
} rig;

static inline int rig_socket(struct sockaddr_storage *at)
{
	const int room = 1 << 20;
	int fd = loopback_socket(at);

	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	return fd;
}

/* One CPU: loopback keeps the order of what is sent on the same one. */
static inline void rig_stay(void)
{
	cpu_set_t here;

	CPU_ZERO(&here);
	CPU_SET((size_t)sched_getcpu(), &here);
	assert_int_equal(sched_setaffinity(0, sizeof(here), &here), 0);
}

static inline void rig_open(enum udp_io io)
{
	rig_stay();
	memset(&rig, 0, sizeof(rig));
	burst_open(&rig.burst, io);
	for (int i = 0; i < SOCKETS; i++)
		rig.from[i] = rig_socket(&rig.source[i]);
	for (int i = 0; i < PEERS; i++)
		rig.peer[i] = rig_socket(&rig.at[i]);
}

static inline void rig_close(void)
{
	burst_close(&rig.burst);
	for (int i = 0; i < SOCKETS; i++)
		(void)close(rig.from[i]);
	for (int i = 0; i < PEERS; i++)
		(void)close(rig.peer[i]);
}

/* Says in its first octets which one it is. */
static inline void rig_fill(uint8_t *data, unsigned number)
{
	memset(data, (int)(number * 7), BURST_BYTES);
	data[0] = (uint8_t)number;
	data[1] = (uint8_t)(number >> 8);
}

/* The next packet, from @fd to @to. */
static inline void rig_put_to(int fd, const struct sockaddr_storage *to,
			      const struct rig_packet *what)
{
	struct rig_packet *p = &rig.packet[rig.burst.count];
	uint8_t data[BURST_BYTES];

	*p = *what;
	p->number = rig.numbers++;
	rig_fill(data, p->number);
	burst_put(&rig.burst, fd, to, 0, data, p->bytes);
}

static inline void rig_put(unsigned from, unsigned to, size_t bytes)
{
	const struct rig_packet p = { .socket = from,
				      .peer = to,
				      .bytes = bytes };

	rig_put_to(rig.from[from], &rig.at[to], &p);
}

/* Ways of being refused. */
enum { RIG_NO_SOCKET, RIG_OTHER_FAMILY, RIG_BROADCAST, RIG_REFUSALS };

static inline void rig_put_refused(unsigned why, unsigned from, size_t bytes)
{
	static const struct sockaddr_storage other = { .ss_family = AF_INET6 };
	static struct sockaddr_storage all;
	const struct rig_packet p = { .bytes = bytes, .refused = true };

	assert_int_equal(address_parse("255.255.255.255:9", &all), 0);
	if (why == RIG_NO_SOCKET) /* the descriptor of none */
		rig_put_to(1 << 20, &rig.at[0], &p);
	else
		rig_put_to(rig.from[from],
			   why == RIG_OTHER_FAMILY ? &other : &all, &p);
}

static inline void rig_expect(const struct rig_packet *p)
{
	uint8_t data[BURST_BYTES + 1], want[BURST_BYTES];
	struct sockaddr_storage from;
	socklen_t len = sizeof(from);
	ssize_t n = recvfrom(rig.peer[p->peer], data, sizeof(data),
			     MSG_DONTWAIT, (struct sockaddr *)&from, &len);

	rig_fill(want, p->number);
	assert_int_equal(n, p->bytes);
	assert_memory_equal(data, want, p->bytes);
	assert_true(address_equal(&from, &rig.source[p->socket]));
}

static inline void rig_expect_no_more(void)
{
	uint8_t data[8];

	for (int i = 0; i < PEERS; i++)
		assert_int_equal(
			recv(rig.peer[i], data, sizeof(data), MSG_DONTWAIT),
			-1);
}

/* What was put has come, and what could not be sent is marked. */
static inline void rig_check(void)
{
	for (unsigned i = 0; i < rig.burst.count; i++) {
		const struct rig_packet *p = &rig.packet[i];

		assert_int_equal(rig.burst.packet[i].failed, p->refused);
		if (!p->refused)
			rig_expect(p);
	}
	rig_expect_no_more();
	burst_clear(&rig.burst);
}

static inline void rig_send(void)
{
	burst_send(&rig.burst);
	rig_check();
}

#endif
