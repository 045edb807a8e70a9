/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The io_uring of an inlet (inlet_uring.c): requests for sockets, the buffers
 * that they fill, and what they tell.
 *
 * The kernel lets only the receiving thread submit (SINGLE_ISSUER). The thread
 * that adds and removes sockets therefore leaves orders, which the next wait
 * carries out. The kernel does its part only within our system calls
 * (DEFER_TASKRUN), so a turn ends with what the last wait brought.
 *
 * Thread rule: as in inlet.h.
 */
#ifndef UDP_RECEIVE_RING_H
#define UDP_RECEIVE_RING_H

#include <liburing.h>
#include <pthread.h>

#include "cr/time.h"
#include "udp/control.h"
#include "udp/inlet.h"
#include "udp/sockets.h"

/** A name of any family we have; the control data behind it must be aligned. */
#define RECEIVE_NAME_BYTES 32u

/** Keys of sockets that are polled have this bit, where an index never
 * reaches. */
#define RECEIVE_POLL UINT64_C(0x80000000)

/** Powers of two. */
struct receive_ring_sizes {
	unsigned submissions; /**< requests in one system call              */
	unsigned completions; /**< that fit the queue; at least submissions;
			       * the kernel keeps what does not fit        */
	unsigned buffers;     /**< packets that can wait between two turns;
			       * others wait in their sockets              */
};

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

/** Zero, with wake = -1, is closed. */
struct receive_ring {
	struct receive_ring_sizes sizes;
	int wake;
	struct sockets sockets;

	/* Under the lock: orders, oldest first. A descriptor is looked up and
	 * armed under it as well: it cannot have become another file. */
	pthread_mutex_t lock;
	uint64_t *order;
	unsigned first, count, room;
	unsigned live;	     /* sockets; there is room to remove each */
	atomic_bool ordered; /* there are orders; written under the lock */

	/* the receiving thread */
	struct io_uring ring;
	bool made, enabled;
	int err;	/* it has failed: -errno, see inlet_wait() */
	unsigned tries; /* for want of memory, in a row */
	struct io_uring_sqe nowhere; /* what a ring that failed is asked for */
	bool waking;		     /* a read of `wake` is armed, */
	uint64_t wakes;		     /* which writes this */
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

/** 0 or -errno; receive_ring_close() in either case. */
int receive_ring_open(struct receive_ring *r,
		      const struct receive_ring_sizes *sizes);
void receive_ring_close(struct receive_ring *r);

/** Receive from, or with @poll watch, a socket. 0; 1: the receiving thread must
 * be woken, or it may wait for long; or -ENOMEM. */
int receive_ring_add(struct receive_ring *r, const struct sockets_entry *entry,
		     bool poll, uint64_t *key);
/** Must the receiving thread be woken? */
bool receive_ring_del(struct receive_ring *r, uint64_t key);
void receive_ring_wake(struct receive_ring *r);
/** False: it was removed. */
static inline bool receive_ring_find(const struct receive_ring *r, uint64_t key,
				     struct sockets_entry *entry)
{
	return sockets_find(&r->sockets, key & ~RECEIVE_POLL, entry);
}

/** Carry out orders and wait for completions. 0 or -errno. */
int receive_ring_wait(struct receive_ring *r, cr_ns timeout);

/** Give up all sockets; nothing can be received any more. */
void receive_ring_leave(struct receive_ring *r);

/** No more requests can wait to be armed again: the turn is over. Were they
 * armed within it, it need not end while more comes than is taken. */
static inline bool receive_ring_full(const struct receive_ring *r)
{
	return r->nagain == RECEIVE_AGAIN || r->ngreedy == RECEIVE_GREEDY;
}

/** The next completion that brings something: that of a polled socket, which is
 * readable, or one with a buffer. Its user_data is the key. NULL: there is
 * none, or receive_ring_full(). */
struct io_uring_cqe *receive_ring_next(struct receive_ring *r);
/** The completion @n places behind it, whatever that brings, or NULL. */
const struct io_uring_cqe *receive_ring_ahead(const struct receive_ring *r,
					      unsigned n);
/** Done with it; its buffer is still the caller's. */
void receive_ring_done(struct receive_ring *r, const struct io_uring_cqe *c);
/** Give a buffer back. */
void receive_ring_give_back(struct receive_ring *r, unsigned buffer);

#endif
