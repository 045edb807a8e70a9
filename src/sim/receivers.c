/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue of one receiver, and lanes: a receiver with the packets that will
 * come to it, in order of time, those of one instant by call. The threads take
 * a lane each, in which nothing is shared; what tells the run queues follows in
 * one thread.
 */
#include "sim/receivers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "sim/event_queue.h"

/* Packets that are not done at @at. */
static uint64_t packets_waiting(const struct receiver *r, cr_ns at)
{
	uint64_t n;

	if (at >= r->idle)
		return 0;
	if (!r->cfg.cost)
		return r->in;
	n = (uint64_t)((r->idle - at + r->cfg.cost - 1) / r->cfg.cost);
	/* more: it is still waking up */
	return n < r->in ? n : r->in;
}

cr_ns receiver_take(struct receiver *r, cr_ns at)
{
	uint64_t before = packets_waiting(r, at);
	struct sim_receiver_stats *s = &r->stats;

	if (before >= r->cfg.most) {
		s->dropped++;
		return CR_NEVER;
	}
	/* a packet that comes at the very moment when the last one is done is
	 * seen before the receiver sleeps */
	if (!r->in || at > r->idle) {
		r->idle = at + r->cfg.wake;
		r->in = 0;
		s->wakes++;
		s->busy += r->cfg.wake;
	}
	s->packets++;
	s->wait += r->idle - at;
	s->wait_max = cr_ns_max(s->wait_max, r->idle - at);
	s->longest = before < s->longest ? s->longest : before + 1;
	s->busy += r->cfg.cost;
	r->idle += r->cfg.cost;
	r->in++;
	return r->idle;
}

struct sim_receiver_stats sim_receiver_stats(const struct receiver *r,
					     cr_ns now)
{
	struct sim_receiver_stats s = r->stats;

	s.busy -= cr_ns_max(r->idle - now, 0);
	return s;
}

void receiver_stats_merge(struct sim_receiver_stats *to,
			  const struct sim_receiver_stats *from)
{
	to->packets += from->packets;
	to->dropped += from->dropped;
	to->wakes += from->wakes;
	to->busy += from->busy;
	to->wait += from->wait;
	to->wait_max = cr_ns_max(to->wait_max, from->wait_max);
	if (to->longest < from->longest)
		to->longest = from->longest;
}

/* Aligned: neighbours may belong to two threads. */
struct lane {
	alignas(64) struct receiver r;
	struct event_queue packets; /* the next one of each call, by slot */
	struct sim_call **call;	    /* [slots] */
	uint32_t *woken;	    /* [nwoken] slots: the inbox was empty */
	uint32_t nwoken;
	bool failed; /* out of memory */
};

struct receivers {
	struct lane *lane; /* [count] */
	unsigned count;
	uint32_t slots;	       /* of each lane */
	struct backlog *inbox; /* [calls] by call number */
	size_t calls;
	cr_ns until; /* of the receivers_run() under way */
};

static size_t lane_index_of(const struct sim_call *c)
{
	return c->st.core.task.id - 1;
}

static struct lane *lane_of(struct receivers *rs, const struct sim_call *c)
{
	return &rs->lane[lane_index_of(c) % rs->count];
}

static uint32_t slot_in_lane(const struct receivers *rs,
			     const struct sim_call *c)
{
	return (uint32_t)(lane_index_of(c) / rs->count);
}

int sim_receivers_open(struct receivers **out,
		       const struct campaign_receivers *p, size_t calls)
{
	struct receivers *rs = calloc(1, sizeof(*rs));
	int rc = 0;

	if (!rs)
		return -ENOMEM;
	rs->count = (unsigned)p->count;
	rs->calls = calls;
	rs->slots = (uint32_t)(calls / rs->count + 1);
	rs->inbox = calloc(calls + 1, sizeof(*rs->inbox));
	rs->lane = aligned_alloc(alignof(struct lane),
				 rs->count * sizeof(*rs->lane));
	if (rs->lane)
		memset(rs->lane, 0, rs->count * sizeof(*rs->lane));
	if (!rs->lane || !rs->inbox)
		rc = -ENOMEM;
	for (unsigned i = 0; i < rs->count && !rc; i++) {
		struct lane *l = &rs->lane[i];

		l->r.cfg = (struct receiver_cfg){
			.cost = p->cost,
			.wake = p->wake,
			.most = (uint64_t)p->waiting,
		};
		event_queue_init(&l->packets);
		l->call = calloc(rs->slots, sizeof(struct sim_call *));
		l->woken = calloc(rs->slots, sizeof(*l->woken));
		rc = l->call && l->woken
			     ? event_queue_grow(&l->packets, rs->slots)
			     : -ENOMEM;
	}
	if (rc)
		sim_receivers_close(rs);
	else
		*out = rs;
	return rc;
}

