/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ways to receive from many sockets, and the choice between them.
 */
#include "udp/inlet.h"

#include <errno.h>

#include "base/assert.h"
#include "udp/inlet_ops.h"

static int open_uring(struct inlet **in, struct cr_err *e)
{
	return udp_io_uring(e) ? inlet_uring_ops.open(in, e) : -ENOTSUP;
}

int inlet_open(struct inlet **in, enum udp_io io, struct cr_err *e)
{
	struct cr_err why;

	if (io == UDP_IO_URING)
		return open_uring(in, e);
	if (io == UDP_IO_AUTO && !open_uring(in, &why))
		return 0;
	return inlet_epoll_ops.open(in, e);
}

void inlet_close(struct inlet *in)
{
	if (in)
		in->ops->close(in);
}

enum udp_io inlet_io(const struct inlet *in)
{
	return in->ops->io;
}

int inlet_add(struct inlet *in, int fd, uint64_t tag,
	      enum inlet_traffic traffic, uint64_t *key, struct cr_err *e)
{
	return in->ops->add(in, fd, tag, traffic, key, e);
}

void inlet_del(struct inlet *in, uint64_t key)
{
	in->ops->del(in, key);
}

int inlet_wait(struct inlet *in, cr_ns timeout)
{
	return in->ops->wait(in, timeout);
}

bool inlet_next(struct inlet *in, struct inlet_packet *p)
{
	return in->ops->next(in, p);
}

uint64_t inlet_ahead(struct inlet *in, unsigned n)
{
	return in->ops->ahead ? in->ops->ahead(in, n) : 0;
}

void inlet_leave(struct inlet *in)
{
	if (in->ops->leave)
		in->ops->leave(in);
}

void inlet_wake(struct inlet *in)
{
	in->ops->wake(in);
}

void inlet_gather(struct inlet *in)
{
	in->gathers++;
}

void inlet_notify(struct inlet *in)
{
	CR_ASSERT(in->gathers);
	in->gathers--;
	if (in->gathers || !in->owed)
		return;
	in->owed = false;
	inlet_wake(in);
}

void inlet_wake_too(struct inlet *in)
{
	if (in->gathers)
		in->owed = true;
	else
		inlet_wake(in);
}
