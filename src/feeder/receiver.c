/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receiving thread and its table of SSRCs: open addressing, written by the
 * main thread only, read without a lock; entries are never removed.
 */
#include "feeder/receiver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/address.h"
#include "base/clock.h"
#include "base/thread.h"
#include "feeder/dump.h"
#include "udp/inlet.h"

#define NAP (2 * CR_MS)

struct receiver {
	struct thread thread;
	struct inlet *in;
	atomic_uint_fast64_t turns; /* ended; thread */
	/* main stores (release), thread loads (acquire) */
	struct feeder_call *_Atomic *table;
	size_t mask;

	/* thread */
	struct receiver_stats stats;
};

static size_t hash_place(const struct receiver *r, uint32_t ssrc)
{
	return (size_t)(ssrc * UINT32_C(0x9e3779b1)) & r->mask;
}

static struct feeder_call *find_by_ssrc(const struct receiver *r, uint32_t ssrc)
{
	for (size_t i = hash_place(r, ssrc);; i = (i + 1) & r->mask) {
		struct feeder_call *c = atomic_load_explicit(
			&r->table[i], memory_order_acquire);

		if (!c || c->ssrc_out == ssrc)
			return c;
	}
}

int receiver_add(struct receiver *r, struct feeder_call *call)
{
	size_t i = hash_place(r, call->ssrc_out);

	if (find_by_ssrc(r, call->ssrc_out))
		return -EEXIST;
	while (atomic_load_explicit(&r->table[i], memory_order_relaxed))
		i = (i + 1) & r->mask;
	atomic_store_explicit(&r->table[i], call, memory_order_release);
	return 0;
}

/* Of a conversation: its port says whose it is, whatever its SSRC. */
static void hear_packet(struct receiver *r, struct feeder_call *c,
			const struct rtp_packet *p,
			const struct intake_packet *in)
{
	uint64_t index;

	if (address_port(in->from) != address_port(&c->from))
		r->stats.asymmetric++;
	if (!heard_packet(c->heard, p, &index))
		return;
	match_heard(c->match, p, index, in->arrival);
	/* a daemon that jumps cannot make a file of any size */
	if (c->dump && index < 2 * c->plan->frames)
		dump_put(c->dump, index, p->payload, p->payload_bytes);
}

static void match_packet(struct feeder_call *c, const struct rtp_packet *p,
			 cr_ns arrival)
{
	uint64_t index;

	if (match_received(c->match, p, arrival, &index) && c->dump &&
	    c->match->latest <= c->playout)
		dump_put(c->dump, index, p->payload, p->payload_bytes);
}

/* Of a call by NG: its port says whose it is. */
static void take_own(struct receiver *r, struct feeder_call *c,
		     const struct rtp_packet *p, const struct intake_packet *in)
{
	if (address_port(in->from) != address_port(&c->from))
		r->stats.asymmetric++;
	if (p->pt == c->pt_out)
		match_packet(c, p, in->arrival);
	else
		r->stats.foreign++;
}

/* Of calls: their SSRCs say whose it is. */
static void admit_call(struct receiver *r, const struct intake_packet *in,
		       const struct rtp_packet *p, uint64_t tag)
{
	struct feeder_call *c = find_by_ssrc(r, p->ssrc);

	if (!c) {
		r->stats.unknown_ssrc++;
		return;
	}
	if (tag != RECEIVER_ANY_CALL && tag != receiver_tag(c)) {
		r->stats.misdirected++;
		return;
	}
	if (address_port(in->from) != address_port(&c->to))
		r->stats.asymmetric++;
	match_packet(c, p, in->arrival);
}

static void take_answer(struct receiver *r, const struct intake_packet *in,
			uint64_t tag)
{
	struct feeder_call *owner = (void *)(uintptr_t)tag;
	struct rtp_packet p;
	int rc = rtp_parse(in->data, in->bytes, &p);

	r->stats.packets++;
	if (rc == RTP_IS_RTCP)
		r->stats.rtcp++;
	else if (rc)
		r->stats.malformed++;
	else if (tag != RECEIVER_ANY_CALL && owner->heard)
		hear_packet(r, owner, &p, in);
	else if (tag != RECEIVER_ANY_CALL && owner->by_port)
		take_own(r, owner, &p, in);
	else
		admit_call(r, in, &p, tag);
}

/* All there is. False: that was nothing. */
static bool poll_receiver(struct receiver *r)
{
	struct inlet_packet p;
	bool any = false;

	(void)inlet_wait(r->in, 0);
	while (inlet_next(r->in, &p)) {
		if (p.tag != INLET_GONE) /* its call is over */
			take_answer(r, &p.packet, p.tag);
		any = true;
	}
	/* release, pairs with receiver_turns() */
	atomic_fetch_add_explicit(&r->turns, 1, memory_order_release);
	return any;
}

static void *run_receiver(void *arg)
{
	struct receiver *r = arg;
	const struct timespec nap = { .tv_nsec = NAP };

	while (!thread_must_stop(&r->thread)) {
		(void)poll_receiver(r);
		(void)nanosleep(&nap, NULL);
	}
	while (poll_receiver(r))
		;
	r->stats.cpu = clock_thread_cpu();
	return NULL;
}

int receiver_open(struct receiver **out, size_t calls, int cpu, enum udp_io io,
		  struct cr_err *e)
{
	struct receiver *r = calloc(1, sizeof(*r));
	size_t room = 64;
	int rc;

	if (!r)
		return cr_fail(e, -ENOMEM, "out of memory");
	while (room < 2 * calls)
		room *= 2;
	r->mask = room - 1;
	r->table = calloc(room, sizeof(*r->table));
	rc = inlet_open(&r->in, io, e);
	if (rc) {
		receiver_close(r);
		return rc;
	}
	rc = r->table ? thread_start(&r->thread, run_receiver, r, cpu)
		      : -ENOMEM;
	if (rc) {
		receiver_close(r);
		return cr_fail(e, rc, "receiving thread: %s", strerror(-rc));
	}
	*out = r;
	return 0;
}

int receiver_listen(struct receiver *r, int fd, uint64_t tag, uint64_t *key,
		    struct cr_err *e)
{
	return inlet_add(r->in, fd, tag,
			 tag == RECEIVER_ANY_CALL ? INLET_MANY : INLET_ONE, key,
			 e);
}

/* Packets of it may come in the turn under way, and in the next one. */
uint64_t receiver_forget(struct receiver *r, uint64_t key)
{
	inlet_del(r->in, key);
	return receiver_turns(r) + 2;
}

uint64_t receiver_turns(const struct receiver *r)
{
	return atomic_load_explicit(&r->turns, memory_order_acquire);
}

void receiver_stop(struct receiver *r)
{
	thread_stop(&r->thread);
}

void receiver_stats(const struct receiver *r, struct receiver_stats *out)
{
	*out = r->stats;
}

void receiver_close(struct receiver *r)
{
	if (!r)
		return;
	receiver_stop(r);
	inlet_close(r->in);
	free((void *)r->table);
	free(r);
}
