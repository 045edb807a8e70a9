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
#include "feeder/talk.h"
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
	if (tag != ANY_CALL && tag != (uintptr_t)c) {
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
	else if (tag != ANY_CALL && owner->heard)
		hear_packet(r, owner, &p, in);
	else if (tag != ANY_CALL && owner->by_port)
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

/* What a person can do about it, beside what udp_socket() says. */
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
		 const struct feeder_call *call, struct cr_err *e)
{
	int rc;

	if (port->fd < 0)
		return 0;
	rc = inlet_add(p->receiver->in, port->fd, (uintptr_t)call, INLET_ONE,
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
