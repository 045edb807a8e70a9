/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pacing thread. The heap is its own; calls come in through a small queue
 * under a lock that is taken once per wake-up.
 */
#include "feeder/pacer.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/thread.h"
#include "rtp/rtp.h"
#include "udp/burst.h"

#define NAP                                                                    \
	(2 * CR_MS) /* new calls and the end are seen after at most this       \
		     */

/* A packet on its way into the kernel. */
struct outgoing {
	struct feeder_call *call;
	struct plan_packet packet;
	size_t octets; /* of payload */
};

struct pacer {
	struct pacer_cfg cfg;
	struct thread thread;

	pthread_mutex_t lock; /* of inbox */
	struct feeder_call **inbox;
	size_t waiting;

	/* thread */
	struct feeder_call **heap;
	size_t count;
	struct outgoing out[BURST_PACKETS]; /* what is in the burst */
	struct burst burst;
	struct pacer_stats stats;
};

/* Earlier packet first; ties by the plan's order, so that it is total. */
static bool sends_before(const struct feeder_call *a,
			 const struct feeder_call *b)
{
	if (a->next.at != b->next.at)
		return a->next.at < b->next.at;
	return a->plan < b->plan;
}

static void sift_call_down(struct pacer *p, size_t i)
{
	struct feeder_call *c = p->heap[i];

	for (;;) {
		size_t kid = 2 * i + 1;

		if (kid >= p->count)
			break;
		if (kid + 1 < p->count &&
		    sends_before(p->heap[kid + 1], p->heap[kid]))
			kid++;
		if (!sends_before(p->heap[kid], c))
			break;
		p->heap[i] = p->heap[kid];
		i = kid;
	}
	p->heap[i] = c;
}

static bool is_silent(const struct feeder_call *c)
{
	return c->speakers &&
	       c->plan->index >=
		       atomic_load_explicit(c->speakers, memory_order_relaxed);
}

static void finish_call(struct feeder_call *c)
{
	atomic_store_explicit(&c->done, true, memory_order_release);
}

/* A call whose set-up took longer than planned begins in the middle. */
static void take_in(struct pacer *p, struct feeder_call *c, cr_ns now)
{
	while (plan_stream_next(&c->stream, &c->next)) {
		if (c->next.at >= now) {
			size_t i = p->count++;

			for (; i && sends_before(c, p->heap[(i - 1) / 2]);
			     i = (i - 1) / 2)
				p->heap[i] = p->heap[(i - 1) / 2];
			p->heap[i] = c;
			return;
		}
		if (is_silent(c))
			continue;
		if (!c->next.copy && c->next.kind == PLAN_SPEECH)
			counter_add(&c->match->missed, 1);
		if (c->phone)
			c->phone->count.missed++;
	}
	finish_call(c);
}

static void read_inbox(struct pacer *p)
{
	cr_ns now = clock_now() - p->cfg.epoch;

	(void)pthread_mutex_lock(&p->lock);
	for (size_t i = 0; i < p->waiting; i++)
		take_in(p, p->inbox[i], now);
	p->waiting = 0;
	(void)pthread_mutex_unlock(&p->lock);
}

/* Frames count as sent before the kernel has them: the answer may be faster
 * than the return from the system call. */
static void flush_outgoing(struct pacer *p)
{
	unsigned n = p->burst.count;
	cr_ns now = clock_now();

	if (!n)
		return;
	for (unsigned i = 0; i < n; i++) {
		const struct plan_packet *k = &p->out[i].packet;
		struct feeder_call *c = p->out[i].call;

		p->stats.late_max = cr_ns_max(p->stats.late_max,
					      now - p->cfg.epoch - k->at);
		if (c->phone)
			phone_count(c->phone, k);
		if (k->kind != PLAN_SPEECH)
			continue;
		counter_add(&c->match->octets_sent, p->out[i].octets);
		if (k->copy)
			counter_add(&c->match->copies, 1);
		else
			match_sent(c->match, k->frame, now);
	}
	burst_send(&p->burst);
	for (unsigned i = 0; i < n; i++)
		if (p->burst.packet[i].failed) {
			/* The kernel had no room: it is lost. */
			p->stats.failed++;
			if (p->out[i].call->phone)
				p->out[i].call->phone->count.failed++;
		}
	burst_clear(&p->burst);
	p->stats.batches++;
	p->stats.packets += n;
}

