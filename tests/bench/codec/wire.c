/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wire's floor: what the kernel charges for one datagram of an encoded
 * frame sent over loopback and one received in a batch, with nothing else
 * done. Prints one JSON object. Used by tests/bench/capacity.
 *
 * "bench-wire ways" compares the ways of sending instead: ns per packet of 1 to
 * 64 that leave together, from one socket and from one each. "bench-wire
 * receive" compares the ways of receiving: ns per packet of 1 to 600 that wait.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/address.h"
#include "base/clock.h"
#include "udp/burst.h"
#include "receive_ways.h"
#include "ways.h"

#define BATCH 64u
#define ROUNDS 3000u
#define TOGETHER 16u
#define BYTES 45u /* RTP header and an octet-aligned frame of AMR 12.2 */

/* The price of a packet of TOGETHER that leave in one call. */
static double together_ns(int from, int at, const struct sockaddr_storage *to)
{
	static struct burst burst;
	uint8_t packet[BYTES] = { 0 }, in[2048];
	cr_ns sending = 0;

	for (unsigned r = 0; r < ROUNDS; r++) {
		cr_ns start;

		for (unsigned i = 0; i < TOGETHER; i++)
			burst_put(&burst, from, to, 0, packet, BYTES);
		start = clock_thread_cpu();
		burst_send(&burst);
		sending += clock_thread_cpu() - start;
		burst_clear(&burst);
		while (recv(at, in, sizeof(in), MSG_DONTWAIT) > 0)
			;
	}
	return (double)sending / (ROUNDS * TOGETHER);
}

static int compare(int (*measure)(void))
{
	int err = measure();

	if (err)
		(void)fprintf(stderr, "bench-wire: %s\n", strerror(-err));
	return !!err;
}

int main(int argc, char **argv)
{
	static uint8_t in[BATCH][2048];
	struct mmsghdr msg[BATCH];
	struct iovec iov[BATCH];
	struct sockaddr_storage to;
	socklen_t len = sizeof(to);
	uint8_t packet[BYTES] = { 0 };
	cr_ns sending = 0, receiving = 0;
	int from = socket(AF_INET, SOCK_DGRAM, 0);
	int at = socket(AF_INET, SOCK_DGRAM, 0);

	if (argc > 1 && !strcmp(argv[1], "ways"))
		return compare(ways_measure);
	if (argc > 1 && !strcmp(argv[1], "receive"))
		return compare(receive_ways_measure);
	(void)address_parse("127.0.0.1:0", &to);
	if (from < 0 || at < 0 ||
	    bind(at, (struct sockaddr *)&to, address_length(&to)) ||
	    getsockname(at, (struct sockaddr *)&to, &len)) {
		perror("bench-wire");
		return 1;
	}
	memset(msg, 0, sizeof(msg));
	for (unsigned i = 0; i < BATCH; i++) {
		iov[i] = (struct iovec){ in[i], sizeof(in[i]) };
		msg[i].msg_hdr.msg_iov = &iov[i];
		msg[i].msg_hdr.msg_iovlen = 1;
	}
	for (unsigned r = 0; r < ROUNDS; r++) {
		cr_ns start = clock_thread_cpu(), sent;

		for (unsigned i = 0; i < BATCH; i++)
			(void)sendto(from, packet, BYTES, MSG_DONTWAIT,
				     (struct sockaddr *)&to, len);
		sent = clock_thread_cpu();
		(void)recvmmsg(at, msg, BATCH, MSG_DONTWAIT, NULL);
		receiving += clock_thread_cpu() - sent;
		sending += sent - start;
	}
	printf("{\"send_ns\": %.1f, \"receive_ns\": %.1f, "
	       "\"send_together_ns\": %.1f}\n",
	       (double)sending / (ROUNDS * BATCH),
	       (double)receiving / (ROUNDS * BATCH),
	       together_ns(from, at, &to));
	return 0;
}
