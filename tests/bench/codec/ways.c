/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ways of sending, compared. Each packet has a peer of its own; they leave from
 * one socket or from one each. The ways take turns, and the median of many
 * turns counts. A second thread sleeps: descriptors cost more where threads
 * share them.
 */
#define _GNU_SOURCE
#include "ways.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/address.h"
#include "base/clock.h"
#include "udp/burst.h"

#define MOST BURST_PACKETS
#define BYTES 172u /* an RTP header and 20 ms of G.711 */
#define TURNS 41u
#define REPEATS 8u /* in a turn, of MOST packets each */

static struct {
	int from[MOST], peer[MOST];
	struct sockaddr_storage to[MOST];
	uint8_t packet[BYTES];
	struct iovec iov;
	struct mmsghdr msg[MOST];
	struct send_ring *ring;
	struct burst uring, epoll;
	bool many; /* sockets */
} bench;

static int from(unsigned i)
{
	return bench.from[bench.many ? i : 0];
}

static void by_sendto(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		(void)sendto(from(i), bench.packet, BYTES,
			     MSG_DONTWAIT | MSG_NOSIGNAL,
			     (struct sockaddr *)&bench.to[i],
			     address_length(&bench.to[i]));
}

static void by_sendmmsg(unsigned n)
{
	unsigned each = bench.many ? 1 : n;

	for (unsigned i = 0; i < n; i += each)
		(void)sendmmsg(from(i), &bench.msg[i], each,
			       MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void by_uring(unsigned n)
{
	int result[MOST];

	if (!bench.ring)
		return;
	for (unsigned i = 0; i < n; i++)
		send_ring_put(bench.ring, from(i), bench.packet, BYTES,
			      &bench.to[i]);
	(void)send_ring_go(bench.ring, result);
}

/* As the daemon does: what is sent is copied first. */
static void by_burst(struct burst *b, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		burst_put(b, from(i), &bench.to[i], 0, bench.packet, BYTES);
	burst_send(b);
	burst_clear(b);
}

static void by_burst_uring(unsigned n)
{
	by_burst(&bench.uring, n);
}

static void by_burst_epoll(unsigned n)
{
	by_burst(&bench.epoll, n);
}

static const struct {
	const char *name;
	void (*send)(unsigned n);
} WAYS[] = {
	{ "sendto", by_sendto },
	{ "sendmmsg", by_sendmmsg },
	{ "uring", by_uring },
	{ "burst", by_burst_uring },
	{ "burst_without_uring", by_burst_epoll },
};
#define NWAYS (sizeof(WAYS) / sizeof(WAYS[0]))

static int open_socket(struct sockaddr_storage *at)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	socklen_t len = sizeof(*at);

	(void)address_parse("127.0.0.1:0", at);
	if (fd < 0 || bind(fd, (struct sockaddr *)at, address_length(at)) ||
	    getsockname(fd, (struct sockaddr *)at, &len))
		return -errno;
	return fd;
}

static int open_all(void)
{
	struct sockaddr_storage unused;

	bench.iov = (struct iovec){ bench.packet, BYTES };
	for (unsigned i = 0; i < MOST; i++) {
		struct msghdr *m = &bench.msg[i].msg_hdr;

		bench.peer[i] = open_socket(&bench.to[i]);
		bench.from[i] = open_socket(&unused);
		if (bench.peer[i] < 0 || bench.from[i] < 0)
			return bench.from[i] < 0 ? bench.from[i]
						 : bench.peer[i];
		m->msg_name = &bench.to[i];
		m->msg_namelen = address_length(&bench.to[i]);
		m->msg_iov = &bench.iov;
		m->msg_iovlen = 1;
	}
	bench.ring = send_ring_open(MOST);
	burst_open(&bench.uring, UDP_IO_AUTO);
	burst_open(&bench.epoll, UDP_IO_EPOLL);
	return 0;
}

static void drain(unsigned n)
{
	uint8_t in[2048];

	for (unsigned i = 0; i < n; i++)
		while (recv(bench.peer[i], in, sizeof(in), MSG_DONTWAIT) > 0)
			;
}

/* ns per packet of one way, @n at a time. */
static double turn(unsigned way, unsigned n)
{
	cr_ns spent = 0;
	unsigned sent = 0;

	for (unsigned r = 0; r < REPEATS; r++) {
		cr_ns start = clock_thread_cpu();

		for (unsigned k = 0; k + n <= MOST; k += n, sent += n)
			WAYS[way].send(n);
		spent += clock_thread_cpu() - start;
		drain(n);
	}
	return (double)spent / sent;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void row(unsigned n)
{
	static double took[NWAYS][TURNS];

	for (unsigned t = 0; t < TURNS; t++)
		for (unsigned w = 0; w < NWAYS; w++)
			took[w][t] = turn(w, n);
	(void)printf("{\"sockets\": %u, \"packets\": %u", bench.many ? n : 1,
		     n);
	for (unsigned w = 0; w < NWAYS; w++) {
		qsort(took[w], TURNS, sizeof(double), ascending);
		(void)printf(", \"%s_ns\": %.0f", WAYS[w].name,
			     took[w][TURNS / 2]);
	}
	(void)printf("}");
}

static void *sleep_on(void *arg)
{
	(void)pause();
	return arg;
}

int ways_measure(void)
{
	static const unsigned together[] = { 1, 2, 3, 4, 8, 16, 32, 64 };
	const unsigned n = sizeof(together) / sizeof(together[0]);
	pthread_t other;
	int err = open_all();

	if (!err)
		err = -pthread_create(&other, NULL, sleep_on, NULL);
	if (err)
		return err;
	(void)printf("{\"uring\": %s, \"rows\": [",
		     bench.uring.ring ? "true" : "false");
	for (unsigned i = 0; i < 2 * n; i++) {
		bench.many = i >= n;
		(void)printf("%s\n  ", i ? "," : "");
		row(together[i % n]);
	}
	(void)printf("]}\n");
	return 0;
}
