/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A receiver: its thread.
 *
 * It outranks the workers where it may (real-time priority): otherwise packets
 * die in the socket while every scheduler looks the same (thesis 6.1).
 */
#define _GNU_SOURCE
#include "media/rx.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "base/thread.h"
#include "media/endpoint_rtcp.h"
#include "media/pace.h"
#include "udp/socket.h"

/* Calls released under one lock: workers wait meanwhile. */
#define RELEASES 16u

/* Packets of a turn before stop and the reclaim of calls get a look. */
#define TAKEN_MAX 256u
/* Timers taken at a time. */
#define TIMERS 64u
/* The tag of the shared socket; those of ports are names of endpoints. */
#define TAG_SHARED UINT64_C(0)

/* Its alignment keeps other receivers off the lines that this one writes. */
struct rx {
	struct rx_config cfg;
	_Alignas(CACHE_LINE) struct packet_path path;
	struct inlet *in;
	struct wheel wheel; /* of its endpoints */
	struct endpoint_rtcp_sums rtcp;
	pthread_t thread;
	atomic_bool stop; /* release, pairs with rx_main() */
	uint32_t drops;	  /* of the shared socket, counted so far */
	struct pace pace;
	struct live_task *release[RELEASES];
	unsigned nrelease;
	uint64_t handed; /* to receivers that are not told yet, by number */
	struct relay_burst relays;
};

static void release(struct rx *rx)
{
	if (rx->nrelease)
		live_release(rx->cfg.live, rx->release, rx->nrelease);
	rx->nrelease = 0;
}

/* Of @drops altogether, those that were not @seen yet. */
static void count_drops(atomic_ullong *count, uint32_t *seen, uint32_t drops)
{
	if (!drops || drops == *seen)
		return;
	call_count(count, drops - *seen);
	*seen = drops;
}

/* At the port of @endpoint; @c: of whom it feeds, or NULL. */
static void count_endpoint_drops(struct endpoint *endpoint,
				 struct call_counters *c, uint32_t drops)
{
	count_drops(c ? &c->port_drops : &endpoint->port_drops,
		    &endpoint->drops, drops);
}

static struct call_counters *fed_by(const struct endpoint *endpoint)
{
	struct relay *r = endpoint_relayer(endpoint);
	struct call *c = endpoint_listener(endpoint);

	if (r)
		return &r->count;
	return c ? &c->count : NULL;
}

/* @c, which is to be released, or NULL. */
static void collect(struct rx *rx, struct call *c)
{
	if (!c)
		return;
	call_fetch_for_release(c);
	rx->release[rx->nrelease++] = &c->lt;
	if (rx->nrelease == RELEASES)
		release(rx);
}

static void take(struct rx *rx, const struct inlet_packet *p)
{
	struct endpoint *endpoint = NULL;

	if (p->tag != TAG_SHARED) {
		endpoint = p->tag == INLET_GONE
				   ? NULL
				   : endpoints_find(rx->cfg.endpoints, p->tag);
		if (!endpoint) { /* it came while its endpoint ended */
			packet_count_stray(&rx->path);
			return;
		}
	}
	if (endpoint && p->tag & ENDPOINTS_RTCP) {
		count_drops(&endpoint->port_drops, &endpoint->rtcp->drops,
			    p->drops);
		packet_take_rtcp(&rx->path, &p->packet, endpoint);
		return;
	}
	if (endpoint)
		count_endpoint_drops(endpoint, fed_by(endpoint), p->drops);
	else
		count_drops(&rx->path.count.socket_drops, &rx->drops, p->drops);
	collect(rx, packet_take(&rx->path, &p->packet, endpoint));
}

/* At whose port the packet is that comes @n places behind the next one. */
static const struct endpoint *endpoint_ahead(const struct rx *rx, unsigned n)
{
	uint64_t tag = inlet_ahead(rx->in, n);

	return tag && tag != INLET_GONE ? endpoints_find(rx->cfg.endpoints, tag)
					: NULL;
}

