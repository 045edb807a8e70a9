/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receivers: the thread of each, how far apart its turns begin, the box of
 * packets that others hand over (a ring with one reader, and writers under a
 * lock), and which endpoint is with which of them.
 *
 * A receiver outranks the workers where it may (real-time priority): otherwise
 * packets die in the socket while every scheduler looks the same (thesis 6.1).
 */
#define _GNU_SOURCE
#include "media/rx.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/cache.h"
#include "base/clock.h"
#include "base/thread.h"
#include "media/endpoint.h"
#include "udp/socket.h"

/* --- from the load of its CPU to a gap --- */

#define PPM INT64_C(1000000)

/* Straight lines between these. */
static const struct {
	int64_t load; /* ppm */
	cr_ns gap;
} points[] = {
	{ 50000, 0 },
	{ 300000, 330 * CR_US },
	{ 750000, 330 * CR_US },
	{ 950000, PACE_GAP_MAX },
};
enum { POINTS = sizeof(points) / sizeof(points[0]) };

cr_ns pace_gap(int64_t load_ppm)
{
	unsigned i = 0;

	while (i < POINTS && points[i].load <= load_ppm)
		i++;
	if (i == 0)
		return 0;
	if (i == POINTS)
		return points[POINTS - 1].gap;
	return points[i - 1].gap +
	       (points[i].gap - points[i - 1].gap) *
		       (load_ppm - points[i - 1].load) /
		       (points[i].load - points[i - 1].load);
}

void pace_look(struct pace *p, cr_ns now, cr_ns used)
{
	cr_ns passed = now - p->looked;

	if (p->looked && passed > 0) {
		int64_t load = (used - p->used) * PPM / passed;

		/* what lies further back counts for less, and nothing after a
		 * long silence */
		p->load = passed > 4 * PACE_LOOK ? load : (p->load + load) / 2;
		p->gap = pace_gap(p->load);
	}
	p->looked = now;
	p->used = used;
}

/* --- handover --- */

#define SLOTS 256u

struct handover_slot {
	struct intake_packet packet; /* refers to the other two */
	struct sockaddr_storage from;
	uint8_t data[HANDOVER_BYTES];
};

struct handover {
	struct inlet *in;
	/* who puts */
	_Alignas(CACHE_LINE) pthread_mutex_t lock;
	atomic_uint head; /* release, pairs with handover_first() */
	/* the owner */
	_Alignas(CACHE_LINE) atomic_uint tail; /* release, with put() */
	_Alignas(CACHE_LINE) struct handover_slot slot[SLOTS];
};

struct handover *handover_new(void)
{
	struct handover *h = aligned_alloc(CACHE_LINE, sizeof(*h));

	if (!h)
		return NULL;
	/* slots are written before they are read; untouched ones cost nothing
	 */
	memset(h, 0, offsetof(struct handover, slot));
	(void)pthread_mutex_init(&h->lock, NULL);
	return h;
}

void handover_free(struct handover *h)
{
	if (!h)
		return;
	(void)pthread_mutex_destroy(&h->lock);
	free(h);
}

void handover_owned(struct handover *h, struct inlet *in)
{
	h->in = in;
}

bool handover_put(struct handover *h, const struct intake_packet *p)
{
	unsigned head;
	bool room;

	(void)pthread_mutex_lock(&h->lock);
	head = atomic_load_explicit(&h->head, memory_order_relaxed);
	room = head - atomic_load_explicit(&h->tail, memory_order_acquire) <
	       SLOTS;
	if (room) {
		struct handover_slot *s = &h->slot[head % SLOTS];

		memcpy(s->data, p->data, p->bytes);
		s->from = *p->from;
		s->packet = *p;
		s->packet.data = s->data;
		s->packet.from = &s->from;
		atomic_store_explicit(&h->head, head + 1, memory_order_release);
	}
	(void)pthread_mutex_unlock(&h->lock);
	return room;
}

void handover_wake(struct handover *h)
{
	inlet_wake(h->in);
}

