/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams of conversations that begin as relays.
 *
 *   start:  -> the endpoint's packets go to it
 *   stop:   its endpoints out of the receivers -> grace period (rx lets go)
 *           -> node_call_gone() -> node_reap() on the control thread
 */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "node/node_impl.h"

int node_relay_start(struct node *n, struct call_cfg *cfg,
		     struct conversation *of, struct node_call **out,
		     struct cr_err *e)
{
	struct relay_types *types = relay_types_new(
		cfg, call_aux_types(cfg, (struct aux_types){ 0 }));
	struct node_call *nc = calloc(1, sizeof(*nc));

	cfg->id = n->last_id + 1;
	cfg->receiver = cfg->in_endpoint->cfg.receiver;
	cfg->ring_frames = n->cfg.ring_frames;
	if (nc && types)
		nc->relay = relay_new(cfg, types);
	if (!nc || !nc->relay) {
		free(types);
		free(nc);
		return cr_fail(e, -ENOMEM, "out of memory for a relay");
	}
	nc->relays = true;
	n->last_id++;
	nc->id = cfg->id;
	nc->node = n;
	nc->started = clock_now();
	nc->started_utc = clock_read(CLOCK_REALTIME);
	nc->conversation = of;
	nc->relay->owner = nc;
	endpoint_relay(cfg->in_endpoint, nc->relay);
	node_call_enter(n, nc);
	*out = nc;
	return 0;
}

/* On the thread of what is deferred: the receiver can no longer hold it. */
static void gone(struct rcu_later *head)
{
	rcu_deferred();
	node_call_gone(caa_container_of(head, struct relay, rcu)->owner);
}

void node_relay_leave(struct node_call *nc)
{
	rcu_defer(&nc->relay->rcu, gone);
}
