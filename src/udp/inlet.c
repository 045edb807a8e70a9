/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The choice between the ways to receive from many sockets, and the one that
 * works on every Linux: epoll names ready sockets, recvmmsg() empties
 * them one by one. io_uring is inlet_uring.c's. A batch of recvmmsg() is cut
 * into packets as they are asked for; of control data what is not known is left
 * out.
 *
 * Level-triggered: what a socket still holds at the end of a turn makes the
 * next wait return at once.
 */
#define _GNU_SOURCE
#include "udp/inlet.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "udp/inlet_ops.h"

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

/* --- batches of one socket --- */

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

/* --- sockets by key --- */

/*
 * The sockets of an inlet by key. Places lie in chunks that never move. A place
 * is written like a seqlock's data: its generation is odd while it is taken,
 * and a reader that saw it change has read nothing.
 */

struct sockets_place {
	atomic_uint generation; /* odd: taken */
	atomic_int fd;
	_Atomic uint64_t tag;
	uint32_t next; /* of the free ones, plus one; who adds */
};

static struct sockets_place *socket_place_at(const struct sockets *s,
					     uint32_t index)
{
	/* acquire, pairs with take_socket_place() */
	struct sockets_place *chunk = atomic_load_explicit(
		&s->chunk[index / SOCKETS_CHUNK], memory_order_acquire);

	return &chunk[index % SOCKETS_CHUNK];
}

static struct sockets_place *take_socket_place(struct sockets *s,
					       uint32_t *index)
{
	struct sockets_place *p;

	if (!s->free) {
		uint32_t n = s->used / SOCKETS_CHUNK;

		/* A place that was never taken. */
		if (n == SOCKETS_CHUNKS)
			return NULL;
		if (s->used % SOCKETS_CHUNK == 0) {
			struct sockets_place *chunk =
				calloc(SOCKETS_CHUNK, sizeof(*chunk));

			if (!chunk)
				return NULL;
			atomic_store_explicit(&s->chunk[n], chunk,
					      memory_order_release);
		}
		*index = s->used++;
		return socket_place_at(s, *index);
	}
	*index = s->free - 1;
	p = socket_place_at(s, *index);
	s->free = p->next;
	return p;
}

int sockets_add(struct sockets *s, const struct sockets_entry *entry,
		uint64_t *key)
{
	uint32_t index;
	struct sockets_place *p = take_socket_place(s, &index);
	unsigned generation;

	if (!p)
		return -ENOMEM;
	generation =
		atomic_load_explicit(&p->generation, memory_order_relaxed) + 1;
	/* after the removal's store of the generation, for readers */
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&p->fd, entry->fd, memory_order_relaxed);
	atomic_store_explicit(&p->tag, entry->tag, memory_order_relaxed);
	/* release, pairs with sockets_find() */
	atomic_store_explicit(&p->generation, generation, memory_order_release);
	*key = (uint64_t)generation << 32 | index;
	return 0;
}

void sockets_del(struct sockets *s, uint64_t key)
{
	uint32_t index = (uint32_t)key;
	struct sockets_place *p = socket_place_at(s, index);
	unsigned generation = (unsigned)(key >> 32);

	CR_ASSERT(atomic_load_explicit(&p->generation, memory_order_relaxed) ==
		  generation);
	atomic_store_explicit(&p->generation, generation + 1,
			      memory_order_relaxed);
	p->next = s->free;
	s->free = index + 1;
}

void sockets_pause(struct sockets *s, uint64_t key)
{
	atomic_store_explicit(&socket_place_at(s, (uint32_t)key)->fd, -1,
			      memory_order_relaxed);
}

bool sockets_find(const struct sockets *s, uint64_t key,
		  struct sockets_entry *entry)
{
	const struct sockets_place *p = socket_place_at(s, (uint32_t)key);
	unsigned generation = (unsigned)(key >> 32);

	if (atomic_load_explicit(&p->generation, memory_order_acquire) !=
	    generation)
		return false;
	entry->fd = atomic_load_explicit(&p->fd, memory_order_relaxed);
	entry->tag = atomic_load_explicit(&p->tag, memory_order_relaxed);
	/* before the second look at the generation */
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&p->generation, memory_order_relaxed) ==
	       generation;
}

void sockets_fini(struct sockets *s)
{
	for (unsigned i = 0; i < SOCKETS_CHUNKS; i++) {
		free(atomic_load_explicit(&s->chunk[i], memory_order_relaxed));
		atomic_store_explicit(&s->chunk[i], NULL, memory_order_relaxed);
	}
	s->used = 0;
	s->free = 0;
}

/* --- what both ways have --- */

int inlet_init(struct inlet *in, const struct inlet_ops *ops, int wake_flags)
{
	in->ops = ops;
	in->wake = eventfd(0, EFD_CLOEXEC | wake_flags);
	if (in->wake < 0)
		return -errno;
	in->in = intake_open();
	return in->in ? 0 : -ENOMEM;
}