bool handover_is_empty(const struct handover *h)
{
	return atomic_load_explicit(&h->tail, memory_order_acquire) ==
	       atomic_load_explicit(&h->head, memory_order_acquire);
}

const struct intake_packet *handover_first(struct handover *h)
{
	unsigned tail = atomic_load_explicit(&h->tail, memory_order_relaxed);

	if (tail == atomic_load_explicit(&h->head, memory_order_acquire))
		return NULL;
	return &h->slot[tail % SLOTS].packet;
}

void handover_done(struct handover *h)
{
	unsigned tail = atomic_load_explicit(&h->tail, memory_order_relaxed);

	atomic_store_explicit(&h->tail, tail + 1, memory_order_release);
}

/* --- one receiver --- */

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
	/* control: the key of its socket of the shared port (0: none), and
	 * sockets that were paused so far */
	uint64_t shared;
	unsigned paused;
	uint32_t drops; /* of the shared socket, counted so far */
	struct pace pace;
	struct live_task *release[RELEASES];
	unsigned nrelease;
	uint64_t handed; /* to receivers not yet woken, by number */
	struct relay_burst relays;
};

static void release_pending(struct rx *rx)
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
	counter_add(count, drops - *seen);
	*seen = drops;
}

static void count_endpoint_drops(struct endpoint *endpoint, uint32_t drops)
{
	struct stream *s = endpoint_stream(endpoint);

	count_drops(s ? &s->account->count.port_drops : &endpoint->port_drops,
		    &endpoint->drops, drops);
}

/* Fetch into the cache what the release of @c is about to write: a worker had
 * it last, and the run queue's lock should not be held while it comes. */
static void fetch_for_release(const struct transcoder *c)
{
	cache_fetch(&c->lt, sizeof(c->lt));
	cache_fetch(&c->served, offsetof(struct release, deadline));
	cache_fetch(&c->served_terms, sizeof(c->served_terms));
	cache_fetch(&c->claimed_arrival, sizeof(c->claimed_arrival));
	frame_ring_fetch(c->ring);
}

/* @c, which is to be released, or NULL. */
static void collect_release(struct rx *rx, struct transcoder *c)
{
	if (!c)
		return;
	fetch_for_release(c);
	rx->release[rx->nrelease++] = &c->lt;
	if (rx->nrelease == RELEASES)
		release_pending(rx);
}

