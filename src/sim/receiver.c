/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A receiver as a queue with one server. All packets cost the same, so the time
 * at which it will be idle says how many wait: no list of them is needed.
 */
#include "sim/receiver.h"

/* Packets that are not done at @at. */
static uint64_t waiting(const struct receiver *r, cr_ns at)
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

/* What comes at the very moment when the last one is done is seen before the
 * receiver sleeps. */
static void wake(struct receiver *r, cr_ns at)
{
	if (r->in && at <= r->idle)
		return;
	r->idle = at + r->cfg.wake;
	r->in = 0;
	r->stats.wakes++;
	r->stats.busy += r->cfg.wake;
}

cr_ns receiver_take(struct receiver *r, cr_ns at)
{
	uint64_t before = waiting(r, at);
	struct receiver_stats *s = &r->stats;

	if (before >= r->cfg.most) {
		s->dropped++;
		return CR_NEVER;
	}
	wake(r, at);
	s->packets++;
	s->wait += r->idle - at;
	s->wait_max = cr_ns_max(s->wait_max, r->idle - at);
	s->longest = before < s->longest ? s->longest : before + 1;
	s->busy += r->cfg.cost;
	r->idle += r->cfg.cost;
	r->in++;
	return r->idle;
}

struct receiver_stats receiver_stats(const struct receiver *r, cr_ns now)
{
	struct receiver_stats s = r->stats;

	s.busy -= cr_ns_max(r->idle - now, 0);
	return s;
}

void receiver_stats_merge(struct receiver_stats *to,
			  const struct receiver_stats *from)
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