void inlet_fini(struct inlet *in)
{
	if (in->wake >= 0)
		(void)close(in->wake);
	intake_close(in->in);
	sockets_fini(&in->sockets);
	free(in);
}

bool inlet_read_batch(struct inlet *in, uint64_t key)
{
	in->reading = sockets_find(&in->sockets, key, &in->socket) &&
		      in->socket.fd >= 0 &&
		      intake_receive(in->in, in->socket.fd);
	return in->reading;
}

bool inlet_next_of_batch(struct inlet *in, struct inlet_packet *p)
{
	if (!in->reading || !intake_next(in->in, &p->packet))
		return false;
	p->tag = in->socket.tag;
	p->drops = intake_drops(in->in);
	return true;
}

/* --- epoll --- */

/* Sockets that one look reports; a turn takes as many looks as it needs. */
#define EVENTS 64
/* No socket's key. */
#define KEY_WAKE UINT64_C(0)

struct inlet_epoll {
	struct inlet inlet; /* first */
	int epoll;

	/* the receiving thread */
	struct epoll_event event[EVENTS];
	int events; /* of the last look; 0: the turn is over */
	int at;	    /* the event whose socket is being read */
};

static const struct inlet_ops inlet_epoll_ops;

static struct inlet_epoll *inlet_epoll_of(struct inlet *in)
{
	return (struct inlet_epoll *)(void *)in;
}