static void take_packet_of(struct rx *rx, const struct inlet_packet *p)
{
	struct endpoint *endpoint = NULL;

	if (p->tag != TAG_SHARED) {
		endpoint = p->tag == INLET_GONE
				   ? NULL
				   : endpoints_find(rx->cfg.endpoints, p->tag);
		if (!endpoint) { /* it came while its endpoint ended */
			packet_count_no_listener(&rx->path);
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
		count_endpoint_drops(endpoint, p->drops);
	else
		count_drops(&rx->path.count.socket_drops, &rx->drops, p->drops);
	collect_release(rx, packet_take(&rx->path, &p->packet, endpoint));
}

/* At whose port the packet is that comes @n places behind the next one. */
static const struct endpoint *endpoint_ahead(const struct rx *rx, unsigned n)
{
	uint64_t tag = inlet_ahead(rx->in, n);

	return tag && tag != INLET_GONE ? endpoints_find(rx->cfg.endpoints, tag)
					: NULL;
}

/* Packets are of another stream each, and what one needs hangs on each other:
 * an endpoint, its stream, what that has for its mode. So they are fetched into
 * the cache one step for each packet before. */
static void fetch_packets_ahead(const struct rx *rx)
{
	const struct endpoint *third = endpoint_ahead(rx, 2),
			      *second = endpoint_ahead(rx, 1),
			      *first = endpoint_ahead(rx, 0);
	const struct stream *next = second ? endpoint_stream(second) : NULL;
	const struct stream *s = first ? endpoint_stream(first) : NULL;

	if (third)
		endpoint_fetch(third);
	if (next)
		stream_fetch(next);
	if (!s)
		return;
	if (stream_relays(s))
		stream_fetch_relay(s);
	else
		packet_fetch(stream_transcoder(s));
}

/* Take packets that other receivers have handed over, TAKEN_MAX at most. */
static unsigned take_handed(struct rx *rx)
{
	struct handover *box = rx->cfg.box ? rx->cfg.box[rx->cfg.number] : NULL;
	const struct intake_packet *p;
	unsigned n = 0;

	while (box && n < TAKEN_MAX && (p = handover_first(box))) {
		collect_release(rx, packet_take_handed(&rx->path, p));
		handover_done(box);
		n++;
	}
	return n;
}

static void hand_packet_over(struct packet_path *path, unsigned receiver,
			     const struct intake_packet *in)
{
	struct rx *rx = (void *)((char *)path - offsetof(struct rx, path));

	if (!handover_put(rx->cfg.box[receiver], in)) {
		counter_add(&path->count.handover_drops, 1);
		return;
	}
	counter_add(&path->count.handed_over, 1);
	rx->handed |= UINT64_C(1) << receiver;
}

/* Serve the endpoints whose timers are due at @now. Each is polled again a tick
 * later at the earliest, so that one that is behind does not delay others. */
static void take_timers(struct rx *rx, cr_ns now)
{
	struct wheel_entry *due[TIMERS];
	unsigned n;

	do {
		n = wheel_take(&rx->wheel, now, due, TIMERS);
		for (unsigned i = 0; i < n; i++) {
			struct endpoint *ep = endpoint_of_timer(due[i]);

			/* set anew by what is polled */
			ep->poll_at = ep->due[ENDPOINT_RECEIVE_STAGE] =
				CR_NEVER;
			collect_release(rx, packet_poll(&rx->path, ep, now));
			endpoint_wait(
				ep, ENDPOINT_OWN,
				cr_ns_max(endpoint_poll(ep, now), now + 1));
		}
	} while (n == TIMERS);
}

/* Up to TAKEN_MAX packets, and as many from others; then what is due at @now.
 * Returns how many packets; fewer than TAKEN_MAX: the turn is over. The box
 * comes after the sockets: inlet_next() takes in the wake-ups for what was put
 * there before. */
static unsigned take_packets(struct rx *rx, cr_ns now)
{
	struct inlet_packet p;
	unsigned n = 0;

	rcu_read_begin();
	while (n < TAKEN_MAX && inlet_next(rx->in, &p)) {
		fetch_packets_ahead(rx);
		take_packet_of(rx, &p);
		n++;
	}
	n += take_handed(rx);
	if (wheel_due(&rx->wheel) <= now)
		take_timers(rx, now);
	release_pending(rx);
	relay_flush(&rx->relays);
	rcu_read_end();
	for (; rx->handed; rx->handed &= rx->handed - 1)
		handover_wake(rx->cfg.box[__builtin_ctzll(rx->handed)]);
	return n;
}

/* CPU time of this thread, and of the workers where they have its CPU. */
static cr_ns cpu_used(const struct rx *rx)
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
			pace_look(&rx->pace, now, cpu_used(rx));
		t = pace_wait(&rx->pace, packets, began, now);
	}
	ts = (struct timespec){ t / CR_SEC, t % CR_SEC };
	if (t)
		(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
}

static bool is_stopping(const struct rx *rx)
{
	return atomic_load_explicit(&rx->stop, memory_order_acquire);
}

/* All that there is; the turn began at @now. Returns how many packets. */
static unsigned poll_sockets(struct rx *rx, cr_ns now)
{
	unsigned n = 0, some;

	do {
		if (n)
			now = clock_now();
		some = take_packets(rx, now);
		n += some;
	} while (some >= TAKEN_MAX && !is_stopping(rx));
	return n;
}

/* Until there are packets, or a timer is due. */
static int wait_for_packets(struct rx *rx)
{
	cr_ns due = wheel_due(&rx->wheel);

	return inlet_wait(rx->in, due == CR_NEVER
					  ? CR_NEVER
					  : cr_ns_max(due - clock_now(), 0));
}

/* A turn without packets was a wake-up for something else, a timer perhaps: no
 * pause. What came during the pause makes inlet_wait() return at once, and when
 * nothing came it blocks. */
static void *rx_main(void *arg)
{
	struct rx *rx = arg;
	char name[16] = "cr-rx";
	int rc = 0;

	if (rx->cfg.number)
		(void)snprintf(name, sizeof(name), "cr-rx%u", rx->cfg.number);
	(void)pthread_setname_np(pthread_self(), name);
	(void)prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
	rcu_register_thread();
	while (!is_stopping(rx) && (rc = wait_for_packets(rx)) >= 0) {
		cr_ns began = clock_now();
		unsigned packets = poll_sockets(rx, began);

		if (packets && !is_stopping(rx))
			pause_after(rx, packets, began);
	}
	inlet_leave(rx->in);
	if (rc < 0 && rx->cfg.failed)
		rx->cfg.failed(rx->cfg.arg, rx->cfg.number, rc);
	rcu_unregister_thread();
	return NULL;
}

/* Affinity before the thread runs; real-time priority if it is granted. */
static void place_thread(struct rx *rx, struct cr_err *warn)
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
	int err;

	if (!rx)
		return cr_fail(e, -ENOMEM, "out of memory for a receiver");
	memset(rx, 0, sizeof(*rx));
	rx->cfg = *cfg;
	rx->path.receiver = cfg->number;
	rx->path.hand_over = hand_packet_over;
	rx->path.table = cfg->table;
	rx->path.trace = cfg->trace;
	wheel_init(&rx->wheel, clock_now());
	rx->path.relays = &rx->relays;
	err = inlet_open(&rx->in, cfg->io, e);
	if (!err)
		burst_open(&rx->relays.burst, inlet_io(rx->in));
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
	place_thread(rx, warn);
	*out = rx;
	return 0;
}

