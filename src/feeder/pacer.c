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
	struct feeder_stream *stream;
	struct plan_packet packet;
	size_t octets; /* of payload */
};

struct pacer {
	struct pacer_cfg cfg;
	struct thread thread;

	pthread_mutex_t lock; /* of inbox */
	struct feeder_stream **inbox;
	size_t waiting;

	/* thread */
	struct feeder_stream **heap;
	size_t count;
	struct outgoing out[BURST_PACKETS]; /* what is in the burst */
	struct burst burst;
	struct pacer_stats stats;
};

/* Earlier packet first; ties by the plan's order, so that it is total. */
static bool sends_before(const struct feeder_stream *a,
			 const struct feeder_stream *b)
{
	if (a->next.at != b->next.at)
		return a->next.at < b->next.at;
	return a->plan < b->plan;
}

static void sift_stream_down(struct pacer *p, size_t i)
{
	struct feeder_stream *st = p->heap[i];

	for (;;) {
		size_t kid = 2 * i + 1;

		if (kid >= p->count)
			break;
		if (kid + 1 < p->count &&
		    sends_before(p->heap[kid + 1], p->heap[kid]))
			kid++;
		if (!sends_before(p->heap[kid], st))
			break;
		p->heap[i] = p->heap[kid];
		i = kid;
	}
	p->heap[i] = st;
}

static bool is_silent(const struct feeder_stream *st)
{
	return st->speakers &&
	       st->plan->index >=
		       atomic_load_explicit(st->speakers, memory_order_relaxed);
}

static void finish_stream(struct feeder_stream *st)
{
	atomic_store_explicit(&st->done, true, memory_order_release);
}

/* A stream whose set-up took longer than planned begins in the middle. */
static void take_in(struct pacer *p, struct feeder_stream *st, cr_ns now)
{
	while (plan_stream_next(&st->stream, &st->next)) {
		if (st->next.at >= now) {
			size_t i = p->count++;

			for (; i && sends_before(st, p->heap[(i - 1) / 2]);
			     i = (i - 1) / 2)
				p->heap[i] = p->heap[(i - 1) / 2];
			p->heap[i] = st;
			return;
		}
		if (is_silent(st))
			continue;
		if (!st->next.copy && st->next.kind == PLAN_SPEECH)
			counter_add(&st->match->missed, 1);
		if (st->phone)
			st->phone->count.missed++;
	}
	finish_stream(st);
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
		struct feeder_stream *st = p->out[i].stream;

		p->stats.late_max = cr_ns_max(p->stats.late_max,
					      now - p->cfg.epoch - k->at);
		if (st->phone)
			phone_count(st->phone, k);
		if (k->kind != PLAN_SPEECH)
			continue;
		counter_add(&st->match->octets_sent, p->out[i].octets);
		if (k->copy)
			counter_add(&st->match->copies, 1);
		else
			match_sent(st->match, k->frame, now);
	}
	burst_send(&p->burst);
	for (unsigned i = 0; i < n; i++)
		if (p->burst.packet[i].failed) {
			/* The kernel had no room: it is lost. */
			p->stats.failed++;
			if (p->out[i].stream->phone)
				p->out[i].stream->phone->count.failed++;
		}
	burst_clear(&p->burst);
	p->stats.batches++;
	p->stats.packets += n;
}

static void pace_packet(struct pacer *p, struct feeder_stream *st)
{
	const struct plan_packet *k = &st->next;
	struct outgoing *o = &p->out[p->burst.count];
	uint8_t packet[BURST_BYTES], *payload = packet + RTP_HEADER_BYTES;
	int fd = st->phone ? st->phone->ports[k->port].fd : st->fd;
	struct rtp_packet h = {
		.pt = st->pt,
		.marker = k->marker || st->was_silent,
		.seq = (uint16_t)(st->seq_first + k->seq),
		.ts = st->ts_first + (uint32_t)k->frame * st->ts_ticks,
		.ssrc = st->ssrc,
	};

	if (st->phone)
		h = phone_header(st->phone, k);
	(void)rtp_build(packet, &h);
	o->stream = st;
	o->packet = *k;
	if (k->kind == PLAN_SPEECH) {
		const uint8_t *speech =
			source_payload(&st->voice, k->frame, &o->octets);

		CR_ASSERT(o->octets <= BURST_BYTES - RTP_HEADER_BYTES);
		memcpy(payload, speech, o->octets);
	} else {
		o->octets = phone_payload(st->phone, k, payload);
	}
	burst_put(&p->burst, fd, &st->to, 0, packet,
		  RTP_HEADER_BYTES + o->octets);
	st->was_silent = false;
}

static void withhold_packet(struct feeder_stream *st)
{
	if (st->next.kind == PLAN_SPEECH)
		counter_add(&st->match->withheld, 1);
	if (st->phone)
		st->phone->count.withheld++;
}

/* Everything that is due at @now, relative to the epoch. */
static void send_due_packets(struct pacer *p, cr_ns now)
{
	while (p->count && p->heap[0]->next.at <= now) {
		struct feeder_stream *st = p->heap[0];

		if (is_silent(st)) {
			/* as in a pause: the time stamps go on, the sequence
			 * numbers do not */
			withhold_packet(st);
			st->seq_first -= !st->next.copy;
			st->was_silent = true;
		} else if (st->next.lost) {
			withhold_packet(st);
		} else {
			pace_packet(p, st);
		}
		/* a stream that has sent all leaves: its port may be closed */
		if (!plan_stream_next(&st->stream, &st->next)) {
			flush_outgoing(p);
			finish_stream(st);
			p->heap[0] = p->heap[--p->count];
		}
		if (p->count)
			sift_stream_down(p, 0);
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
		finish_stream(p->heap[i]);
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
	p->inbox = calloc(cfg->streams + 1, sizeof(struct feeder_stream *));
	p->heap = calloc(cfg->streams + 1, sizeof(struct feeder_stream *));
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

void pacer_add(struct pacer *p, struct feeder_stream *st)
{
	(void)pthread_mutex_lock(&p->lock);
	CR_ASSERT(p->waiting < p->cfg.streams);
	p->inbox[p->waiting++] = st;
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