static void pace_packet(struct pacer *p, struct feeder_call *c)
{
	const struct plan_packet *k = &c->next;
	struct outgoing *o = &p->out[p->burst.count];
	uint8_t packet[BURST_BYTES], *payload = packet + RTP_HEADER_BYTES;
	int fd = c->phone ? c->phone->ports[k->port].fd : c->fd;
	struct rtp_header h = {
		.pt = c->pt,
		.marker = k->marker || c->was_silent,
		.seq = (uint16_t)(c->seq_first + k->seq),
		.ts = c->ts_first + (uint32_t)k->frame * c->ts_ticks,
		.ssrc = c->ssrc,
	};

	if (c->phone)
		h = phone_header(c->phone, k);
	(void)rtp_build(packet, &h);
	o->call = c;
	o->packet = *k;
	if (k->kind == PLAN_SPEECH) {
		const uint8_t *speech =
			source_payload(&c->voice, k->frame, &o->octets);

		CR_ASSERT(o->octets <= BURST_BYTES - RTP_HEADER_BYTES);
		memcpy(payload, speech, o->octets);
	} else {
		o->octets = phone_payload(c->phone, k, payload);
	}
	burst_put(&p->burst, fd, &c->to, 0, packet,
		  RTP_HEADER_BYTES + o->octets);
	c->was_silent = false;
}

static void withhold_packet(struct feeder_call *c)
{
	if (c->next.kind == PLAN_SPEECH)
		counter_add(&c->match->withheld, 1);
	if (c->phone)
		c->phone->count.withheld++;
}

/* Everything that is due at @now, relative to the epoch. */
static void send_due_packets(struct pacer *p, cr_ns now)
{
	while (p->count && p->heap[0]->next.at <= now) {
		struct feeder_call *c = p->heap[0];

		if (is_silent(c)) {
			/* as in a pause: the time stamps go on, the sequence
			 * numbers do not */
			withhold_packet(c);
			c->seq_first -= !c->next.copy;
			c->was_silent = true;
		} else if (c->next.lost) {
			withhold_packet(c);
		} else {
			pace_packet(p, c);
		}
		/* a call that has sent all leaves: its port may be closed */
		if (!plan_stream_next(&c->stream, &c->next)) {
			flush_outgoing(p);
			finish_call(c);
			p->heap[0] = p->heap[--p->count];
		}
		if (p->count)
			sift_call_down(p, 0);
		if (burst_full(&p->burst))
			flush_outgoing(p);
	}
	flush_outgoing(p);
}

static void *run_pacer(void *arg)
{
	struct pacer *p = arg;

	while (!thread_must_stop(&p->thread)) {
		cr_ns now, due;

		read_inbox(p);
		now = clock_now();
		due = now + NAP;
		if (p->count)
			due = cr_ns_min(due, p->cfg.epoch +
						     p->heap[0]->next.at +
						     PACER_SLACK);
		if (due > now) {
			struct timespec ts = { .tv_sec = due / CR_SEC,
					       .tv_nsec = due % CR_SEC };

			(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME,
					      &ts, NULL);
		}
		send_due_packets(p, clock_now() - p->cfg.epoch);
	}
	read_inbox(p);
	for (size_t i = 0; i < p->count; i++)
		finish_call(p->heap[i]);
	p->count = 0;
	p->stats.cpu = clock_thread_cpu();
	return NULL;
}

int pacer_open(struct pacer **out, const struct pacer_cfg *cfg,
	       struct cr_err *e)
{
	struct pacer *p = calloc(1, sizeof(*p));
	int rc;

	if (!p)
		return cr_fail(e, -ENOMEM, "out of memory");
	p->cfg = *cfg;
	burst_open(&p->burst, cfg->io);
	(void)pthread_mutex_init(&p->lock, NULL);
	p->inbox = calloc(cfg->calls + 1, sizeof(struct feeder_call *));
	p->heap = calloc(cfg->calls + 1, sizeof(struct feeder_call *));
	rc = p->inbox && p->heap
		     ? thread_start(&p->thread, run_pacer, p, cfg->cpu)
		     : -ENOMEM;
	if (rc) {
		pacer_close(p);
		return cr_fail(e, rc, "pacing thread: %s", strerror(-rc));
	}
	*out = p;
	return 0;
}

void pacer_add(struct pacer *p, struct feeder_call *call)
{
	(void)pthread_mutex_lock(&p->lock);
	CR_ASSERT(p->waiting < p->cfg.calls);
	p->inbox[p->waiting++] = call;
	(void)pthread_mutex_unlock(&p->lock);
}

void pacer_stop(struct pacer *p)
{
	thread_stop(&p->thread);
}

void pacer_stats(const struct pacer *p, struct pacer_stats *out)
{
	*out = p->stats;
}

void pacer_close(struct pacer *p)
{
	if (!p)
		return;
	pacer_stop(p);
	burst_close(&p->burst);
	(void)pthread_mutex_destroy(&p->lock);
	free(p->inbox);
	free(p->heap);
	free(p);
}