/* Stop and join: it hands over no more. */
static void rx_stop(struct rx *rx)
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

int rx_listen(struct rx *rx, int fd, enum inlet_traffic kind, struct cr_err *e)
{
	if (rx->shared)
		inlet_del(rx->in, rx->shared);
	return inlet_add(rx->in, fd, TAG_SHARED, kind, &rx->shared, e);
}

static bool has_rtcp_port(const struct endpoint *ep)
{
	return ep->rtcp && ep->rtcp->cfg.mode == ENDPOINT_RTCP_PORT;
}

static int add_ports(struct rx *rx, struct endpoint *ep, struct cr_err *e)
{
	int err = inlet_add(rx->in, ep->cfg.fd, ep->key, INLET_ONE,
			    &ep->port_key, e);

	if (err || !has_rtcp_port(ep))
		return err;
	err = inlet_add(rx->in, ep->rtcp->cfg.fd, ep->key | ENDPOINTS_RTCP,
			INLET_ONE, &ep->rtcp->port_key, e);
	if (err)
		inlet_del(rx->in, ep->port_key);
	return err;
}

static int hear_endpoint(struct rx *rx, struct endpoint *ep, struct cr_err *e)
{
	int err;

	inlet_gather(rx->in);
	if (endpoint_begin_polls(ep, &rx->wheel))
		inlet_wake_too(rx->in);
	err = add_ports(rx, ep, e);
	inlet_notify(rx->in);
	if (err)
		endpoint_end_polls(ep);
	return err;
}

int rx_add_endpoint(struct rx *rx, struct endpoint *ep, struct cr_err *e)
{
	if (ep->rtcp)
		ep->rtcp->sums = &rx->rtcp;
	ep->wheel = &rx->wheel;
	return ep->cfg.waits ? 0 : hear_endpoint(rx, ep, e);
}

static void del_ports(struct rx *rx, struct endpoint *ep)
{
	if (!ep->port_key)
		return;
	inlet_del(rx->in, ep->port_key);
	if (has_rtcp_port(ep))
		inlet_del(rx->in, ep->rtcp->port_key);
}

