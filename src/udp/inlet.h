/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets out of many sockets: whichever is ready, as they come. Sockets are
 * named by tags that their owner chooses.
 *
 *   while (inlet_wait(in, CR_NEVER) >= 0)
 *           while (inlet_next(in, &p))
 *                   ...
 *
 * A turn, inlet_wait() and then inlet_next() until it is false, serves every
 * socket that is ready, however many. The packets of one socket in a turn are
 * limited, so that a flood does not keep the others waiting.
 *
 * Thread rule: one thread receives (inlet_wait(), inlet_next(), inlet_leave()).
 * One other thread at a time adds and removes sockets. Any thread wakes.
 */
#ifndef UDP_INLET_H
#define UDP_INLET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <time.h>

#include "cr/error.h"
#include "cr/time.h"
#include "udp/io.h"

/* --- batches of one socket --- */

/*
 * Datagrams out of a socket, a batch to a system call, with the kernel's
 * arrival times. Datagrams that travelled as one train (equal size, same peer,
 * back to back: UDP receive offload) cost the kernel about as much as one; they
 * are handed out one by one.
 *
 * Thread rule: one thread.
 */

struct intake;

struct intake_packet {
	const uint8_t *data; /**< until the next intake_receive()           */
	size_t bytes;
	const struct sockaddr_storage *from;
	cr_ns arrival; /**< CLOCK_MONOTONIC; a train has one. Wrong by a step
			    of CLOCK_REALTIME, in which the kernel stamps,
			    between the packet and the reading            */
	cr_ns read;    /**< CLOCK_MONOTONIC, of the batch: never goes back  */
};

struct intake *intake_open(void);     /**< NULL: out of memory */
void intake_close(struct intake *in); /**< NULL is fine */

/** Let trains come whole to @fd, which must be read with intake_receive() from
 * then on. An older kernel takes them apart, which is slower. */
void intake_take_trains(int fd);

/** One batch from @fd (see udp_socket()) takes the place of the last one. Never
 * blocks. False: there was nothing. */
bool intake_receive(struct intake *in, int fd);

/** The next packet of the batch. False: that was all. */
bool intake_next(struct intake *in, struct intake_packet *p);

/** The batch was full: the socket may hold more. */
bool intake_full(const struct intake *in);

/** The number of drops by the kernel at the socket last read, for its
 * buffer was full, when the last packet handed out came; modulo 2^32. A train
 * is dropped whole and counts once. 0: nothing yet, or not known. */
uint32_t intake_drops(const struct intake *in);

/* --- control data --- */

/*
 * The kernel reports with a datagram: when it came, how many were dropped
 * before it, how long the packets of a train are.
 */

/** Room for all of it. */
#define CONTROL_BYTES                                                          \
	(CMSG_SPACE(sizeof(struct timespec)) + CMSG_SPACE(sizeof(uint32_t)) +  \
	 CMSG_SPACE(sizeof(int)))

/** Turns real time, in which the kernel stamps, into CLOCK_MONOTONIC. */
struct control_clock {
	cr_ns now;
	cr_ns skew; /**< real time minus monotonic */
};

struct control {
	cr_ns arrival;	/**< CLOCK_MONOTONIC, not after clock.now; if the kernel
			 * did not stamp it, clock.now */
	uint32_t drops; /**< see inlet_packet.drops */
	size_t stride;	/**< octets of a train's packets; 0: it is none */
};

/** Read both clocks: once a batch is enough. */
void control_clock_read(struct control_clock *clock);

/** Read the control data of @m. */
void control_read(const struct msghdr *m, const struct control_clock *clock,
		  struct control *out);

/* --- many sockets --- */

struct inlet;

/** A packet up to this length comes whole. Of a longer one, which comes too, at
 * least one octet more does. */
#define INLET_BYTES 2048u

/** The tag of packets whose socket was removed before they were handed out. No
 * socket may have it. */
#define INLET_GONE UINT64_MAX

struct inlet_packet {
	struct intake_packet
		packet; /**< its data: until the next inlet_next() */
	uint64_t tag;	/**< of the socket it came to, or INLET_GONE */
	/** The number of drops by the kernel at that socket, for its
	 * buffer was full; modulo 2^32. A train counts once. 0: never, or not
	 * known. */
	uint32_t drops;
};

/** The kind of traffic of a socket. */
enum inlet_traffic {
	INLET_ONE,  /**< packets of one peer: now and then one   */
	INLET_MANY, /**< of many, with trains                    */
};

/** 0, or -errno with @e: out of memory or descriptors; @io is UDP_IO_URING and
 * cannot be had. UDP_IO_AUTO takes the fastest that can. */