void sim_receivers_close(struct receivers *rs)
{
	if (!rs)
		return;
	for (unsigned i = 0; rs->lane && i < rs->count; i++) {
		event_queue_fini(&rs->lane[i].packets);
		free(rs->lane[i].call);
		free(rs->lane[i].woken);
	}
	for (size_t i = 0; rs->inbox && i < rs->calls; i++)
		backlog_fini(&rs->inbox[i]);
	free(rs->inbox);
	free(rs->lane);
	free(rs);
}

void receivers_join(struct receivers *rs, struct sim_call *c)
{
	struct lane *l = lane_of(rs, c);
	uint32_t slot = slot_in_lane(rs, c);

	CR_ASSERT(lane_index_of(c) < rs->calls);
	event_queue_expect(&l->packets, c->st.core.task.period);
	c->inbox = &rs->inbox[lane_index_of(c)];
	l->call[slot] = c;
	event_queue_set(&l->packets, slot, c->next.at,
			sim_now(c->part->w->sim));
}

void receivers_leave(struct receivers *rs, struct sim_call *c)
{
	struct lane *l = lane_of(rs, c);
	uint32_t slot = slot_in_lane(rs, c);

	event_queue_set(&l->packets, slot, CR_NEVER, 0);
	l->call[slot] = NULL;
}

/* The next packet of the call in @slot goes through the receiver. A packet that
 * was dropped keeps its place: the call counts it, in the thread that has the
 * call's counters. */
static void receive_next(struct lane *l, uint32_t slot)
{
	struct sim_call *c = l->call[slot];
	struct backlog_entry e = { .frame = c->next.frame,
				   .arrival = c->next.at,
				   .eligible = receiver_take(&l->r, c->next.at),
				   .deadline = CR_NEVER,
				   .seq = c->next.seq };

	if (!backlog_head(c->inbox))
		l->woken[l->nwoken++] = slot;
	l->failed |= backlog_put(c->inbox, &e, NULL) < 0;
}

static void run_lane(void *arg, unsigned i)
{
	const struct receivers *rs = arg;
	struct lane *l = &rs->lane[i];
	cr_ns now;

	while ((now = event_queue_next(&l->packets)) < rs->until) {
		uint32_t slot = l->packets.first.owner;
		cr_ns next;

		do {
			receive_next(l, slot);
			next = workload_look_ahead(l->call[slot]);
		} while (next <= now);
		event_queue_set(&l->packets, slot, next, now);
	}
}

int receivers_run(struct receivers *rs, struct sim *sim, cr_ns until)
{
	rs->until = until;
	sim_share_out(sim, rs->count, run_lane, rs);
	for (unsigned i = 0; i < rs->count; i++) {
		struct lane *l = &rs->lane[i];

		if (l->failed)
			return -ENOMEM;
		/* packets that waited in an inbox before have their times */
		for (uint32_t k = 0; k < l->nwoken; k++) {
			struct sim_call *c = l->call[l->woken[k]];

			sim_arrive_at(sim, &c->st, workload_due(c));
		}
		l->nwoken = 0;
	}
	return 0;
}

bool receivers_dropped(const struct backlog_entry *e)
{
	return e->eligible == CR_NEVER;
}

cr_ns receivers_due(const struct backlog_entry *e)
{
	return receivers_dropped(e) ? e->arrival : e->eligible;
}

struct sim_receiver_stats receivers_stats(const struct receivers *rs,
					  unsigned i, cr_ns now)
{
	return sim_receiver_stats(&rs->lane[i].r, now);
}
