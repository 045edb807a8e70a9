/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bare reflector with ordinary system calls.
 */
#define _GNU_SOURCE
#include "reflect.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define BATCH 256u

static struct mmsghdr msg[BATCH];
static struct iovec iov[BATCH];
static struct sockaddr_storage from[BATCH];
static uint8_t data[BATCH][REFLECT_BYTES];

/* The kernel wrote into those it used. */
static void prepare(unsigned used)
{
	for (unsigned i = 0; i < used; i++) {
		iov[i] = (struct iovec){ data[i], REFLECT_BYTES };
		msg[i].msg_hdr = (struct msghdr){
			.msg_name = &from[i],
			.msg_namelen = sizeof(from[i]),
			.msg_iov = &iov[i],
			.msg_iovlen = 1,
		};
	}
}

static void send_back(struct reflect *r, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		reflect_packet(r, data[i], msg[i].msg_len);
		iov[i].iov_len = msg[i].msg_len;
	}
	for (unsigned i = 0; i < n;) {
		int sent = sendmmsg(r->fds[0], &msg[i], n - i, MSG_DONTWAIT);

		if (sent <= 0) {
			i++; /* refused: lost */
			continue;
		}
		i += (unsigned)sent;
		r->out += (unsigned)sent;
	}
}

static void wait_for_packets(const struct reflect *r)
{
	const struct timespec nap = { r->wait / CR_SEC, r->wait % CR_SEC };
	struct pollfd p = { .fd = r->fds[0], .events = POLLIN };
	sigset_t none;

	(void)sigemptyset(&none);
	if (ppoll(&p, 1, NULL, &none) > 0 && r->wait)
		(void)nanosleep(&nap, NULL);
}

int reflect_mmsg(struct reflect *r, struct cr_err *e)
{
	unsigned batch = r->batch < BATCH ? r->batch : BATCH;

	prepare(BATCH);
	while (!atomic_load_explicit(r->stop, memory_order_relaxed)) {
		int n = recvmmsg(r->fds[0], msg, batch, MSG_DONTWAIT, NULL);

		if (n < 0 && errno != EAGAIN && errno != ECONNREFUSED)
			return cr_fail(e, -errno, "recvmmsg: %s",
				       strerror(errno));
		if (n > 0) {
			r->in += (unsigned)n;
			send_back(r, (unsigned)n);
			prepare((unsigned)n);
		}
		/* not full: that was all there is */
		if (n < (int)batch)
			wait_for_packets(r);
	}
	return 0;
}
