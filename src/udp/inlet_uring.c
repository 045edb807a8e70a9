/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receiving with io_uring: requests for sockets, the buffers that they fill,
 * their completions, and the packets that an inlet hands out of them.
 *
 * A socket of one peer has a multishot receive, which fills buffers from a
 * common stock as packets come. It ends when the stock is empty (ENOBUFS), when
 * the completion queue is full, or on an error, and is then armed again: what
 * comes meanwhile waits in the socket. Other sockets have a multishot poll.
 *
 * The kernel lets only the receiving thread submit (SINGLE_ISSUER). The thread
 * that adds and removes sockets therefore leaves orders, which the next wait
 * carries out. The kernel does its part only within our system calls
 * (DEFER_TASKRUN), so a turn ends with what the last wait brought.
 *
 * Thread rule: as in inlet.h.
 */
#define _GNU_SOURCE

#include <errno.h>
#include <liburing.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cache.h"
#include "base/thread.h"
#include "cr/time.h"
#include "udp/inlet.h"
#include "udp/inlet_ops.h"

/** A name of any family we have; the control data behind it must be aligned. */
#define RECEIVE_NAME_BYTES 32u

/** Keys of sockets that are polled have this bit, where an index never
 * reaches. */
#define RECEIVE_POLL UINT64_C(0x80000000)

/** A buffer, as the kernel fills it. */
struct receive_slot {
	struct io_uring_recvmsg_out out;
	uint8_t name[RECEIVE_NAME_BYTES];
	uint8_t control[CONTROL_BYTES];
	uint8_t data[INLET_BYTES + 1];
	uint8_t pad[63]; /* an odd number of cache lines */
};

#define RECEIVE_AGAIN 1024u
#define RECEIVE_GREEDY 64u

/** Zero is closed. */
struct receive_ring {
	struct receive_ring_sizes sizes;
	struct inlet *inlet; /* that it is part of */

	/* Under the lock: orders, oldest first. A descriptor is looked up and
	 * armed under it as well: it cannot have become another file. */
	pthread_mutex_t lock;
	uint64_t *order;
	unsigned first, count, room;
	unsigned live;	     /* sockets; there is room to end each */
	atomic_bool ordered; /* there are orders; written under the lock */

	/* the receiving thread */
	struct io_uring ring;
	bool made, enabled;
	int err;	/* it has failed: -errno, see inlet_wait() */
	unsigned tries; /* for want of memory, in a row */
	struct io_uring_sqe unwanted; /* requests to a ring that failed */
	bool waking;		      /* a read of the wake is armed, */
	uint64_t wakes;		      /* which writes this */
	struct msghdr form;
	struct io_uring_buf_ring *stock;
	struct receive_slot *slot;
	unsigned back; /* buffers given back that the kernel does not see yet */
	uint64_t run_key; /* whose packets came last, */
	unsigned run;	  /* and how many in a row */
	/* requests that ended and wait to be armed again */
	unsigned nagain, ngreedy;
	uint64_t again[RECEIVE_AGAIN], greedy[RECEIVE_GREEDY];
};

/** False: it was removed. */
static inline bool receive_ring_find(const struct receive_ring *r, uint64_t key,
				     struct sockets_entry *entry)
{
	return sockets_find(&r->inlet->sockets, key & ~RECEIVE_POLL, entry);
}

/** No more requests can wait to be armed again: the turn is over. Were they
 * armed within it, it need not end while more comes than is taken. */
static inline bool receive_ring_full(const struct receive_ring *r)
{
	return r->nagain == RECEIVE_AGAIN || r->ngreedy == RECEIVE_GREEDY;
}

#define GROUP 1 /* the stock of buffers */

/* Requests are named by the key of their socket. */
#define KEY_CANCEL UINT64_C(0x40000000) /* ends the request without it */
#define KEY_WAKE UINT64_C(0)		/* no socket's */