void rx_del_endpoint(struct rx *rx, struct endpoint *ep)
{
	del_ports(rx, ep);
	endpoint_end_polls(ep);
}

static void pause_socket(struct rx *rx, uint64_t key)
{
	inlet_pause(rx->in, key);
	rx->paused++;
}

void rx_pause_shared(struct rx *rx)
{
	if (rx->shared)
		pause_socket(rx, rx->shared);
}

void rx_pause_endpoint(struct rx *rx, struct endpoint *ep)
{
	pause_socket(rx, ep->port_key);
	if (has_rtcp_port(ep))
		pause_socket(rx, ep->rtcp->port_key);
	endpoint_end_polls(ep);
}

int rx_go_on_endpoint(struct rx *rx, struct endpoint *ep, struct cr_err *e)
{
	del_ports(rx, ep);
	wheel_reopen(&rx->wheel, &ep->timer);
	ep->poll_at = ep->due[ENDPOINT_OWN] = ep->due[ENDPOINT_RECEIVE_STAGE] =
		CR_NEVER;
	return hear_endpoint(rx, ep, e);
}

void rx_begin_pauses(struct rx *rx)
{
	rx->paused = inlet_paused(rx->in);
}

bool rx_rests(const struct rx *rx)
{
	return inlet_paused(rx->in) == rx->paused;
}

void rx_count_rest(struct endpoint *ep)
{
	struct stream *s = endpoint_stream(ep);

	counter_add(s ? &s->account->count.unread : &ep->unread,
		    udp_socket_end(ep->cfg.fd));
	count_endpoint_drops(ep, udp_socket_drops(ep->cfg.fd));
}

