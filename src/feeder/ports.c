/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receiving thread and its table of SSRCs: open addressing, written by the
 * main thread only, read without a lock; entries are never removed.
 *
 * Ports are closed late: that thread may be in a turn that hands out packets of
 * a socket that it is told to forget.
 */
#include "feeder/ports.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/address.h"
#include "base/clock.h"
#include "base/descriptors.h"
#include "base/thread.h"
#include "feeder/dump.h"
#include "feeder/feeder_call.h"
#include "udp/inlet.h"
#include "udp/socket.h"

/* The tag of a socket at which all calls receive; of others it is the call. */
#define ANY_CALL UINT64_C(0)
#define NAP (2 * CR_MS)

struct receiver {
	struct thread thread;
	struct inlet *in;
	atomic_uint_fast64_t turns; /* ended; thread */
	/* main stores (release), thread loads (acquire) */
	struct feeder_stream *_Atomic *table;
	size_t mask;

	/* thread */
	struct receiver_stats stats;
};

static size_t hash_place(const struct receiver *r, uint32_t ssrc)
{
	return (size_t)(ssrc * UINT32_C(0x9e3779b1)) & r->mask;
}

static struct feeder_stream *find_by_ssrc(const struct receiver *r,
					  uint32_t ssrc)
{
	for (size_t i = hash_place(r, ssrc);; i = (i + 1) & r->mask) {
		struct feeder_stream *st = atomic_load_explicit(
			&r->table[i], memory_order_acquire);

		if (!st || st->ssrc_out == ssrc)
			return st;
	}
}

int receiver_add(struct receiver *r, struct feeder_stream *st)
{
	size_t i = hash_place(r, st->ssrc_out);

	if (find_by_ssrc(r, st->ssrc_out))
		return -EEXIST;
	while (atomic_load_explicit(&r->table[i], memory_order_relaxed))
		i = (i + 1) & r->mask;
	atomic_store_explicit(&r->table[i], st, memory_order_release);
	return 0;
}

/* New speech of @st, or not. */
static void take_answer(struct receiver *r, struct feeder_stream *st,
			const struct rtp_packet *p, cr_ns arrival)
{
	uint64_t index;
	bool kept;

	if (st->heard) {
		if (!heard_packet(st->heard, p, &index))
			return;
		match_heard(st->match, p, index, arrival);
		/* a daemon that jumps cannot make a file of any size */
		kept = index < 2 * st->plan->frames;
	} else if (st->by_port && p->pt != st->pt_out) {
		r->stats.foreign++;
		return;
	} else {
		kept = match_received(st->match, p, arrival, &index) &&
		       st->match->latest <= st->playout;
	}
	if (kept && st->dump)
		dump_put(st->dump, index, p->payload, p->payload_bytes);
}

/* Of two-way calls and by NG, the port says whose a packet is; of other calls
 * its SSRC. */
static void sort_packet(struct receiver *r, const struct intake_packet *in,
			uint64_t tag)
{
	struct feeder_stream *owner = (void *)(uintptr_t)tag, *st = owner;
	bool by_port = tag != ANY_CALL && (owner->heard || owner->by_port);
	struct rtp_packet p;
	int rc = rtp_parse(in->data, in->bytes, &p);

	r->stats.packets++;
	if (rc == RTP_IS_RTCP) {
		r->stats.rtcp++;
		return;
	}
	if (rc) {
		r->stats.malformed++;
		return;
	}
	if (!by_port)
		st = find_by_ssrc(r, p.ssrc);
	if (!st) {
		r->stats.unknown_ssrc++;
		return;
	}
	if (tag != ANY_CALL && st != owner) {
		r->stats.misdirected++;
		return;
	}
	if (address_port(in->from) !=
	    address_port(by_port ? &st->from : &st->to))
		r->stats.asymmetric++;
	take_answer(r, st, &p, in->arrival);
}