/* Orders carried out in a turn: ten thousand calls that start at once must not
 * keep packets waiting. */
#define ORDERS_MAX 1024u
/* Times that the kernel may be out of memory in a row, a millisecond apart. */
#define TRIES 1000u
/* A socket that has filled more than this part of the buffers in a row when
 * they run out is armed after the others. */
#define GREEDY_PART 64u

/* --- orders --- */

/* Room for one order more, and to pause and remove all that are there then. */
static int reserve_orders(struct receive_ring *r)
{
	unsigned room = r->room ? r->room : 64;
	uint64_t *order;

	while (room < r->count + 2 * r->live + 3)
		room *= 2;
	if (room == r->room)
		return 0;
	order = realloc(r->order, room * sizeof(*order));
	if (!order)
		return -ENOMEM;
	r->order = order;
	r->room = room;
	return 0;
}

/* Returns whether the receiving thread must be woken. */
static bool push_order(struct receive_ring *r, uint64_t key)
{
	bool first = !r->count;

	if (r->first + r->count == r->room) {
		memmove(r->order, r->order + r->first,
			r->count * sizeof(*r->order));
		r->first = 0;
	}
	r->order[r->first + r->count++] = key;
	/* release, pairs with carry_out() */
	atomic_store_explicit(&r->ordered, true, memory_order_release);
	return first;
}

static int add_locked(struct receive_ring *r, const struct sockets_entry *entry,
		      bool poll, uint64_t *key)
{
	int err = reserve_orders(r);

	if (!err)
		err = sockets_add(&r->inlet->sockets, entry, key);
	if (err)
		return err;
	if (poll)
		*key |= RECEIVE_POLL;
	r->live++;
	return push_order(r, *key);
}

/* --- requests --- */

/* Judge the result of a call on the ring. Want of memory passes, unless it
 * comes too often in a row. Anything else does not: the ring has failed. */
static void judge_result(struct receive_ring *r, int rc)
{
	static const struct timespec nap = { .tv_nsec = CR_MS };

	if (rc >= 0)
		r->tries = 0;
	if (rc >= 0 || rc == -ETIME || rc == -EINTR)
		return;
	if ((rc == -EAGAIN || rc == -EBUSY || rc == -ENOMEM) &&
	    ++r->tries < TRIES)
		(void)nanosleep(&nap, NULL);
	else
		r->err = rc;
}

/* The requests have nowhere to wait, so it is tried again. */
static void submit_all(struct receive_ring *r)
{
	while (!r->err && io_uring_sq_ready(&r->ring)) {
		int rc = io_uring_submit(&r->ring);

		judge_result(r, rc ? rc : -EAGAIN);
	}
}

static struct io_uring_sqe *next_sqe(struct receive_ring *r)
{
	struct io_uring_sqe *s = io_uring_get_sqe(&r->ring);

	if (!s) {
		submit_all(r);
		s = io_uring_get_sqe(&r->ring);
	}
	return s ? s : &r->unwanted;
}

/* The socket of a request that has ended, or was not made, is paused. */
static void count_paused(struct receive_ring *r)
{
	atomic_fetch_add_explicit(&r->inlet->paused, 1, memory_order_release);
}

/* The lock is held until the request is submitted. */
static void prepare_request(struct receive_ring *r, uint64_t key)
{
	struct sockets_entry entry;
	struct io_uring_sqe *s;

	if (key & KEY_CANCEL) {
		s = next_sqe(r);
		io_uring_prep_cancel64(s, key & ~KEY_CANCEL, 0);
		s->flags |= IOSQE_CQE_SKIP_SUCCESS;
	} else if (!receive_ring_find(r, key, &entry)) {
		return; /* it was removed */
	} else if (entry.fd < 0) {
		count_paused(r);
		return;
	} else if (key & RECEIVE_POLL) {
		s = next_sqe(r);
		io_uring_prep_poll_multishot(s, entry.fd, POLLIN);
	} else {
		s = next_sqe(r);
		io_uring_prep_recvmsg_multishot(s, entry.fd, &r->form, 0);
		s->flags |= IOSQE_BUFFER_SELECT;
		s->buf_group = GROUP;
	}
	io_uring_sqe_set_data64(s, key);
}

