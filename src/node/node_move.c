/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that move to another process, and back if that fails.
 */
#include "node/node_move.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "node/node_impl.h"
#include "observe/store.h"

/* Looks at what is to end before the rest counts as hung. */
enum { REAPS = 100 };

/* Free what has ended, unless it hangs. */
static void reap_all(struct node *n)
{
	for (unsigned i = 0; i < REAPS && n->nending; i++) {
		rcu_done();
		node_reap(-1, 0, n);
	}
}

/* --- the old process --- */

int node_may_move(struct node *n, struct cr_err *e)
{
	char text[STATE_TEXT_MAX + 1];
	unsigned calls = 0, stay = 0;
	struct node_endpoint *ep = NULL;
	struct node_call *c = NULL;

	reap_all(n);
	while ((c = node_call_after(n, c ? c->id : 0))) {
		calls++;
		stay += !node_call_kept(c, text);
	}
	if (stay)
		return cr_fail(
			e, -EBUSY,
			"%u of %u calls are not kept, and cannot move to "
			"another process; drain the node instead",
			stay, calls);
	while ((ep = node_endpoint_after(n, ep ? ep->id : 0)))
		if (!ep->call && !ep->slot)
			return cr_fail(e, -EBUSY,
				       "endpoint %u is not kept, and cannot "
				       "move to another process: close it, or "
				       "drain the node instead",
				       ep->id);
	if (n->nending || converter_active(n->converter))
		return cr_fail(e, -EBUSY, "%s: try again when that is over",
			       n->nending ? "a call that ends is not over yet"
					  : "files are converted");
	return 0;
}

bool node_unit_next(struct node *n, enum node_unit_kind kind,
		    struct node_unit *u)
{
	const bool ports = kind == NODE_UNIT_CALL;
	struct node_endpoint *ep = NULL;
	struct node_call *c = NULL;

	if (kind == NODE_UNIT_ENDPOINT) {
		ep = node_endpoint_after(n, u->id);
		while (ep && ep->call)
			ep = node_endpoint_after(n, ep->id);
	} else {
		c = node_call_after(n, u->id);
		while (c && (c->ending || (c->endpoint[0] != NULL) != ports))
			c = node_call_after(n, c->id);
	}
	*u = (struct node_unit){ c ? c->id : ep ? ep->id : 0, c, ep };
	return c || ep;
}

/* Its endpoint @i, or NULL. */
static struct node_endpoint *end_of(const struct node_unit *u, unsigned i)
{
	if (u->call)
		return u->call->endpoint[i];
	return i ? NULL : u->endpoint;
}

const struct state_slot *node_slot_at(const struct node *n, unsigned i)
{
	return state_slot_seen(n->cfg.state, i);
}

uint64_t node_texts(const struct node *n)
{
	return n->texts;
}

uint64_t node_slot_version(const struct node *n, unsigned slot)
{
	const struct state_slot *at = state_slot_seen(n->cfg.state, slot);

	return at ? state_version(at).text : 0;
}

static struct node_move move_of(const struct node *n,
				const struct state_slot *slot)
{
	return (struct node_move){
		.slot = state_slot_number(n->cfg.state, slot),
		.version = state_version(slot).text,
	};
}

/* @ep, which is held as @end->name says. */
static void list_ports(const struct node_endpoint *ep,
		       struct node_move_end *end)
{
	end->nfd = ep->ports.rtcp >= 0 ? 2 : 1;
	end->fd[0] = ep->ports.rtp;
	end->fd[1] = ep->ports.rtcp;
}

unsigned node_unit_slots(const struct node_unit *u,
			 struct node_move out[NODE_UNIT_SLOTS])
{
	const struct node *n = u->call ? u->call->node : u->endpoint->node;
	struct node_move call = { .slot = 0 };
	unsigned slots = 0;

	if (u->call && u->call->slot)
		call = move_of(n, u->call->slot);
	call.is_call = true;

	for (unsigned i = 0; i < 2; i++) {
		const struct node_endpoint *ep = end_of(u, i);

		if (ep && ep->slot) {
			struct node_move *m = &out[slots];

			*m = move_of(n, ep->slot);
			(void)node_endpoint_name(m->end[0].name, ep->id);
			list_ports(ep, &m->end[0]);
			slots += m->version != 0;
		} else if (ep && u->call) {
			(void)node_call_name(call.end[i].name, u->call->id, i);
			list_ports(ep, &call.end[i]);
		}
	}
	out[slots] = call;
	return slots + (call.version != 0);
}

void node_unit_pause(const struct node_unit *u)
{
	for (unsigned i = 0; i < 2; i++) {
		const struct node_endpoint *ep = end_of(u, i);

		if (ep)
			receivers_pause_endpoint(ep->node->receivers,
						 ep->endpoint);
	}
}

