/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How calls of a node end: from call.stop to free memory.
 *
 *   out of the table -> grace period (rx lets go) -> out of the engine (a
 *   worker lets go) -> node_gone() -> node_reap() on control's thread
 *
 * A relay has no engine to leave (node_relay.c). What a call has cost and
 * counted stays with the node.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "media/transcode.h"
#include "node/node_impl.h"

/* On the thread of what is deferred: rx can no longer hold the call, or a
 * thread that was stuck has let go of it, which it had when this came first. */
static void leave(struct rcu_later *head)
{
	struct call *c = caa_container_of(head, struct call, rcu);
	const struct node_call *nc;

	rcu_deferred();
	nc = c->owner;
	live_remove(nc->node->live, &c->lt);
}

void node_back(void *arg, struct live_task *lt)
{
	struct call *c = call_of(lt);

	(void)arg;
	rcu_defer(&c->rcu, leave);
}

void node_call_stop(struct node_call *nc, enum node_end why,
		    const struct node_who *who)
{
	if (nc->ending)
		return;
	nc->ending = true;
	nc->node->nending++;
	nc->why = why;
	if (who) {
		nc->by = who->by;
		(void)snprintf(nc->peer, sizeof(nc->peer), "%s",
			       who->peer ? who->peer : "");
	}
	if (nc->conversation)
		conversation_stream_ends(nc->conversation, nc);
	else if (nc->in_endpoint)
		node_endpoint_leave(nc->in_endpoint);
	else
		receivers_del(nc->node->receivers, nc->call);
	if (!nc->call) {
		node_relay_leave(nc);
		return;
	}
	if (nc->cost)
		nc->cost->calls--;
	call_table_del(nc->node->table, nc->call);
	rcu_defer(&nc->call->rcu, leave);
}

void node_call_gone(struct node_call *nc)
{
	struct node *n = nc->node;
	bool first;

	pthread_mutex_lock(&n->gone_lock);
	first = !n->gone;
	nc->next_gone = n->gone;
	n->gone = nc;
	pthread_mutex_unlock(&n->gone_lock);
	if (first)
		event_active(n->gone_event, EV_READ, 0);
}

void node_gone(void *arg, struct live_task *lt)
{
	struct call *c = call_of(lt);

	(void)arg;
	if (c->owner)
		node_call_gone(c->owner);
	else
		call_free(c); /* node_call_unmake() */
}

static void add_counts(unsigned long long *to,
		       const struct call_counters *count)
{
#define ADD(name, label, help)                                                 \
	to[CALL_COUNTER_##name] +=                                             \
		atomic_load_explicit(&count->name, memory_order_relaxed);
	CALL_COUNTERS(ADD)
#undef ADD
}

/* A relay has none of what cannot be added. */
void node_call_counts(const struct node_call *nc, unsigned long long *out)
{
	memset(out, 0, CALL_NCOUNTERS * sizeof(*out));
	if (nc->relay)
		add_counts(out, &nc->relay->count);
	if (nc->call)
		add_counts(out, &nc->call->count);
}

static void keep_sums(struct node *n, const struct node_call *nc)
{
	unsigned long long count[CALL_NCOUNTERS];

	node_call_counts(nc, count);
	for (unsigned i = 0; i < CALL_NCOUNTERS; i++)
		n->past[i] += count[i];
}

void node_meter_less(struct node_call *nc)
{
	if (nc->cost->learner.frames >= LEARNER_MEMORY)
		transcode_cost_settle(&nc->call->metered, nc->id);
}

/* Of a call that does more than RECENT_TIMES frames between two looks only the
 * latest count. */
static void learn_from(struct node_call *nc)
{
	uint32_t ns[RECENT_TIMES];

	/* what several codecs take says nothing of one pair */
	if (!nc->call || nc->codecs || nc->recoded)
		return;
	costs_learn(nc->cost, ns,
		    recent_take(&nc->call->cost, &nc->learned, ns));
	node_meter_less(nc);
}

void node_learn(struct node *n)
{
	struct node_call *nc;

	RB_FOREACH (nc, node_tree, &n->calls)
		learn_from(nc);
	n->gave_nothing = false;
}

static void finish_gone(struct node *n, struct node_call *nc)
{
	struct endpoint *in_endpoint = node_call_settings(nc)->in_endpoint;

	if (node_call_is_fed(
		    nc)) /* an endpoint that goes on counts by itself */
		rx_count_rest(in_endpoint, node_call_counters(nc));
	if (nc->call)
		call_count_rest(nc->call);
	if (nc->hung)
		node_watch_returned(n, nc);
	else
		node_notify_ended(n, nc);
	keep_sums(n, nc);
	learn_from(nc);
	if (nc->cost)
		costs_release(n->costs, nc->cost);
	RB_REMOVE(node_tree, &n->calls, nc);
	n->ncalls--;
	n->nending -= !nc->hung;
	n->nrelays -= nc->relays;
	node_endpoint_free(nc->in_endpoint);
	call_free(nc->call);
	relay_free(nc->relay);
	if (nc->conversation)
		conversation_stream_gone(nc->conversation, nc);
	free(nc->codecs);
	free(nc);
}

void node_reap(evutil_socket_t fd, short what, void *arg)
{
	struct node *n = arg;
	struct node_call *nc, *next;

	(void)fd, (void)what;
	pthread_mutex_lock(&n->gone_lock);
	nc = n->gone;
	n->gone = NULL;
	pthread_mutex_unlock(&n->gone_lock);
	for (; nc; nc = next) {
		next = nc->next_gone;
		if (nc->call && !call_unposted(nc->call))
			node_flush(n); /* its last packets wait */
		CR_ASSERT(!nc->call || call_unposted(nc->call));
		finish_gone(n, nc);
	}
}