/* Requests that ended go on, when there are buffers again. */
static void arm_again(struct receive_ring *r)
{
	io_uring_buf_ring_advance(r->stock, (int)r->back);
	r->back = 0;
	if (!r->nagain && !r->ngreedy)
		return;
	pthread_mutex_lock(&r->lock);
	for (unsigned i = 0; i < r->nagain; i++)
		prepare_request(r, r->again[i]);
	for (unsigned i = 0; i < r->ngreedy; i++)
		prepare_request(r, r->greedy[i]);
	submit_all(r);
	pthread_mutex_unlock(&r->lock);
	r->nagain = 0;
	r->ngreedy = 0;
}

/* Some of the orders. Returns whether there are more. */
static bool carry_out(struct receive_ring *r)
{
	unsigned n;
	bool more;

	/* acquire, pairs with push_order() */
	if (!atomic_load_explicit(&r->ordered, memory_order_acquire))
		return false;
	pthread_mutex_lock(&r->lock);
	n = r->count < ORDERS_MAX ? r->count : ORDERS_MAX;
	for (unsigned i = 0; i < n; i++)
		prepare_request(r, r->order[r->first + i]);
	submit_all(r);
	r->count -= n;
	r->first = r->count ? r->first + n : 0;
	more = r->count > 0;
	atomic_store_explicit(&r->ordered, more, memory_order_relaxed);
	pthread_mutex_unlock(&r->lock);
	return more;
}

/** Give a buffer back. */
static void receive_ring_give_back(struct receive_ring *r, unsigned buffer)
{
	io_uring_buf_ring_add(r->stock, &r->slot[buffer], sizeof(*r->slot),
			      (unsigned short)buffer,
			      io_uring_buf_ring_mask(r->sizes.buffers),
			      (int)r->back++);
}

/* --- completions --- */

static struct io_uring_cqe *first_completion(struct receive_ring *r)
{
	struct io_uring_cqe *c;
	unsigned head;

	io_uring_for_each_cqe(&r->ring, head, c)
	{
		return c;
	}
	return NULL;
}

/* A request has ended. */
static void end_request(struct receive_ring *r, uint64_t key, int res)
{
	struct sockets_entry entry;

	if (key == KEY_WAKE) {
		r->waking = false;
		return;
	}
	if (key & KEY_CANCEL || res == -EBADF || res == -ENOTSOCK ||
	    !receive_ring_find(r, key, &entry))
		return;
	if (entry.fd < 0)
		count_paused(r);
	else if (res == -ENOBUFS && key == r->run_key &&
		 r->run > r->sizes.buffers / GREEDY_PART)
		r->greedy[r->ngreedy++] = key;
	else
		r->again[r->nagain++] = key;
}

static bool brings_packet(const struct io_uring_cqe *c)
{
	if (c->user_data & RECEIVE_POLL && !(c->user_data & KEY_CANCEL))
		return c->res >= 0;
	return (c->flags & IORING_CQE_F_BUFFER) != 0;
}

/** Done with it; its buffer is still the caller's. */
static void receive_ring_done(struct receive_ring *r,
			      const struct io_uring_cqe *c)
{
	const struct io_uring_cqe done = *c;

	io_uring_cq_advance(&r->ring, 1);
	if (done.flags & IORING_CQE_F_BUFFER) {
		r->run = done.user_data == r->run_key ? r->run + 1 : 1;
		r->run_key = done.user_data;
	}
	if (!(done.flags & IORING_CQE_F_MORE))
		end_request(r, done.user_data, done.res);
}

/** The next completion that brings something: that of a polled socket, which is
 * readable, or one with a buffer. Its user_data is the key. NULL: there is
 * none, or receive_ring_full(). */
