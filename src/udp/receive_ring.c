/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of an inlet to io_uring.
 *
 * A socket of one peer has a multishot receive, which fills buffers from a
 * common stock as packets come. It ends when the stock is empty (ENOBUFS), when
 * the completion queue is full, or on an error, and is then armed again: what
 * comes meanwhile waits in the socket. Other sockets have a multishot poll.
 */
#define _GNU_SOURCE
#include "udp/receive_ring.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/thread.h"

#define GROUP 1 /* the stock of buffers */

/* Requests are named by the key of their socket. */
#define KEY_CANCEL UINT64_C(0x40000000) /* ends the request without it */
#define KEY_WAKE UINT64_C(0)		/* no socket's */

/* Orders carried out in a turn: ten thousand calls that start at once must not
 * keep packets waiting. */
#define ORDERS_TURN 1024u
/* How often the kernel may be out of memory in a row, a millisecond apart. */
#define TRIES 1000u
/* A socket that has filled more than this part of the buffers in a row when
 * they run out is armed after the others. */
#define GREEDY_PART 64u

/* --- orders --- */

/* Room for one order more, and to remove all that are there then. */
static int reserve(struct receive_ring *r)
{
	unsigned room = r->room ? r->room : 64;
	uint64_t *order;

	while (room < r->count + r->live + 2)
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
static bool push(struct receive_ring *r, uint64_t key)
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
	int err = reserve(r);

	if (!err)
		err = sockets_add(&r->sockets, entry, key);
	if (err)
		return err;
	if (poll)
		*key |= RECEIVE_POLL;
	r->live++;
	return push(r, *key);
}

int receive_ring_add(struct receive_ring *r, const struct sockets_entry *entry,
		     bool poll, uint64_t *key)
{
	int rc;

	pthread_mutex_lock(&r->lock);
	rc = add_locked(r, entry, poll, key);
	pthread_mutex_unlock(&r->lock);
	return rc;
}

bool receive_ring_del(struct receive_ring *r, uint64_t key)
{
	bool first;

	pthread_mutex_lock(&r->lock);
	sockets_del(&r->sockets, key & ~RECEIVE_POLL);
	r->live--;
	first = push(r, key | KEY_CANCEL);
	pthread_mutex_unlock(&r->lock);
	return first;
}

void receive_ring_wake(struct receive_ring *r)
{
	uint64_t one = 1;

	(void)!write(r->wake, &one, sizeof(one));
}

/* --- requests --- */

/* What a system call on the ring has returned. Want of memory passes, unless it
 * comes too often in a row. Anything else does not: the ring has failed. */
static void judge(struct receive_ring *r, int rc)
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

		judge(r, rc ? rc : -EAGAIN);
	}
}

static struct io_uring_sqe *request(struct receive_ring *r)
{
	struct io_uring_sqe *s = io_uring_get_sqe(&r->ring);

	if (!s) {
		submit_all(r);
		s = io_uring_get_sqe(&r->ring);
	}
	return s ? s : &r->nowhere;
}