void rx_count_rtcp_rest(struct endpoint *ep)
{
	if (!has_rtcp_port(ep))
		return;
	counter_add(&ep->unread, udp_socket_end(ep->rtcp->cfg.fd));
	count_drops(&ep->port_drops, &ep->rtcp->drops,
		    udp_socket_drops(ep->rtcp->cfg.fd));
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

/* --- all of them --- */

struct receivers {
	unsigned count, nfd;
	struct handover *
		*box; /* NULL: one receiver has the whole shared port */
	unsigned nbox;
	struct receiver {
		struct rx *rx;
		unsigned streams; /* and endpoints */
	} one[];
};

int receivers_open(struct receivers **out, const struct receivers_config *cfg,
		   struct cr_err *warn, struct cr_err *e)
{
	struct receivers *r =
		calloc(1, sizeof(*r) + cfg->count * sizeof(r->one[0]));
	int err = 0;

	if (!r)
		return cr_fail(e, -ENOMEM, "out of memory for receivers");
	r->nfd = cfg->nfd;
	if (cfg->nfd > 1) {
		r->box = calloc(cfg->nfd, sizeof(struct handover *));
		for (; r->box && r->nbox < cfg->nfd; r->nbox++) {
			r->box[r->nbox] = handover_new();
			if (!r->box[r->nbox])
				break;
		}
		err = r->nbox == cfg->nfd
			      ? 0
			      : cr_fail(e, -ENOMEM,
					"out of memory for receivers");
	}
	for (unsigned i = 0; i < cfg->count && !err; i++) {
		struct rx_config one = cfg->each;

		one.number = i;
		one.box = r->box;
		one.trace = trace_ring(cfg->trace, cfg->first_ring + i);
		one.cpu = cfg->place[i].cpu;
		one.shares_cpu = cfg->place[i].shares_cpu;
		err = rx_open(&r->one[i].rx, &one, warn, e);
		if (!err)
			r->count++;
	}
	if (!err && cfg->fd)
		err = receivers_listen(r, cfg->fd, e);
	if (err) {
		receivers_close(r);
		return err;
	}
	*out = r;
	return 0;
}

int receivers_listen(struct receivers *r, const int *fd, struct cr_err *e)
{
	/* trains are not welcome where others have sockets of the port, too:
	 * the kernel would give one whole, streams of others included */
	enum inlet_traffic kind = r->nfd > 1 ? INLET_ONE : INLET_MANY;
	int err = 0;

	for (unsigned i = 0; i < r->nfd && !err; i++)
		err = rx_listen(r->one[i].rx, fd[i], kind, e);
	return err;
}

void receivers_close(struct receivers *r)
{
	if (!r)
		return;
	/* one that goes on could wake one that is closed */
	for (unsigned i = 0; i < r->count; i++)
		rx_stop(r->one[i].rx);
	while (r->count)
		rx_close(r->one[--r->count].rx);
	while (r->nbox)
		handover_free(r->box[--r->nbox]);
	free(r->box);
	free(r);
}

unsigned receivers_count(const struct receivers *r)
{
	return r->count;
}

const struct rx *receivers_at(const struct receivers *r, unsigned i)
{
	return r->one[i].rx;
}

unsigned receivers_streams(const struct receivers *r, unsigned i)
{
	return r->one[i].streams;
}

unsigned receivers_of_ssrc(const struct receivers *r, uint32_t ssrc)
{
	return ssrc % r->nfd;
}

static unsigned least_busy_of(const struct receivers *r, unsigned n)
{
	unsigned least = 0;

	for (unsigned i = 1; i < n; i++)
		if (r->one[i].streams < r->one[least].streams)
			least = i;
	return least;
}

unsigned receivers_least_shared(const struct receivers *r)
{
	return least_busy_of(r, r->nfd);
}

unsigned receivers_least(const struct receivers *r)
{
	return least_busy_of(r, r->count);
}

void receivers_add(struct receivers *r, const struct transcoder *c)
{
	r->one[c->stream->cfg.receiver].streams++;
}

void receivers_del(struct receivers *r, const struct transcoder *c)
{
	r->one[c->stream->cfg.receiver].streams--;
}

int receivers_add_endpoint(struct receivers *r, struct endpoint *ep,
			   struct cr_err *e)
{
	struct receiver *to = &r->one[ep->cfg.receiver];
	int err = rx_add_endpoint(to->rx, ep, e);

	if (!err)
		to->streams++;
	return err;
}

void receivers_del_endpoint(struct receivers *r, struct endpoint *ep)
{
	struct receiver *with = &r->one[ep->cfg.receiver];

	rx_del_endpoint(with->rx, ep);
	with->streams--;
}

void receivers_pause_endpoint(struct receivers *r, struct endpoint *ep)
{
	rx_pause_endpoint(r->one[ep->cfg.receiver].rx, ep);
}

int receivers_begin_endpoint(struct receivers *r, struct endpoint *ep,
			     struct cr_err *e)
{
	return ep->port_key ? 0 : receivers_go_on_endpoint(r, ep, e);
}

int receivers_go_on_endpoint(struct receivers *r, struct endpoint *ep,
			     struct cr_err *e)
{
	return rx_go_on_endpoint(r->one[ep->cfg.receiver].rx, ep, e);
}

void receivers_pause_shared(struct receivers *r)
{
	for (unsigned i = 0; i < r->count; i++)
		rx_pause_shared(r->one[i].rx);
}

bool receivers_rest(const struct receivers *r)
{
	for (unsigned i = 0; i < r->count; i++)
		if (!rx_rests(r->one[i].rx))
			return false;
	return true;
}

bool receivers_took_all(const struct receivers *r)
{
	for (unsigned i = 0; i < r->nbox; i++)
		if (!handover_is_empty(r->box[i]))
			return false;
	return true;
}

void receivers_begin_pauses(struct receivers *r)
{
	for (unsigned i = 0; i < r->count; i++)
		rx_begin_pauses(r->one[i].rx);
}

void receivers_gather(struct receivers *r)
{
	for (unsigned i = 0; i < r->count; i++)
		inlet_gather(r->one[i].rx->in);
}

void receivers_notify(struct receivers *r)
{
	for (unsigned i = 0; i < r->count; i++)
		inlet_notify(r->one[i].rx->in);
}