static struct io_uring_cqe *receive_ring_next(struct receive_ring *r)
{
	struct io_uring_cqe *c;

	while (!receive_ring_full(r) && (c = first_completion(r))) {
		if (brings_packet(c))
			return c;
		receive_ring_done(r, c);
	}
	return NULL;
}

/* The thread that does this is the one that may submit from now on. */
static int enable_ring(struct receive_ring *r)
{
	int rc;

	if (r->enabled)
		return 0;
	rc = io_uring_register((unsigned)r->ring.ring_fd,
			       IORING_REGISTER_ENABLE_RINGS, NULL, 0);
	if (rc)
		return rc;
	r->enabled = true;
	(void)io_uring_register_ring_fd(&r->ring); /* a bit faster */
	return 0;
}

/* All that there is, as far as the queue holds it. Since Linux 6.13 a call that
 * need not wait does some 20 pieces of work, and some bring nothing. */
static void gather_completions(struct receive_ring *r)
{
	unsigned had, has = io_uring_cq_ready(&r->ring);

	do {
		had = has;
		judge_result(r, io_uring_submit_and_get_events(&r->ring));
		has = io_uring_cq_ready(&r->ring);
	} while (has > had && has < r->sizes.completions);
}

/** Carry out orders and wait for completions. 0 or -errno. */
static int receive_ring_wait(struct receive_ring *r, cr_ns timeout)
{
	struct __kernel_timespec ts = { timeout / CR_SEC, timeout % CR_SEC };
	struct io_uring_cqe *c;
	bool more;
	struct io_uring_sqe *s;

	if (!r->err)
		r->err = enable_ring(r);
	if (r->err)
		return r->err;
	arm_again(r);
	more = carry_out(r);
	if (more)
		ts = (struct __kernel_timespec){ 0 };
	if (!r->waking) {
		s = next_sqe(r);
		io_uring_prep_read(s, r->inlet->wake, &r->wakes,
				   sizeof(r->wakes), 0);
		io_uring_sqe_set_data64(s, KEY_WAKE);
		r->waking = true;
	}
	/* liburing would only look at what is there */
	if (!r->err && !io_uring_cq_ready(&r->ring))
		judge_result(r,
			     io_uring_submit_and_wait_timeout(
				     &r->ring, &c, 1,
				     !more && timeout == CR_NEVER ? NULL : &ts,
				     NULL));
	if (!r->err && io_uring_cq_ready(&r->ring))
		gather_completions(r);
	return r->err;
}

/* Throw completions away. Returns whether there were any; *@last: also the
 * completion of leaving. */
static bool forget_all(struct receive_ring *r, bool *last)
{
	struct io_uring_cqe *c;
	bool any = false;

	judge_result(r, io_uring_get_events(&r->ring));
	for (; (c = first_completion(r)); any = true) {
		*last |= c->user_data == KEY_CANCEL;
		io_uring_cq_advance(&r->ring, 1);
	}
	return any;
}

/* --- its life --- */

static int stock_up(struct receive_ring *r)
{
	unsigned n = r->sizes.buffers;
	struct io_uring_buf_reg reg = { .ring_entries = n, .bgid = GROUP };
	void *ring;

	r->slot = malloc(n * sizeof(*r->slot));
	if (!r->slot || posix_memalign(&ring, (size_t)sysconf(_SC_PAGESIZE),
				       n * sizeof(struct io_uring_buf)))
		return -ENOMEM;
	r->stock = ring;
	/* so that no packet has to wait for a page */
	memset(r->slot, 0, n * sizeof(*r->slot));
	memset(ring, 0, n * sizeof(struct io_uring_buf));
	reg.ring_addr = (uintptr_t)ring;
	for (unsigned i = 0; i < n; i++)
		receive_ring_give_back(r, i);
	io_uring_buf_ring_advance(r->stock, (int)r->back);
	r->back = 0;
	return io_uring_register_buf_ring(&r->ring, &reg, 0);
}