/* Packets are of another call each, and what one needs hangs on each other: a
 * endpoint, what that feeds. So they are fetched into the cache one step for
 * each packet before. */
static void fetch_ahead(const struct rx *rx)
{
	const struct endpoint *second = endpoint_ahead(rx, 1),
			      *first = endpoint_ahead(rx, 0);
	const struct relay *r = first ? endpoint_relayer(first) : NULL;
	const struct call *c = first ? endpoint_listener(first) : NULL;

	if (second)
		endpoint_fetch(second);
	if (r && relay_is_on(r))
		relay_fetch(r);
	else if (c)
		call_fetch_for_packet(c);
}

/* What others were given for calls of this one, up to TAKEN_MAX packets. */
static unsigned take_handed(struct rx *rx)
{
	struct handover *box = rx->cfg.box ? rx->cfg.box[rx->cfg.number] : NULL;
	const struct intake_packet *p;
	unsigned n = 0;

	while (box && n < TAKEN_MAX && (p = handover_first(box))) {
		collect(rx, packet_take_handed(&rx->path, p));
		handover_done(box);
		n++;
	}
	return n;
}

static void hand_over(struct packet_path *path, unsigned receiver,
		      const struct intake_packet *in)
{
	struct rx *rx = (void *)((char *)path - offsetof(struct rx, path));

	if (!handover_put(rx->cfg.box[receiver], in)) {
		call_count(&path->count.handover_drops, 1);
		return;
	}
	call_count(&path->count.handed_over, 1);
	rx->handed |= UINT64_C(1) << receiver;
}

static void report_others(struct rx *rx)
{
	for (; rx->handed; rx->handed &= rx->handed - 1)
		handover_wake(rx->cfg.box[__builtin_ctzll(rx->handed)]);
}

/* Whatever it answers, there is a tick between two calls: an endpoint that is
 * behind does not keep the others waiting. */
static void poll_endpoint(struct rx *rx, struct endpoint *l, cr_ns now)
{
	/* whoever listens says anew what it waits for */
	l->poll_at = l->due[ENDPOINT_RECEIVE_STAGE] = CR_NEVER;
	collect(rx, packet_poll(&rx->path, l, now));
	endpoint_wait(l, ENDPOINT_OWN,
		      cr_ns_max(endpoint_poll(l, now), now + 1));
}

/* What endpoints wait for at @now. */
static void take_timers(struct rx *rx, cr_ns now)
{
	struct wheel_entry *due[TIMERS];
	unsigned n;

	do {
		n = wheel_take(&rx->wheel, now, due, TIMERS);
		for (unsigned i = 0; i < n; i++)
			poll_endpoint(rx, endpoint_of_timer(due[i]), now);
	} while (n == TIMERS);
}

/* Up to TAKEN_MAX packets, and as many from others; then what is due at @now.
 * Returns how many packets; fewer than TAKEN_MAX: the turn is over. The box
 * comes after the sockets: inlet_next() takes in the wake-ups for what was put
 * there before. */
static unsigned take_some(struct rx *rx, cr_ns now)
{
	struct inlet_packet p;
	unsigned n = 0;

	rcu_read_begin();
	while (n < TAKEN_MAX && inlet_next(rx->in, &p)) {
		fetch_ahead(rx);
		take(rx, &p);
		n++;
	}
	n += take_handed(rx);
	if (wheel_due(&rx->wheel) <= now)
		take_timers(rx, now);
	release(rx);
	relay_flush(&rx->relays);
	rcu_read_end();
	if (rx->handed)
		report_others(rx);
	return n;
}

/* CPU time of this thread, and of the workers where they have its CPU. */
static cr_ns used(const struct rx *rx)
{
	unsigned workers = live_nworkers(rx->cfg.live);
	cr_ns mine = clock_thread_cpu();

	if (!rx->cfg.shares_cpu || !workers)
		return mine;
	return mine + live_busy(rx->cfg.live) / workers;
}

