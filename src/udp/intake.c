/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch of messages from recvmmsg(), cut into packets as they are asked for;
 * and the control data of datagrams, of which what is not known is left out.
 */
#define _GNU_SOURCE
#include "udp/intake.h"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

/* --- control data --- */

#ifndef UDP_GRO
#define UDP_GRO 104 /* linux/udp.h, since 5.0 */
#endif

void control_clock_read(struct control_clock *clock)
{
	clock->now = clock_now();
	clock->skew = clock_read(CLOCK_REALTIME) - clock->now;
}

void control_read(const struct msghdr *m, const struct control_clock *clock,
		  struct control *out)
{
	struct msghdr all = *m; /* the macros want one that is not const */
	struct timespec t;
	int size;

	*out = (struct control){ .arrival = clock->now };
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&all); c;
	     c = CMSG_NXTHDR(&all, c)) {
		if (c->cmsg_level == SOL_SOCKET &&
		    c->cmsg_type == SCM_TIMESTAMPNS) {
			memcpy(&t, CMSG_DATA(c), sizeof(t));
			out->arrival =
				cr_ns_min((cr_ns)t.tv_sec * CR_SEC + t.tv_nsec -
						  clock->skew,
					  clock->now);
		} else if (c->cmsg_level == SOL_SOCKET &&
			   c->cmsg_type == SO_RXQ_OVFL) {
			memcpy(&out->drops, CMSG_DATA(c), sizeof(out->drops));
		} else if (c->cmsg_level == SOL_UDP &&
			   c->cmsg_type == UDP_GRO) {
			memcpy(&size, CMSG_DATA(c), sizeof(size));
			out->stride = size > 0 ? (size_t)size : 0;
		}
	}
}

/* --- batches --- */

#define MESSAGES 64u
/* The longest datagram or train; a slot more than a power of two apart, or all
 * would compete for the same lines of the cache. */
#define TRAIN_BYTES 65536u
#define SLOT_BYTES (TRAIN_BYTES + 192u)

struct intake {
	unsigned count; /* messages in the batch */
	unsigned next;	/* the one after that being handed out */
	uint32_t drops;
	struct control_clock clock;

	/* the message being handed out */
	struct intake_packet packet;
	size_t left;   /* octets not handed out */
	size_t stride; /* octets of a packet, the last may have less */

	struct mmsghdr msg[MESSAGES];
	struct iovec iov[MESSAGES];
	struct sockaddr_storage from[MESSAGES];
	union {
		char bytes[CONTROL_BYTES];
		struct cmsghdr align;
	} control[MESSAGES];
	uint8_t data[MESSAGES][SLOT_BYTES];
};

struct intake *intake_open(void)
{
	/* not touched before it is used: a slot costs a page, not sixteen */
	struct intake *in = calloc(1, sizeof(*in));

	for (unsigned i = 0; in && i < MESSAGES; i++) {
		in->iov[i] = (struct iovec){ in->data[i], TRAIN_BYTES };
		in->msg[i].msg_hdr = (struct msghdr){
			.msg_name = &in->from[i],
			.msg_namelen = sizeof(in->from[i]),
			.msg_iov = &in->iov[i],
			.msg_iovlen = 1,
			.msg_control = in->control[i].bytes,
			.msg_controllen = sizeof(in->control[i]),
		};
	}
	return in;
}

void intake_close(struct intake *in)
{
	free(in);
}

void intake_take_trains(int fd)
{
	int on = 1;

	(void)setsockopt(fd, SOL_UDP, UDP_GRO, &on, sizeof(on));
}

bool intake_receive(struct intake *in, int fd)
{
	int n;

	/* the kernel wrote into those it used */
	for (unsigned i = 0; i < in->count; i++) {
		in->msg[i].msg_hdr.msg_namelen = sizeof(in->from[i]);
		in->msg[i].msg_hdr.msg_controllen = sizeof(in->control[i]);
	}
	n = recvmmsg(fd, in->msg, MESSAGES, MSG_DONTWAIT, NULL);
	in->count = n > 0 ? (unsigned)n : 0;
	in->next = 0;
	in->left = 0;
	in->drops = 0;
	control_clock_read(&in->clock);
	return in->count > 0;
}

/* Begin to hand out the next message. */
static void open_message(struct intake *in)
{
	const struct mmsghdr *m = &in->msg[in->next];
	struct control control;

	control_read(&m->msg_hdr, &in->clock, &control);
	in->packet = (struct intake_packet){ .data = in->data[in->next],
					     .from = &in->from[in->next],
					     .arrival = control.arrival,
					     .read = in->clock.now };
	in->left = m->msg_len;
	in->stride = control.stride ? control.stride : TRAIN_BYTES;
	/* the kernel leaves the count out while it is 0 */
	if (control.drops)
		in->drops = control.drops;
	in->next++;
}

bool intake_next(struct intake *in, struct intake_packet *p)
{
	if (in->left) {
		in->packet.data += in->packet.bytes;
	} else {
		if (in->next == in->count)
			return false;
		open_message(in); /* an empty datagram is a packet, too */
	}
	in->packet.bytes = in->left < in->stride ? in->left : in->stride;
	in->left -= in->packet.bytes;
	*p = in->packet;
	return true;
}

bool intake_full(const struct intake *in)
{
	return in->count == MESSAGES;
}

uint32_t intake_drops(const struct intake *in)
{
	return in->drops;
}