/* --- the inlet --- */

/*
 * Receiving with io_uring: one system call brings the packets of all sockets.
 *
 * Packets of a socket of one peer come in buffers of the ring. A socket of many
 * peers is watched, and read by batches and trains (inlet.h): those take 64
 * KB, and one system call for 64 packets costs less than 64 completions.
 */

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

	uint64_t key; /* of the socket that is read by batches */
};

static struct inlet_uring *inlet_uring_of(struct inlet *in)
{
	return (struct inlet_uring *)(void *)in;
}

static void give_held_back(struct inlet_uring *u)
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
		.read = u->clock.now,
	};
	p->tag = entry.tag;
	p->drops = control.drops;
	return true;
}

static void begin_reading(struct inlet_uring *u, uint64_t key)
{
	for (unsigned i = 0; i < u->nmore; i++)
		if (u->more[i] == key)
			return; /* it has had its turn, or will have it */
	u->key = key;
	u->inlet.rounds = INLET_ROUNDS - 1;
	(void)inlet_read_batch(&u->inlet, key & ~RECEIVE_POLL);
}

/* The batch is over. The socket goes on now (true), in the next turn, or when
 * it is readable again. */
static bool go_on_reading(struct inlet_uring *u)
{
	struct inlet *in = &u->inlet;

	in->reading = false;
	if (!intake_full(in->in))
		return false;
	if (!in->rounds && u->nmore < MORE) {
		u->more[u->nmore++] = u->key;
		return false;
	}
	if (in->rounds)
		in->rounds--;
	return inlet_read_batch(in, u->key & ~RECEIVE_POLL);
}