void node_move_begin(struct node *n)
{
	receivers_begin_pauses(n->receivers);
}

bool node_move_cost(const struct node *n, unsigned i, char text[COST_TEXT])
{
	return costs_write_part(n->costs, i, text);
}

void node_move_pause_shared(struct node *n)
{
	receivers_pause_shared(n->receivers);
}

bool node_move_unread(const struct node *n)
{
	return receivers_rest(n->receivers);
}

bool node_move_received(const struct node *n)
{
	return receivers_took_all(n->receivers);
}

bool node_unit_rests(const struct node_unit *u)
{
	for (unsigned i = 0; u->call && i < u->call->nstreams; i++) {
		const struct transcoder *c =
			node_stream_transcoder(u->call->stream[i]);

		if (!c || transcoder_is_idle(c))
			continue;
		node_flush(u->call->node);
		if (!transcoder_is_idle(c))
			return false;
	}
	return true;
}

int node_unit_back(const struct node_unit *u, bool given, struct cr_err *e)
{
	int err = 0;

	for (unsigned i = 0; given && u->call && i < u->call->nstreams; i++) {
		struct stream *s = u->call->stream[i]->stream;
		struct state_stream *kept = &u->call->slot->stream[i];
		struct state_sent was;

		state_end_frame(kept); /* of a process that has died in one */
		if (state_get_sent(kept, &was) && was.at &&
		    was.seq != s->out.seq)
			stream_resume(s, &was);
	}
	for (unsigned i = 0; i < 2; i++) {
		const struct node_endpoint *ep = end_of(u, i);

		if (ep && given)
			endpoint_rtcp_reclaim(ep->endpoint);
		if (ep && !err)
			err = receivers_go_on_endpoint(ep->node->receivers,
						       ep->endpoint, e);
	}
	return err;
}

int node_move_back_shared(struct node *n, struct cr_err *e)
{
	return receivers_listen(n->receivers, n->fd, e);
}

/* --- the new process --- */

int node_move_take_cost(struct node *n, const char *text)
{
	return costs_read_part(n->costs, text);
}

/* End what was built of @c. Those of its endpoints that have slots stay. */
static void drop_call(struct node_call *c)
{
	char name[NODE_HELD_NAME];
	bool opened[2] = { false };

	for (unsigned i = 0; i < 2; i++) {
		struct node_endpoint *ep = c->endpoint[i];

		store_forget(c->node->cfg.store,
			     node_call_name(name, c->id, i));
		if (!ep || !ep->slot)
			continue;
		opened[i] = ep->opened;
		ep->opened = true;
	}
	node_call_undo(c);
	for (unsigned i = 0; i < 2; i++)
		if (c->endpoint[i] && c->endpoint[i]->slot)
			c->endpoint[i]->opened = opened[i];
}

void *node_move_drop(struct node *n, unsigned slot)
{
	const struct state_slot *of = state_slot_seen(n->cfg.state, slot);
	struct node_endpoint *ep = node_endpoint_after(n, 0);
	struct node_call *c = node_call_after(n, 0);
	void *owner = NULL;
	char name[NODE_HELD_NAME];

	while (ep && ep->slot != of)
		ep = node_endpoint_after(n, ep->id);
	while (c && c->slot != of && (!ep || c != ep->call))
		c = node_call_after(n, c->id);
	if (c) {
		owner = c->owner;
		drop_call(c);
	}
	if (ep) {
		store_forget(n->cfg.store, node_endpoint_name(name, ep->id));
		node_endpoint_disown(ep);
	}
	return owner;
}

void node_move_dropped(struct node *n)
{
	reap_all(n);
	rcu_done();
}

int node_move_go_on(struct node *n, enum node_unit_kind kind, uint32_t id,
		    struct cr_err *e)
{
	struct node_endpoint *ep = node_endpoint_find(n, id);
	struct node_call *c = node_call_find(n, id);

	if (kind == NODE_UNIT_ENDPOINT && ep)
		node_endpoint_go_on(ep);
	else if (kind != NODE_UNIT_ENDPOINT && c)
		node_call_go_on(c);
	else
		return cr_fail(e, -ENOENT,
			       "what has id %" PRIu32 " is not here", id);
	return 0;
}

void node_move_pass(struct node *n, const struct node_move *m)
{
	for (unsigned i = 0; i < 2; i++)
		if (m->end[i].nfd)
			store_pass(n->cfg.store, m->end[i].name, m->end[i].fd,
				   m->end[i].nfd);
}

int node_arrived(struct node *n, struct cr_err *e)
{
	n->cfg.arrives = false;
	return node_restored_all(n, e);
}
