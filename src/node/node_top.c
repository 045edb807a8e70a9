/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which calls stand out: what each did between two samples of its counters.
 * Samples are of all calls at once, whoever asks: many who ask take no more of
 * them.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "node/node_impl.h"

/* Below that rates say little: 20 packets. Who asks every 500 ms, by a clock
 * that has ticks, has another window each time. */
#define WINDOW_MIN (400 * CR_MS)

/* --- samples --- */

static struct node_top_sample sample(const struct node_call *nc)
{
	unsigned long long c[CALL_NCOUNTERS];

	node_call_counts(nc, c);
	return (struct node_top_sample){
		.in = c[CALL_COUNTER_packets_in],
		.lost = c[CALL_COUNTER_overwritten] + c[CALL_COUNTER_expired] +
			c[CALL_COUNTER_shed] + c[CALL_COUNTER_concealed],
		.missing = c[CALL_COUNTER_missing],
		.late = c[CALL_COUNTER_late],
		.done = c[CALL_COUNTER_done],
		.delay = c[CALL_COUNTER_delay_ns],
		.busy = c[CALL_COUNTER_busy_ns],
	};
}

static void sample_all(struct node *n)
{
	cr_ns now = clock_now();
	struct node_call *nc;

	if (n->top_at[1] && now - n->top_at[1] < WINDOW_MIN)
		return;
	n->top_at[0] = n->top_at[1] ? n->top_at[1] : n->started;
	n->top_at[1] = now;
	RB_FOREACH (nc, node_tree, &n->calls) {
		nc->was = nc->is;
		nc->is = sample(nc);
	}
}

/* --- what they did --- */

static cr_ns window_of(const struct node_call *nc)
{
	const struct node *n = nc->node;
	cr_ns from = cr_ns_max(n->top_at[0], nc->started);

	return cr_ns_max(n->top_at[1] - from, WINDOW_MIN);
}

void node_top_rates(const struct node_call *nc, struct node_top_rates *out)
{
	const struct node_top_sample *a = &nc->was, *b = &nc->is;
	double ns = (double)window_of(nc), s = ns / 1e9;
	unsigned long long done = b->done - a->done;

	*out = (struct node_top_rates){
		.in = (double)(b->in - a->in) / s,
		.late = (double)(b->late - a->late) / s,
		.lost = (double)(b->lost - a->lost) / s,
		.missing = (double)(b->missing - a->missing) / s,
		.load = (double)(b->busy - a->busy) / ns,
		.delay = done ? (cr_ns)((b->delay - a->delay) / done) : 0,
	};
}

static struct node_top entry_of(struct node_call *nc, enum node_top_key by)
{
	struct node_top_rates r;
	double value[4];

	node_top_rates(nc, &r);
	value[NODE_TOP_LOSS] = r.lost;
	value[NODE_TOP_MISSING] = r.missing;
	value[NODE_TOP_COST] = r.load;
	value[NODE_TOP_DELAY] = (double)r.delay;
	return (struct node_top){ value[by], r.load, nc };
}

/* --- the first of them --- */

/* Does @a come behind @b? */
static bool is_behind(const struct node_top *a, const struct node_top *b)
{
	if (a->value < b->value || a->value > b->value)
		return a->value < b->value;
	if (a->load < b->load || a->load > b->load)
		return a->load < b->load;
	return a->call->id > b->call->id;
}

static int in_order(const void *x, const void *y)
{
	return is_behind(x, y) ? 1 : is_behind(y, x) ? -1 : 0;
}

static void swap(struct node_top *a, struct node_top *b)
{
	struct node_top t = *a;

	*a = *b;
	*b = t;
}

/* A heap, the last in order at its root: it makes room for who comes before. */
static void rise(struct node_top *heap, unsigned i)
{
	for (; i && is_behind(&heap[i], &heap[(i - 1) / 2]); i = (i - 1) / 2)
		swap(&heap[i], &heap[(i - 1) / 2]);
}

static void sink(struct node_top *heap, unsigned n)
{
	unsigned i = 0, child = 1;

	while (child < n) {
		if (child + 1 < n && is_behind(&heap[child + 1], &heap[child]))
			child++;
		if (!is_behind(&heap[child], &heap[i]))
			return;
		swap(&heap[child], &heap[i]);
		i = child;
		child = 2 * i + 1;
	}
}

static unsigned put(struct node_top *heap, unsigned n, unsigned limit,
		    const struct node_top *e)
{
	if (n < limit) {
		heap[n] = *e;
		rise(heap, n);
		return n + 1;
	}
	if (is_behind(&heap[0], e)) {
		heap[0] = *e;
		sink(heap, n);
	}
	return n;
}

unsigned node_top(struct node *n, enum node_top_key by, struct node_top *out,
		  unsigned limit, cr_ns *window)
{
	struct node_call *nc;
	unsigned found = 0;

	sample_all(n);
	RB_FOREACH (nc, node_tree, &n->calls) {
		struct node_top e;

		if (nc->ending || nc->started > n->top_at[1])
			continue;
		e = entry_of(nc, by);
		found = put(out, found, limit, &e);
	}
	qsort(out, found, sizeof(*out), in_order);
	*window = n->top_at[1] - n->top_at[0];
	return found;
}
