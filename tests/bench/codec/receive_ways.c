/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ways of receiving, compared. So many packets wait when the receiver looks,
 * each with a socket of its own among 600, or all in one that many send to. The
 * ways take turns, and the median of many turns counts.
 */
#include "receive_ways.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/address.h"
#include "base/clock.h"
#include "udp/inlet_ops.h"
#include "udp/socket.h"

#define SOCKETS 600u
#define PEERS 64u
#define BYTES 172u /* an RTP header and 20 ms of G.711 */
#define TURNS 41u
#define REPEATS 16u /* in a turn */

struct destination {
	const char *name;
	unsigned buffers; /* 0: epoll */
	enum inlet_traffic traffic;
	unsigned sockets;
	struct inlet *in;
	int fd[SOCKETS];
	struct sockaddr_storage at[SOCKETS];
	double took[TURNS];
};

static struct destination ways[] = {
	{ .name = "epoll", .sockets = SOCKETS },
	{ .name = "uring_256", .buffers = 256, .sockets = SOCKETS },
	{ .name = "uring_512", .buffers = 512, .sockets = SOCKETS },
	{ .name = "uring_1024", .buffers = 1024, .sockets = SOCKETS },
	{ .name = "uring_4096", .buffers = 4096, .sockets = SOCKETS },
	{ .name = "epoll", .traffic = INLET_MANY, .sockets = 1 },
	{ .name = "uring",
	  .buffers = 1024,
	  .traffic = INLET_MANY,
	  .sockets = 1 },
	{ .name = "uring_multishot", .buffers = 1024, .sockets = 1 },
};
#define NWAYS (sizeof(ways) / sizeof(ways[0]))

static int peer[PEERS];

static int open_socket(struct sockaddr_storage *at)
{
	socklen_t len = sizeof(*at);
	int fd;

	(void)address_parse("127.0.0.1:0", at);
	fd = udp_socket(at, NULL);
	return fd >= 0 && getsockname(fd, (struct sockaddr *)at, &len) ? -errno
								       : fd;
}

static int open_destination(struct destination *w)
{
	const struct receive_ring_sizes sizes = { 256, 4 * w->buffers,
						  w->buffers };
	uint64_t key;
	int err;

	err = w->buffers ? inlet_uring_open(&w->in, &sizes, NULL)
			 : inlet_open(&w->in, UDP_IO_EPOLL, NULL);
	for (unsigned i = 0; i < w->sockets && !err; i++) {
		w->fd[i] = open_socket(&w->at[i]);
		err = w->fd[i] < 0 ? w->fd[i]
				   : inlet_add(w->in, w->fd[i], i, w->traffic,
					       &key, NULL);
	}
	return err;
}

/* All that waits. Returns how many packets. */
static unsigned receive(struct destination *w)
{
	struct inlet_packet p;
	unsigned n = 0;

	if (inlet_wait(w->in, 0) > 0)
		while (inlet_next(w->in, &p))
			n++;
	return n;
}

/* ns per packet, @n at a time. */
static double turn(struct destination *w, unsigned n)
{
	static const uint8_t packet[BYTES];
	cr_ns spent = 0;
	unsigned came, all = 0;

	for (unsigned r = 0; r < REPEATS; r++) {
		cr_ns start;

		for (unsigned i = 0; i < n; i++)
			(void)sendto(peer[i % PEERS], packet, BYTES, 0,
				     (struct sockaddr *)&w->at[i % w->sockets],
				     address_length(&w->at[i % w->sockets]));
		start = clock_thread_cpu();
		for (came = 0; came < n;)
			came += receive(w);
		spent += clock_thread_cpu() - start;
		all += came;
	}
	return (double)spent / all;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void row(unsigned sockets, unsigned n)
{
	for (unsigned t = 0; t < TURNS; t++)
		for (unsigned w = 0; w < NWAYS; w++)
			if (ways[w].sockets == sockets)
				ways[w].took[t] = turn(&ways[w], n);
	(void)printf("{\"sockets\": %u, \"packets\": %u", sockets, n);
	for (unsigned w = 0; w < NWAYS; w++) {
		if (ways[w].sockets != sockets)
			continue;
		qsort(ways[w].took, TURNS, sizeof(double), ascending);
		(void)printf(", \"%s_ns\": %.0f", ways[w].name,
			     ways[w].took[TURNS / 2]);
	}
	(void)printf("}");
}

int receive_ways_measure(void)
{
	static const unsigned together[] = { 1, 4, 16, 64, 256, 600 };
	const unsigned n = sizeof(together) / sizeof(together[0]);
	struct sockaddr_storage unused;
	int err = 0;

	for (unsigned i = 0; i < PEERS && !err; i++) {
		peer[i] = open_socket(&unused);
		err = peer[i] < 0 ? peer[i] : 0;
	}
	for (unsigned w = 0; w < NWAYS && !err; w++)
		err = open_destination(&ways[w]);
	if (err)
		return err;
	(void)printf("{\"rows\": [");
	for (unsigned i = 0; i < 2 * n; i++) {
		(void)printf("%s\n  ", i ? "," : "");
		row(i < n ? 1 : SOCKETS, together[i % n]);
	}
	(void)printf("]}\n");
	return 0;
}