/* All there is. False: that was nothing. */
static bool poll_receiver(struct receiver *r)
{
	struct inlet_packet p;
	bool any = false;

	(void)inlet_wait(r->in, 0);
	while (inlet_next(r->in, &p)) {
		if (p.tag != INLET_GONE) /* its call is over */
			sort_packet(r, &p.packet, p.tag);
		any = true;
	}
	/* release, pairs with turns_of() */
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

int receiver_open(struct receiver **out, size_t streams, int cpu,
		  enum udp_io io, struct cr_err *e)
{
	struct receiver *r = calloc(1, sizeof(*r));
	size_t room = 64;
	int rc;

	if (!r)
		return cr_fail(e, -ENOMEM, "out of memory");
	while (room < 2 * streams)
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

/* --- ports --- */

/* Descriptors for control, files, and what libraries open. */
#define OTHERS 32u

static int open_port(struct ports *p, struct port *port,
		     char address[PORT_TEXT], struct cr_err *e)
{
	struct sockaddr_storage a = p->local;
	socklen_t n = sizeof(a);
	int fd = udp_socket(&a, e);

	if (fd < 0)
		return fd;
	(void)getsockname(fd, (struct sockaddr *)&a, &n);
	(void)address_text(&a, address, PORT_TEXT);
	*port = (struct port){ .fd = fd };
	return 0;
}

int ports_open(struct ports *p, enum campaign_ports layout,
	       const struct sockaddr_storage *local, struct cr_err *e)
{
	*p = (struct ports){ .layout = layout,
			     .local = *local,
			     .common = { .fd = -1 } };
	p->last = &p->first;
	return open_port(p, &p->common, p->address, e);
}

int ports_receive(struct ports *p, struct receiver *r, struct cr_err *e)
{
	p->receiver = r;
	if (p->layout == PORTS_OWN)
		return 0;
	p->common.heard = true;
	return inlet_add(r->in, p->common.fd, ANY_CALL, INLET_MANY,
			 &p->common.key, e);
}

static const char *remedy_for(bool may_share)
{
	return may_share ? "use --ports shared" : "have fewer calls at once";
}

int ports_check(enum campaign_ports layout, size_t calls, bool may_share,
		struct cr_err *e)
{
	uint64_t limit = descriptors_limit();

	if (layout != PORTS_OWN || calls + OTHERS <= limit)
		return 0;
	return cr_fail(e, -EMFILE,
		       "up to %zu calls at once, each with a port of its own, "
		       "need %llu file descriptors, and this process may have "
		       "%llu: raise the limit (ulimit -Hn, ulimit -n), or %s",
		       calls, (unsigned long long)calls + OTHERS,
		       (unsigned long long)limit, remedy_for(may_share));
}

/* Add advice for the user to the error of udp_socket(). */
static int explain_socket(int err, bool may_share, struct cr_err *e)
{
	struct cr_err why = *e;

	if (err != -EMFILE && err != -ENFILE && err != -EADDRINUSE)
		return err;
	return cr_fail(e, err, "%.400s; or %s", why.text,
		       remedy_for(may_share));
}

int ports_give(struct ports *p, struct port *port, char address[PORT_TEXT],
	       struct cr_err *e)
{
	int rc = 0;

	if (p->layout == PORTS_OWN)
		rc = open_port(p, port, address, e);
	else
		(void)snprintf(address, PORT_TEXT, "%s", p->address);
	return rc ? explain_socket(rc, true, e) : 0;
}

int ports_give_own(struct ports *p, struct port *port, char address[PORT_TEXT],
		   struct cr_err *e)
{
	int rc = open_port(p, port, address, e);

	return rc ? explain_socket(rc, false, e) : 0;
}

int ports_listen(struct ports *p, struct port *port,
		 const struct feeder_stream *st, struct cr_err *e)
{
	int rc;

	if (port->fd < 0)
		return 0;
	rc = inlet_add(p->receiver->in, port->fd, (uintptr_t)st, INLET_ONE,
		       &port->key, e);
	port->heard = !rc;
	return rc;
}

static uint64_t turns_of(const struct receiver *r)
{
	return atomic_load_explicit(&r->turns, memory_order_acquire);
}

void ports_take_back(struct ports *p, struct port *port)
{
	if (port->fd < 0)
		return;
	if (!port->heard) {
		ports_drop(p, port);
		return;
	}
	/* packets of it may come in the turn under way, and in the next one */
	inlet_del(p->receiver->in, port->key);
	port->turn = turns_of(p->receiver) + 2;
	port->heard = false;
	port->next = NULL;
	*p->last = port;
	p->last = &port->next;
}

void ports_tidy(struct ports *p)
{
	while (p->first && turns_of(p->receiver) >= p->first->turn) {
		struct port *port = p->first;

		p->first = port->next;
		if (!p->first)
			p->last = &p->first;
		ports_drop(p, port);
	}
}

void ports_drop(struct ports *p, struct port *port)
{
	if (port->fd < 0)
		return;
	p->drops += udp_socket_drops(port->fd);
	(void)close(port->fd);
	port->fd = -1;
}

void ports_close(struct ports *p)
{
	ports_drop(p, &p->common);
	p->first = NULL;
	p->last = &p->first;
}

int ports_fd(const struct ports *p, const struct port *port)
{
	return p->layout == PORTS_OWN ? port->fd : p->common.fd;
}