static bool from_intake(struct inlet_uring *u, struct inlet_packet *p)
{
	while (!inlet_next_of_batch(&u->inlet, p))
		if (!u->inlet.reading || !go_on_reading(u))
			return false;
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

static bool next_of_uring(struct inlet *in, struct inlet_packet *p)
{
	struct inlet_uring *u = inlet_uring_of(in);
	struct io_uring_cqe *c;

	for (;;) {
		give_held_back(u);
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

static uint64_t tag_ahead(struct inlet *in, unsigned n)
{
	struct inlet_uring *u = inlet_uring_of(in);
	const struct io_uring_cq *q = &u->ring.ring.cq;
	const struct io_uring_cqe *c = &q->cqes[(*q->khead + n) & q->ring_mask];
	struct sockets_entry entry;

	if (io_uring_cq_ready(&u->ring.ring) <= n ||
	    !(c->flags & IORING_CQE_F_BUFFER))
		return 0;
	/* as from_buffer() and who takes the packet read it */
	cache_fetch(&u->ring.slot[c->flags >> IORING_CQE_BUFFER_SHIFT],
		    offsetof(struct receive_slot, data) + CACHE_LINE);
	return receive_ring_find(&u->ring, c->user_data, &entry) ? entry.tag
								 : 0;
}

/* Ends of requests alone are no reason to return. */
static int wait_uring(struct inlet *in, cr_ns timeout)
{
	struct inlet_uring *u = inlet_uring_of(in);
	bool any;
	int rc;

	give_held_back(u);
	u->old = u->nmore;
	do {
		rc = receive_ring_wait(&u->ring, u->nmore ? 0 : timeout);
		any = u->nmore || receive_ring_next(&u->ring);
	} while (!rc && !any && receive_ring_full(&u->ring));
	control_clock_read(&u->clock);
	return rc ? rc : any;
}

static void leave_uring(struct inlet *in)
{
	struct receive_ring *r = &inlet_uring_of(in)->ring;
	struct io_uring_sqe *s;
	bool last = false;

	if (!r->enabled || r->err) /* its end gives them up */
		return;
	/* the end of the thread does not end its requests, and they keep the
	 * sockets */
	s = next_sqe(r);
	io_uring_prep_cancel64(
		s, 0, IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_ALL);
	io_uring_sqe_set_data64(s, KEY_CANCEL);
	submit_all(r);
	while (!r->err && (forget_all(r, &last) || !last))
		;
}

static int add_uring(struct inlet *in, int fd, uint64_t tag,
		     enum inlet_traffic traffic, uint64_t *key,
		     struct cr_err *e)
{
	const struct sockets_entry entry = { fd, tag };
	struct receive_ring *r = &inlet_uring_of(in)->ring;
	int rc;

	if (traffic == INLET_MANY)
		intake_take_trains(fd);
	pthread_mutex_lock(&r->lock);
	/* 1: the receiving thread must be woken, or it may wait for long */
	rc = add_locked(r, &entry, traffic == INLET_MANY, key);
	pthread_mutex_unlock(&r->lock);
	if (rc < 0)
		return cr_fail(e, rc, "out of memory for a socket");
	if (rc)
		inlet_wake_too(in);
	return 0;
}

static void del_uring(struct inlet *in, uint64_t key)
{
	struct receive_ring *r = &inlet_uring_of(in)->ring;
	bool first;

	pthread_mutex_lock(&r->lock);
	sockets_del(&in->sockets, key & ~RECEIVE_POLL);
	r->live--;
	first = push_order(r, key | KEY_CANCEL);
	pthread_mutex_unlock(&r->lock);
	if (first)
		inlet_wake_too(in);
}

/* Its request, wherever it is, ends once: it is cancelled, or not made again.
 */
static void pause_uring(struct inlet *in, uint64_t key)
{
	struct receive_ring *r = &inlet_uring_of(in)->ring;
	bool first;

	pthread_mutex_lock(&r->lock);
	sockets_pause(&in->sockets, key & ~RECEIVE_POLL);
	first = push_order(r, key | KEY_CANCEL);
	pthread_mutex_unlock(&r->lock);
	if (first)
		inlet_wake_too(in);
}

static void close_uring(struct inlet *in)
{
	struct inlet_uring *u = inlet_uring_of(in);

	if (u->ring.made)
		io_uring_queue_exit(&u->ring.ring);
	free(u->ring.stock);
	free(u->ring.slot);
	pthread_mutex_destroy(&u->ring.lock);
	free(u->ring.order);
	inlet_fini(in);
}

int inlet_uring_open(struct inlet **out, const struct receive_ring_sizes *sizes,
		     struct cr_err *e)
{
	struct inlet_uring *u = calloc(1, sizeof(*u));
	int err;

	if (!u)
		return cr_fail(e, -ENOMEM, "out of memory for receiving");
	u->held = -1;
	u->ring.inlet = &u->inlet;
	u->ring.sizes = *sizes;
	u->ring.form = (struct msghdr){ .msg_namelen = RECEIVE_NAME_BYTES,
					.msg_controllen = CONTROL_BYTES };
	thread_lock_init(&u->ring.lock); /* the receiver may have priority */
	/* blocking: its read through the ring waits */
	err = inlet_init(&u->inlet, &inlet_uring_ops, 0);
	if (!err) {
		/* it begins disabled: who enables it is its one submitter */
		struct io_uring_params params = {
			.flags = IORING_SETUP_SINGLE_ISSUER |
				 IORING_SETUP_DEFER_TASKRUN |
				 IORING_SETUP_CQSIZE | IORING_SETUP_SUBMIT_ALL |
				 IORING_SETUP_R_DISABLED,
			.cq_entries = sizes->completions,
		};

		err = io_uring_queue_init_params(sizes->submissions,
						 &u->ring.ring, &params);
		u->ring.made = !err;
	}
	err = err ? err : stock_up(&u->ring);
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
	.add = add_uring,
	.del = del_uring,
	.pause = pause_uring,
	.wait = wait_uring,
	.next = next_of_uring,
	.ahead = tag_ahead,
	.leave = leave_uring,
};