/* After a turn of @packets that began at @began. */
static void pause_after(struct rx *rx, unsigned packets, cr_ns began)
{
	cr_ns t = rx->cfg.coalesce, now;
	struct timespec ts;

	if (t == RX_COALESCE_AUTO) {
		now = clock_now();
		if (pace_due(&rx->pace, now))
			pace_look(&rx->pace, now, used(rx));
		t = pace_wait(&rx->pace, packets, began, now);
	}
	ts = (struct timespec){ t / CR_SEC, t % CR_SEC };
	if (t)
		(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
}

static bool stopping(const struct rx *rx)
{
	return atomic_load_explicit(&rx->stop, memory_order_acquire);
}

/* All that there is; the turn began at @now. Returns how many packets. */
static unsigned take_turn(struct rx *rx, cr_ns now)
{
	unsigned n = 0, some;

	do {
		if (n)
			now = clock_now();
		some = take_some(rx, now);
		n += some;
	} while (some >= TAKEN_MAX && !stopping(rx));
	return n;
}

/* Until there are packets, or a timer is due. */
static int wait_for_work(struct rx *rx)
{
	cr_ns due = wheel_due(&rx->wheel);

	return inlet_wait(rx->in, due == CR_NEVER
					  ? CR_NEVER
					  : cr_ns_max(due - clock_now(), 0));
}

static void name_thread(unsigned number)
{
	char name[16] = "cr-rx";

	if (number)
		(void)snprintf(name, sizeof(name), "cr-rx%u", number);
	(void)pthread_setname_np(pthread_self(), name);
}

/* A turn without packets was a wake-up for something else, a timer perhaps: no
 * pause. What came during the pause makes inlet_wait() return at once, and when
 * nothing came it blocks. */
static void *rx_main(void *arg)
{
	struct rx *rx = arg;
	int rc = 0;

	name_thread(rx->cfg.number);
	(void)prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
	rcu_register_thread();
	while (!stopping(rx) && (rc = wait_for_work(rx)) >= 0) {
		cr_ns began = clock_now();
		unsigned packets = take_turn(rx, began);

		if (packets && !stopping(rx))
			pause_after(rx, packets, began);
	}
	inlet_leave(rx->in);
	if (rc < 0 && rx->cfg.failed)
		rx->cfg.failed(rx->cfg.arg, rx->cfg.number, rc);
	rcu_unregister_thread();
	return NULL;
}

/* Affinity before the thread runs; real-time priority if it is granted. */
static void place(struct rx *rx, struct cr_err *warn)
{
	struct sched_param prio = { .sched_priority = rx->cfg.rt_priority };
	cpu_set_t set;
	int err;

	if (rx->cfg.cpu >= 0) {
		CPU_ZERO(&set);
		CPU_SET((unsigned)rx->cfg.cpu, &set);
		err = pthread_setaffinity_np(rx->thread, sizeof(set), &set);
		if (err)
			(void)cr_fail(warn, -err,
				      "receiver not pinned to CPU %d: %s",
				      rx->cfg.cpu, strerror(err));
	}
	if (!rx->cfg.rt_priority)
		return;
	err = pthread_setschedparam(rx->thread, SCHED_FIFO, &prio);
	if (err)
		(void)cr_fail(warn, -err,
			      "receiver without real-time priority %d: %s; "
			      "it needs CAP_SYS_NICE or an rtprio limit",
			      rx->cfg.rt_priority, strerror(err));
}

static void rx_free(struct rx *rx)
{
	burst_close(&rx->relays.burst);
	inlet_close(rx->in);
	wheel_fini(&rx->wheel);
	free(rx);
}

int rx_open(struct rx **out, const struct rx_config *cfg, struct cr_err *warn,
	    struct cr_err *e)
{
	struct rx *rx = aligned_alloc(CACHE_LINE, sizeof(*rx));
	uint64_t key;
	int err;

	if (!rx)
		return cr_fail(e, -ENOMEM, "out of memory for a receiver");
	memset(rx, 0, sizeof(*rx));
	rx->cfg = *cfg;
	rx->path.receiver = cfg->number;
	rx->path.hand_over = hand_over;
	rx->path.table = cfg->table;
	rx->path.trace = cfg->trace;
	wheel_init(&rx->wheel, clock_now());
	rx->path.relays = &rx->relays;
	err = inlet_open(&rx->in, cfg->io, e);
	if (!err)
		burst_open(&rx->relays.burst, inlet_io(rx->in));
	if (!err && cfg->fd >= 0)
		err = inlet_add(rx->in, cfg->fd, TAG_SHARED,
				cfg->one_of_many ? INLET_ONE : INLET_MANY, &key,
				e);
	if (!err && cfg->box)
		handover_owned(cfg->box[cfg->number], rx->in);
	if (!err) {
		err = thread_create(&rx->thread, NULL, rx_main, rx);
		if (err)
			(void)thread_fail(e, err, "a receiver");
	}
	if (err) {
		rx_free(rx);
		return err;
	}
	place(rx, warn);
	*out = rx;
	return 0;
}

void rx_stop(struct rx *rx)
{
	if (atomic_exchange_explicit(&rx->stop, true, memory_order_release))
		return;
	inlet_wake(rx->in);
	(void)pthread_join(rx->thread, NULL);
}

void rx_close(struct rx *rx)
{
	if (!rx)
		return;
	rx_stop(rx);
	rx_free(rx);
}

static bool has_rtcp_port(const struct endpoint *l)
{
	return l->rtcp && l->rtcp->cfg.mode == ENDPOINT_RTCP_PORT;
}

static int add_ports(struct rx *rx, struct endpoint *l, struct cr_err *e)
{
	int err = inlet_add(rx->in, l->cfg.fd, l->key, INLET_ONE, &l->port_key,
			    e);

	if (err || !has_rtcp_port(l))
		return err;
	err = inlet_add(rx->in, l->rtcp->cfg.fd, l->key | ENDPOINTS_RTCP,
			INLET_ONE, &l->rtcp->port_key, e);
	if (err)
		inlet_del(rx->in, l->port_key);
	return err;
}

int rx_add_endpoint(struct rx *rx, struct endpoint *l, struct cr_err *e)
{
	int err;

	if (l->rtcp)
		l->rtcp->sums = &rx->rtcp;
	inlet_gather(rx->in);
	if (endpoint_begin_polls(l, &rx->wheel))
		inlet_wake_too(rx->in);
	err = add_ports(rx, l, e);
	inlet_notify(rx->in);
	if (err)
		endpoint_end_polls(l);
	return err;
}

void rx_del_endpoint(struct rx *rx, struct endpoint *l)
{
	inlet_del(rx->in, l->port_key);
	if (has_rtcp_port(l))
		inlet_del(rx->in, l->rtcp->port_key);
	endpoint_end_polls(l);
}

void rx_gather(struct rx *rx)
{
	inlet_gather(rx->in);
}

void rx_notify(struct rx *rx)
{
	inlet_notify(rx->in);
}

void rx_count_rest(struct endpoint *l, struct call_counters *c)
{
	call_count(c ? &c->unread : &l->unread, udp_socket_end(l->cfg.fd));
	count_endpoint_drops(l, c, udp_socket_drops(l->cfg.fd));
}

void rx_count_rtcp_rest(struct endpoint *l)
{
	if (!has_rtcp_port(l))
		return;
	call_count(&l->unread, udp_socket_end(l->rtcp->cfg.fd));
	count_drops(&l->port_drops, &l->rtcp->drops,
		    udp_socket_drops(l->rtcp->cfg.fd));
}

enum udp_io rx_io(const struct rx *rx)
{
	return inlet_io(rx->in);
}

const struct endpoint_rtcp_sums *rx_rtcp(const struct rx *rx)
{
	return &rx->rtcp;
}

const struct packet_counters *rx_counters(const struct rx *rx)
{
	return &rx->path.count;
}

cr_ns rx_cpu(const struct rx *rx)
{
	clockid_t id;

	return pthread_getcpuclockid(rx->thread, &id) ? 0 : clock_read(id);
}
