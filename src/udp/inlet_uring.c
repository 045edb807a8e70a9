/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receiving with io_uring: one system call brings the packets of all sockets.
 *
 * Packets of a socket of one peer come in buffers of the ring
 * (receive_ring.h). A socket of many peers is watched, and read by batches and
 * trains (intake.h): those take 64 KB, and one system call for 64 packets costs
 * less than 64 completions.
 */
#include "udp/inlet_uring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cache.h"
#include "udp/inlet_ops.h"

/* Sockets of many peers that have not given all in their turn. */
#define MORE 64u

struct inlet_uring {
	struct inlet inlet; /* first */
	struct receive_ring ring;

	/* the receiving thread */
	int held; /* the buffer that was handed out, or -1 */
	struct control_clock clock;
	unsigned nmore, old; /* old: those from earlier turns, the first */
	uint64_t more[MORE];

	/* the socket of many peers that is being read */
	struct intake *in;
	bool reading;
	unsigned rounds; /* batches that it may still give */
	uint64_t key;
	struct sockets_entry socket;
};

static struct inlet_uring *self(struct inlet *in)
{
	return (struct inlet_uring *)(void *)in;
}

static void give_back(struct inlet_uring *u)
{
	if (u->held >= 0)
		receive_ring_give_back(&u->ring, (unsigned)u->held);
	u->held = -1;
}

/* The packet in the buffer of @c. False: there is none. */
static bool from_buffer(struct inlet_uring *u, const struct io_uring_cqe *c,
			struct inlet_packet *p)
{
	struct msghdr *form = &u->ring.form, m;
	struct sockets_entry entry;
	struct io_uring_recvmsg_out *o;
	struct control control;

	u->held = (int)(c->flags >> IORING_CQE_BUFFER_SHIFT);
	o = io_uring_recvmsg_validate(&u->ring.slot[u->held], c->res, form);
	if (!o)
		return false;
	if (!receive_ring_find(&u->ring, c->user_data, &entry))
		entry.tag = INLET_GONE;
	m = (struct msghdr){ .msg_control = u->ring.slot[u->held].control,
			     .msg_controllen = o->controllen };
	control_read(&m, &u->clock, &control);
	p->packet = (struct intake_packet){
		.data = io_uring_recvmsg_payload(o, form),
		.bytes = io_uring_recvmsg_payload_length(o, c->res, form),
		.from = io_uring_recvmsg_name(o),
		.arrival = control.arrival,
	};
	p->tag = entry.tag;
	p->drops = control.drops;
	return true;
}

static bool read_batch(struct inlet_uring *u)
{
	u->reading = receive_ring_find(&u->ring, u->key, &u->socket) &&
		     intake_receive(u->in, u->socket.fd);
	return u->reading;
}

static void begin_reading(struct inlet_uring *u, uint64_t key)
{
	for (unsigned i = 0; i < u->nmore; i++)
		if (u->more[i] == key)
			return; /* it has had its turn, or will have it */
	u->key = key;
	u->rounds = INLET_ROUNDS - 1;
	(void)read_batch(u);
}

/* The batch is over. The socket goes on now (true), in the next turn, or when
 * it is readable again. */
static bool go_on_reading(struct inlet_uring *u)
{
	u->reading = false;
	if (!intake_full(u->in))
		return false;
	if (!u->rounds && u->nmore < MORE) {
		u->more[u->nmore++] = u->key;
		return false;
	}
	if (u->rounds)
		u->rounds--;
	return read_batch(u);
}

static bool from_intake(struct inlet_uring *u, struct inlet_packet *p)
{
	if (!u->reading)
		return false;
	while (!intake_next(u->in, &p->packet))
		if (!go_on_reading(u))
			return false;
	p->tag = u->socket.tag;
	p->drops = intake_drops(u->in);
	return true;
}

/* One that had more in an earlier turn. False: there is none. */
static bool take_old(struct inlet_uring *u)
{
	uint64_t key = u->more[0];

	if (!u->old)
		return false;
	u->old--;
	u->nmore--;
	memmove(u->more, u->more + 1, u->nmore * sizeof(*u->more));
	begin_reading(u, key);
	return true;
}

/* Returns whether there is a packet now. */
static bool take_completion(struct inlet_uring *u, struct io_uring_cqe *c,
			    struct inlet_packet *p)
{
	bool found = false;