static int watch_descriptor(struct inlet_epoll *i, int fd, uint64_t key)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u64 = key };

	return epoll_ctl(i->epoll, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

static void close_epoll(struct inlet *in)
{
	struct inlet_epoll *i = inlet_epoll_of(in);

	if (i->epoll >= 0)
		(void)close(i->epoll);
	inlet_fini(in);
}

static int open_epoll(struct inlet **out, struct cr_err *e)
{
	struct inlet_epoll *i = calloc(1, sizeof(*i));
	int err;

	if (!i)
		return cr_fail(e, -ENOMEM, "out of memory for receiving");
	err = inlet_init(&i->inlet, &inlet_epoll_ops, EFD_NONBLOCK);
	i->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (!err && i->epoll < 0)
		err = -errno;
	if (!err)
		err = watch_descriptor(i, i->inlet.wake, KEY_WAKE);
	if (err) {
		close_epoll(&i->inlet);
		return cr_fail(e, err, "receiving with epoll: %s",
			       strerror(-err));
	}
	*out = &i->inlet;
	return 0;
}

static int add_epoll(struct inlet *in, int fd, uint64_t tag,
		     enum inlet_traffic traffic, uint64_t *key,
		     struct cr_err *e)
{
	const struct sockets_entry entry = { fd, tag };
	int err = sockets_add(&in->sockets, &entry, key);

	if (err)
		return cr_fail(e, err, "out of memory for a socket");
	if (traffic == INLET_MANY)
		intake_take_trains(fd);
	err = watch_descriptor(inlet_epoll_of(in), fd, *key);
	if (!err)
		return 0;
	sockets_del(&in->sockets, *key);
	return cr_fail(e, err, "cannot watch a socket: %s", strerror(-err));
}

static void del_epoll(struct inlet *in, uint64_t key)
{
	struct sockets_entry entry;

	if (!sockets_find(&in->sockets, key, &entry))
		return;
	if (entry.fd >= 0)
		(void)epoll_ctl(inlet_epoll_of(in)->epoll, EPOLL_CTL_DEL,
				entry.fd, NULL);
	sockets_del(&in->sockets, key);
}

static void pause_epoll(struct inlet *in, uint64_t key)
{
	struct sockets_entry entry;

	if (!sockets_find(&in->sockets, key, &entry))
		return;
	(void)epoll_ctl(inlet_epoll_of(in)->epoll, EPOLL_CTL_DEL, entry.fd,
			NULL);
	sockets_pause(&in->sockets, key);
	atomic_fetch_add_explicit(&in->paused, 1, memory_order_release);
}

static int look_for_events(struct inlet_epoll *i, int timeout)
{
	int n = epoll_wait(i->epoll, i->event, EVENTS, timeout);

	i->events = n > 0 ? n : 0;
	i->at = 0;
	i->inlet.rounds = INLET_ROUNDS;
	i->inlet.reading = false;
	return n < 0 && errno != EINTR ? -errno : n > 0;
}

static int wait_epoll(struct inlet *in, cr_ns timeout)
{
	/* rounded up: half a millisecond must not spin */
	cr_ns ms = timeout == CR_NEVER ? -1 : (timeout + CR_MS - 1) / CR_MS;

	return look_for_events(inlet_epoll_of(in),
			       (int)cr_ns_min(ms, INT32_MAX));
}

/* Another batch of the socket at hand. False: it has no more, or had enough. */
static bool read_more(struct inlet_epoll *i)
{
	struct inlet *in = &i->inlet;
	uint64_t key = i->event[i->at].data.u64;

	if (in->reading && (!intake_full(in->in) || !in->rounds))
		return false;
	if (key == KEY_WAKE) {
		uint64_t count;

		(void)!read(in->wake, &count, sizeof(count));
		return false;
	}
	in->rounds--;
	return inlet_read_batch(in, key);
}

/* A look that was full does not report the rest; the reported ones go to the
 * end of the kernel's list, so that the next one reports others. */
static bool next_socket(struct inlet_epoll *i)
{
	i->inlet.reading = false;
	i->inlet.rounds = INLET_ROUNDS;
	if (++i->at < i->events)
		return true;
	if (i->events < EVENTS) {
		i->events = 0;
		return false;
	}
	return look_for_events(i, 0) > 0;
}

static bool next_of_epoll(struct inlet *in, struct inlet_packet *p)
{
	struct inlet_epoll *i = inlet_epoll_of(in);

	if (!i->events)
		return false;
	while (!inlet_next_of_batch(in, p))
		if (!read_more(i) && !next_socket(i))
			return false;
	return true;
}

static const struct inlet_ops inlet_epoll_ops = {
	.io = UDP_IO_EPOLL,
	.open = open_epoll,
	.close = close_epoll,
	.add = add_epoll,
	.del = del_epoll,
	.pause = pause_epoll,
	.wait = wait_epoll,
	.next = next_of_epoll,
};

/* --- the choice --- */

/* One end of a socket pair sends to the other, as the receiver receives: lists
 * of features do not say what a sandbox refuses. */
static int receive_one(const int pair[2])
{
	static const struct receive_ring_sizes few = { .submissions = 8,
						       .completions = 16,
						       .buffers = 4 };
	struct inlet_packet p;
	struct inlet *in;
	uint64_t key;
	int rc = inlet_uring_open(&in, &few, NULL);

	if (rc)
		return rc;
	rc = inlet_add(in, pair[0], 1, INLET_ONE, &key, NULL);
	if (!rc && send(pair[1], "x", 1, MSG_DONTWAIT | MSG_NOSIGNAL) != 1)
		rc = -errno;
	/* an added socket wakes as well, before a packet comes */
	for (int i = 0; i < 2 && !rc; i++)
		rc = inlet_wait(in, CR_SEC);
	rc = rc < 0 ? rc : inlet_next(in, &p) ? 0 : -ETIMEDOUT;
	inlet_leave(in);
	inlet_close(in);
	return rc;
}

static const char *explain_refusal(int rc)
{
	switch (rc) {
	case -ENOSYS:
		return "the kernel has no io_uring, or a sandbox hides it";
	case -EPERM:
	case -EACCES:
		return "forbidden to this process: see sysctl "
		       "kernel.io_uring_disabled, and the seccomp profile of "
		       "the container or service";
	case -EMFILE:
	case -ENFILE:
		return "out of descriptors: raise the limit (ulimit -n)";
	case -ENOMEM:
		return "out of memory: raise the limit of locked memory "
		       "(ulimit -l)";
	case -EINVAL:
		return "the kernel is too old: Linux 6.1 or later has all that "
		       "is needed";
	default:
		return strerror(-rc);
	}
}

bool udp_io_uring(struct cr_err *why)
{
	int pair[2], rc;

	rc = socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) ? -errno
								     : 0;
	if (!rc) {
		rc = receive_one(pair);
		(void)close(pair[0]);
		(void)close(pair[1]);
	}
	if (rc)
		(void)cr_fail(why, rc, "io_uring: %s", explain_refusal(rc));
	return !rc;
}

const char *const udp_io_names[] = {
	[UDP_IO_AUTO] = "auto",
	[UDP_IO_URING] = "uring",
	[UDP_IO_EPOLL] = "epoll",
	NULL,
};

int udp_io_choose(enum udp_io asked, enum udp_io *io, struct cr_err *why)
{
	*why = (struct cr_err){ "" };
	if (asked != UDP_IO_EPOLL && udp_io_uring(why))
		*io = UDP_IO_URING;
	else if (asked == UDP_IO_URING)
		return -ENOTSUP;
	else
		*io = UDP_IO_EPOLL;
	return 0;
}

static int try_uring(struct inlet **in, struct cr_err *e)
{
	return udp_io_uring(e) ? inlet_uring_ops.open(in, e) : -ENOTSUP;
}

int inlet_open(struct inlet **in, enum udp_io io, struct cr_err *e)
{
	struct cr_err why;

	if (io == UDP_IO_URING)
		return try_uring(in, e);
	if (io == UDP_IO_AUTO && !try_uring(in, &why))
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

void inlet_pause(struct inlet *in, uint64_t key)
{
	in->ops->pause(in, key);
}

unsigned inlet_paused(const struct inlet *in)
{
	return atomic_load_explicit(&in->paused, memory_order_acquire);
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
	uint64_t one = 1;

	(void)!write(in->wake, &one, sizeof(one));
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