/* The lock is held until the request is submitted. */
static void prepare(struct receive_ring *r, uint64_t key)
{
	struct sockets_entry entry;
	struct io_uring_sqe *s;

	if (key & KEY_CANCEL) {
		s = request(r);
		io_uring_prep_cancel64(s, key & ~KEY_CANCEL, 0);
		s->flags |= IOSQE_CQE_SKIP_SUCCESS;
	} else if (!receive_ring_find(r, key, &entry)) {
		return; /* it was removed */
	} else if (key & RECEIVE_POLL) {
		s = request(r);
		io_uring_prep_poll_multishot(s, entry.fd, POLLIN);
	} else {
		s = request(r);
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
		prepare(r, r->again[i]);
	for (unsigned i = 0; i < r->ngreedy; i++)
		prepare(r, r->greedy[i]);
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

	/* acquire, pairs with push() */
	if (!atomic_load_explicit(&r->ordered, memory_order_acquire))
		return false;
	pthread_mutex_lock(&r->lock);
	n = r->count < ORDERS_TURN ? r->count : ORDERS_TURN;
	for (unsigned i = 0; i < n; i++)
		prepare(r, r->order[r->first + i]);
	submit_all(r);
	r->count -= n;
	r->first = r->count ? r->first + n : 0;
	more = r->count > 0;
	atomic_store_explicit(&r->ordered, more, memory_order_relaxed);
	pthread_mutex_unlock(&r->lock);
	return more;
}

static void arm_wake(struct receive_ring *r)
{
	struct io_uring_sqe *s;

	if (r->waking)
		return;
	s = request(r);
	io_uring_prep_read(s, r->wake, &r->wakes, sizeof(r->wakes), 0);
	io_uring_sqe_set_data64(s, KEY_WAKE);
	r->waking = true;
}

void receive_ring_give_back(struct receive_ring *r, unsigned buffer)
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
static void ended(struct receive_ring *r, uint64_t key, int res)
{
	struct sockets_entry entry;

	if (key == KEY_WAKE) {
		r->waking = false;
		return;
	}
	if (key & KEY_CANCEL || res == -EBADF || res == -ENOTSOCK ||
	    !receive_ring_find(r, key, &entry))
		return;
	if (res == -ENOBUFS && key == r->run_key &&
	    r->run > r->sizes.buffers / GREEDY_PART)
		r->greedy[r->ngreedy++] = key;
	else
		r->again[r->nagain++] = key;
}

const struct io_uring_cqe *receive_ring_ahead(const struct receive_ring *r,
					      unsigned n)
{
	const struct io_uring_cq *q = &r->ring.cq;

	if (io_uring_cq_ready(&r->ring) <= n)
		return NULL;
	return &q->cqes[(*q->khead + n) & q->ring_mask];
}

static bool brings(const struct io_uring_cqe *c)
{
	if (c->user_data & RECEIVE_POLL && !(c->user_data & KEY_CANCEL))
		return c->res >= 0;
	return (c->flags & IORING_CQE_F_BUFFER) != 0;
}

static void count_run(struct receive_ring *r, uint64_t key)
{
	r->run = key == r->run_key ? r->run + 1 : 1;
	r->run_key = key;
}

void receive_ring_done(struct receive_ring *r, const struct io_uring_cqe *c)
{
	const struct io_uring_cqe done = *c;

	io_uring_cq_advance(&r->ring, 1);
	if (done.flags & IORING_CQE_F_BUFFER)
		count_run(r, done.user_data);
	if (!(done.flags & IORING_CQE_F_MORE))
		ended(r, done.user_data, done.res);
}

struct io_uring_cqe *receive_ring_next(struct receive_ring *r)
{
	struct io_uring_cqe *c;

	while (!receive_ring_full(r) && (c = first_completion(r))) {
		if (brings(c))
			return c;
		receive_ring_done(r, c);
	}
	return NULL;
}

/* The thread that does this is the one that may submit from now on. */
static int enable(struct receive_ring *r)
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
static void gather(struct receive_ring *r)
{
	unsigned had, has = io_uring_cq_ready(&r->ring);

	do {
		had = has;
		judge(r, io_uring_submit_and_get_events(&r->ring));
		has = io_uring_cq_ready(&r->ring);
	} while (has > had && has < r->sizes.completions);
}

static void wait_for_one(struct receive_ring *r, cr_ns timeout)
{
	struct __kernel_timespec ts = { timeout / CR_SEC, timeout % CR_SEC };
	struct io_uring_cqe *c;

	judge(r,
	      io_uring_submit_and_wait_timeout(
		      &r->ring, &c, 1, timeout == CR_NEVER ? NULL : &ts, NULL));
}

int receive_ring_wait(struct receive_ring *r, cr_ns timeout)
{
	bool more;

	if (!r->err)
		r->err = enable(r);
	if (r->err)
		return r->err;
	arm_again(r);
	more = carry_out(r);
	arm_wake(r);
	/* liburing would only look at what is there */
	if (!r->err && !io_uring_cq_ready(&r->ring))
		wait_for_one(r, more ? 0 : timeout);
	if (!r->err && io_uring_cq_ready(&r->ring))
		gather(r);
	return r->err;
}

/* Throw away what is told. Returns whether there was anything; *@last: also the
 * completion of leaving. */
static bool forget_all(struct receive_ring *r, bool *last)
{
	struct io_uring_cqe *c;
	bool any = false;

	judge(r, io_uring_get_events(&r->ring));
	for (; (c = first_completion(r)); any = true) {
		*last |= c->user_data == KEY_CANCEL;
		io_uring_cq_advance(&r->ring, 1);
	}
	return any;
}

/* The end of the thread does not end its requests, and they keep the sockets.
 */
void receive_ring_leave(struct receive_ring *r)
{
	struct io_uring_sqe *s;
	bool last = false;

	if (!r->enabled || r->err) /* its end gives them up */
		return;
	s = request(r);
	io_uring_prep_cancel64(
		s, 0, IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_ALL);
	io_uring_sqe_set_data64(s, KEY_CANCEL);
	submit_all(r);
	while (!r->err && (forget_all(r, &last) || !last))
		;
}

/* --- its life --- */

void receive_ring_close(struct receive_ring *r)
{
	if (r->made)
		io_uring_queue_exit(&r->ring);
	if (r->wake >= 0)
		(void)close(r->wake);
	free(r->stock);
	free(r->slot);
	sockets_fini(&r->sockets);
	pthread_mutex_destroy(&r->lock);
	free(r->order);
}

/* The ring begins disabled: who enables it is its one submitter. */
static int make_ring(struct receive_ring *r)
{
	struct io_uring_params params = {
		.flags = IORING_SETUP_SINGLE_ISSUER |
			 IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CQSIZE |
			 IORING_SETUP_SUBMIT_ALL | IORING_SETUP_R_DISABLED,
		.cq_entries = r->sizes.completions,
	};
	int rc = io_uring_queue_init_params(r->sizes.submissions, &r->ring,
					    &params);

	r->made = !rc;
	return rc;
}

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

int receive_ring_open(struct receive_ring *r,
		      const struct receive_ring_sizes *sizes)
{
	int err;

	r->sizes = *sizes;
	r->form = (struct msghdr){ .msg_namelen = RECEIVE_NAME_BYTES,
				   .msg_controllen = CONTROL_BYTES };
	thread_lock_init(&r->lock); /* the receiver may have priority */
	/* blocking: its read through the ring waits */
	r->wake = eventfd(0, EFD_CLOEXEC);
	err = r->wake < 0 ? -errno : make_ring(r);
	return err ? err : stock_up(r);
}