int inlet_open(struct inlet **in, enum udp_io io, struct cr_err *e);
void inlet_close(struct inlet *in); /**< the sockets stay open; NULL is fine */

/** The choice that was made: UDP_IO_URING or UDP_IO_EPOLL. Any thread. */
enum udp_io inlet_io(const struct inlet *in);

/** Receive from @fd (see udp_socket()), too; packets may come before this
 * returns. 0 with *@key, or -errno with @e. */
int inlet_add(struct inlet *in, int fd, uint64_t tag,
	      enum inlet_traffic traffic, uint64_t *key, struct cr_err *e);

/** Receive no more from the socket @key of inlet_add(). The receiving thread
 * may still hand out packets of it in the turn it is in, or in the next one,
 * with its tag or as INLET_GONE. Those that it has not taken stay in the socket
 * (udp_socket_end()): each packet is in one of the two.
 * The caller may close the descriptor when the turn that may have begun before
 * this call has ended (an RCU grace period, if turns are read-side critical
 * sections from before the first inlet_next()). */
void inlet_del(struct inlet *in, uint64_t key);

/** Receive no more from the socket @key, but lose nothing: what was received is
 * handed out with its tag, what was not stays in the socket, for another
 * process perhaps. When inlet_paused() has counted it, all of that was handed
 * out by the end of the turn (an RCU grace period, as above). inlet_del() comes
 * next. */
void inlet_pause(struct inlet *in, uint64_t key);

/** How many sockets have been paused, and are read no more. Any thread. */
unsigned inlet_paused(const struct inlet *in);

/**
 * Wait until there may be packets, but not longer than @timeout (CR_NEVER). 1;
 * 0: time is over, or inlet_wake() came; or -errno: nothing can be received any
 * more, now and later, and only inlet_leave() and inlet_close() may follow.
 *
 * Signals and a moment's want of memory are no errors. Errors are -EAGAIN,
 * -EBUSY, -ENOMEM: the kernel was out of memory a thousand times in a row, in a
 * second or more; -EBADR: for want of memory it does not know some packets or
 * ends of requests, so a socket might never be heard again; any other: it
 * refuses what it granted at first (a sandbox that was set up later).
 */
int inlet_wait(struct inlet *in, cr_ns timeout);

/** The next packet. False: the turn is over. Never blocks. */
bool inlet_next(struct inlet *in, struct inlet_packet *p);

/** The tag of the packet that comes @n places behind the next one, as far as
 * is known: to fetch into the cache the memory that it will need. 0: not
 * known. The receiving thread. */
uint64_t inlet_ahead(struct inlet *in, unsigned n);

/** Give up all sockets, as the receiving thread's last act, so that closing
 * them frees their ports at once. Without it, closing the inlet does so, some
 * milliseconds later. */
void inlet_leave(struct inlet *in);

/** Let the inlet_wait() under way return, or the next one. */
void inlet_wake(struct inlet *in);

/**
 * For a thread that adds and removes many: from now on the receiving thread is
 * not woken for each, but by inlet_notify(), once. A wake is two switches of
 * threads, where all are on one CPU. Meanwhile it does as it finds the time,
 * and what comes to a new socket waits there. The thread that adds and removes;
 * pairs may nest.
 */
void inlet_gather(struct inlet *in);
void inlet_notify(struct inlet *in);

/** As inlet_wake(), of the thread that adds and removes: with the rest of what
 * it gathers. */
void inlet_wake_too(struct inlet *in);

/* --- sockets by key --- */

/*
 * The sockets of an inlet by key. A key names a place and its generation, so
 * that what comes late for a socket that was removed finds nothing, not its
 * successor.
 *
 * Thread rule: one thread adds and removes, another one looks up, without a
 * lock.
 */

#define SOCKETS_CHUNK 1024u
#define SOCKETS_CHUNKS 1024u

struct sockets_place;

/** Zero is empty. */
struct sockets {
	struct sockets_place *_Atomic chunk[SOCKETS_CHUNKS];
	/* the thread that adds */
	uint32_t used; /**< places that were ever taken          */
	uint32_t free; /**< the first of the free ones, plus one */
};

/** A socket of an inlet. */
struct sockets_entry {
	int fd;
	uint64_t tag;
};

/** 0 with *@key, which is never 0, or -ENOMEM. */
int sockets_add(struct sockets *s, const struct sockets_entry *entry,
		uint64_t *key);
/** @key was added and not removed. */
void sockets_del(struct sockets *s, uint64_t key);
/** Its descriptor is -1 from now on; its tag stays. */
void sockets_pause(struct sockets *s, uint64_t key);
/** False: it was removed. */
bool sockets_find(const struct sockets *s, uint64_t key,
		  struct sockets_entry *entry);
/** Free the memory. */
void sockets_fini(struct sockets *s);

#endif
