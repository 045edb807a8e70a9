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

/* --- the old process --- */

int node_may_move(struct node *n, struct cr_err *e)
{
	char text[STATE_TEXT_MAX + 1];
	unsigned calls = 0, stay = 0;
	struct node_endpoint *ep = NULL;
	struct node_call *c = NULL;

	for (unsigned i = 0; i < REAPS && n->nending; i++) {
		rcu_done();
		node_reap(-1, 0, n);
	}
	while ((c = node_call_after(n, c ? c->id : 0))) {
		if (c->ending)
			continue;
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

/* @ep, which is held as @end->name says. */
static void pause_end(const struct node_endpoint *ep, struct node_move_end *end)
{
	end->nfd = ep->ports.rtcp >= 0 ? 2 : 1;
	end->fd[0] = ep->ports.rtp;
	end->fd[1] = ep->ports.rtcp;
	receivers_pause_endpoint(ep->node->receivers, ep->endpoint);
}

unsigned node_unit_pause(const struct node_unit *u,
			 struct node_move out[NODE_UNIT_SLOTS])
{
	struct node *n = u->call ? u->call->node : u->endpoint->node;
	struct node_move call = { .slot = 0 };
	unsigned slots = 0;

	for (unsigned i = 0; i < 2; i++) {
		const struct node_endpoint *ep = end_of(u, i);

		if (ep && ep->slot) {
			struct node_move *m = &out[slots++];

			*m = (struct node_move){ .slot = state_slot_number(
							 n->cfg.state,
							 ep->slot) };
			(void)node_endpoint_name(m->end[0].name, ep->id);
			pause_end(ep, &m->end[0]);
		} else if (ep) {
			(void)node_call_name(call.end[i].name, u->call->id, i);
			pause_end(ep, &call.end[i]);
		}
	}
	if (!u->call)
		return slots;
	call.slot = state_slot_number(n->cfg.state, u->call->slot);
	out[slots++] = call;
	return slots;
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

void node_move_ahead(struct node *n, bool ahead)
{
	n->restores_ahead = ahead;
}

int node_move_go_on(struct node *n, uint32_t id, struct cr_err *e)
{
	struct node_call *c = node_call_find(n, id);

	if (!c)
		return cr_fail(e, -ENOENT, "call %" PRIu32 " is not here", id);
	node_call_go_on(c);
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