	if (c->user_data & RECEIVE_POLL)
		begin_reading(u, c->user_data);
	else
		found = from_buffer(u, c, p);
	receive_ring_done(&u->ring, c);
	return found;
}

static bool next(struct inlet *in, struct inlet_packet *p)
{
	struct inlet_uring *u = self(in);
	struct io_uring_cqe *c;

	for (;;) {
		give_back(u);
		if (from_intake(u, p))
			return true;
		c = receive_ring_next(&u->ring);
		if (c) {
			if (take_completion(u, c, p))
				return true;
		} else if (!take_old(u)) {
			return false;
		}
	}
}

/* The buffer, as from_buffer() and who takes the packet read it. */
static void fetch(const struct receive_slot *slot)
{
	cache_fetch(slot, offsetof(struct receive_slot, data) + CACHE_LINE);
}

static uint64_t ahead(struct inlet *in, unsigned n)
{
	struct inlet_uring *u = self(in);
	const struct io_uring_cqe *c = receive_ring_ahead(&u->ring, n);
	struct sockets_entry entry;

	if (!c || !(c->flags & IORING_CQE_F_BUFFER))
		return 0;
	fetch(&u->ring.slot[c->flags >> IORING_CQE_BUFFER_SHIFT]);
	return receive_ring_find(&u->ring, c->user_data, &entry) ? entry.tag
								 : 0;
}

/* Ends of requests alone are no reason to return. */
static int wait_uring(struct inlet *in, cr_ns timeout)
{
	struct inlet_uring *u = self(in);
	bool any;
	int rc;

	give_back(u);
	u->old = u->nmore;
	do {
		rc = receive_ring_wait(&u->ring, u->nmore ? 0 : timeout);
		any = u->nmore || receive_ring_next(&u->ring);
	} while (!rc && !any && receive_ring_full(&u->ring));
	control_clock_read(&u->clock);
	return rc ? rc : any;
}

static void leave(struct inlet *in)
{
	receive_ring_leave(&self(in)->ring);
}

static void wake(struct inlet *in)
{
	receive_ring_wake(&self(in)->ring);
}

static int add(struct inlet *in, int fd, uint64_t tag,
	       enum inlet_traffic traffic, uint64_t *key, struct cr_err *e)
{
	const struct sockets_entry entry = { fd, tag };
	int rc;

	if (traffic == INLET_MANY)
		intake_take_trains(fd);
	rc = receive_ring_add(&self(in)->ring, &entry, traffic == INLET_MANY,
			      key);
	if (rc < 0)
		return cr_fail(e, rc, "out of memory for a socket");
	if (rc)
		inlet_wake_too(in);
	return 0;
}

static void del(struct inlet *in, uint64_t key)
{
	if (receive_ring_del(&self(in)->ring, key))
		inlet_wake_too(in);
}

static void close_uring(struct inlet *in)
{
	struct inlet_uring *u = self(in);

	receive_ring_close(&u->ring);
	intake_close(u->in);
	free(u);
}

int inlet_uring_open(struct inlet **out, const struct receive_ring_sizes *sizes,
		     struct cr_err *e)
{
	struct inlet_uring *u = calloc(1, sizeof(*u));
	int err;

	if (!u)
		return cr_fail(e, -ENOMEM, "out of memory for receiving");
	u->inlet.ops = &inlet_uring_ops;
	u->held = -1;
	err = receive_ring_open(&u->ring, sizes);
	u->in = intake_open();
	if (!err && !u->in)
		err = -ENOMEM;
	if (err) {
		close_uring(&u->inlet);
		return cr_fail(e, err, "receiving with io_uring: %s",
			       strerror(-err));
	}
	*out = &u->inlet;
	return 0;
}

static int open_uring(struct inlet **out, struct cr_err *e)
{
	/* more buffers are more than the cache holds, fewer run out when 600
	 * sockets have a packet each (bench-wire receive) */
	static const struct receive_ring_sizes sizes = { .submissions = 256,
							 .completions = 4096,
							 .buffers = 1024 };

	return inlet_uring_open(out, &sizes, e);
}

const struct inlet_ops inlet_uring_ops = {
	.io = UDP_IO_URING,
	.open = open_uring,
	.close = close_uring,
	.add = add,
	.del = del,
	.wait = wait_uring,
	.next = next,
	.ahead = ahead,
	.leave = leave,
	.wake = wake,
};
