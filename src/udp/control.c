/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control data of datagrams. What is not known is left out.
 */
#define _GNU_SOURCE
#include "udp/control.h"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <string.h>

#include "base/clock.h"

#ifndef UDP_GRO
#define UDP_GRO 104 /* linux/udp.h, since 5.0 */
#endif

void control_clock_read(struct control_clock *clock)
{
	clock->now = clock_now();
	clock->skew = clock_read(CLOCK_REALTIME) - clock->now;
}

static cr_ns arrival(const struct cmsghdr *c, const struct control_clock *clock)
{
	struct timespec t;

	memcpy(&t, CMSG_DATA(c), sizeof(t));
	return cr_ns_min((cr_ns)t.tv_sec * CR_SEC + t.tv_nsec - clock->skew,
			 clock->now);
}

static size_t stride(const struct cmsghdr *c)
{
	int size;

	memcpy(&size, CMSG_DATA(c), sizeof(size));
	return size > 0 ? (size_t)size : 0;
}

void control_read(const struct msghdr *m, const struct control_clock *clock,
		  struct control *out)
{
	struct msghdr all = *m; /* the macros want one that is not const */

	*out = (struct control){ .arrival = clock->now };
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&all); c;
	     c = CMSG_NXTHDR(&all, c)) {
		if (c->cmsg_level == SOL_SOCKET &&
		    c->cmsg_type == SCM_TIMESTAMPNS)
			out->arrival = arrival(c, clock);
		else if (c->cmsg_level == SOL_SOCKET &&
			 c->cmsg_type == SO_RXQ_OVFL)
			memcpy(&out->drops, CMSG_DATA(c), sizeof(out->drops));
		else if (c->cmsg_level == SOL_UDP && c->cmsg_type == UDP_GRO)
			out->stride = stride(c);
	}
}
