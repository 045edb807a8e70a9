/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The methods of calls.
 */
#include "protocol/methods.h"

#include <errno.h>
#include <inttypes.h>

#include "node/call_check.h"
#include "observe/log.h"
#include "protocol/field.h"
#include "protocol/tables/call.h"
#include "protocol/results.h"

/* A refusal, unless the cost has to be known first: then @wait. */
static json_t *refuse_start(int ret, bool *wait, struct rpc_error *err)
{
	*wait = ret == -EAGAIN;
	return *wait ? NULL : request_refuse(err, request_code(ret));
}

/* What a call.start comes to. */
struct start {
	struct call_request request;
	struct call_cfg cfg;
	bool wait; /* for its cost */
};

static json_t *start_call_now(struct service *sv, struct session *s,
			      const json_t *params, struct start *to,
			      struct rpc_error *err)
{
	const struct call_request *request = &to->request;
	struct node_port_request port;
	struct node_call *nc;
	int ret;

	to->wait = false;
	if (sv->draining) {
		(void)cr_fail(&err->why, 0,
			      "draining: this node takes no new calls");
		return request_refuse(err, RPC_DRAINING);
	}
	ret = call_params(&to->request, params, &err->why);
	if (!ret)
		ret = call_check(&to->cfg, request, &err->why);
	port = (struct node_port_request){
		.own = request->port == CALL_PORT_OWN,
		.interface = request->interface,
		.rtcp = request->rtcp,
	};
	if (!ret)
		ret = node_call_start(sv->node, &to->cfg, &port, &nc,
				      &err->why);
	if (request_code(ret) == RPC_NO_CAPACITY)
		log_event(LOG_INFO, "admit-refused",
			  LOG_STR("why", err->why.text));
	if (ret)
		return refuse_start(ret, &to->wait, err);
	if (!request->keep) {
		node_call_set_owner(nc, s);
		s->calls++;
	}
	return result_place_json(nc);
}

static json_t *start_call_again(struct service *sv, struct session *s,
				const json_t *params, struct rpc_error *err)
{
	struct start to;

	return start_call_now(sv, s, params, &to, err);
}

json_t *method_call_start(void *arg, struct rpc_peer *peer,
			  const json_t *params, struct rpc_error *err)
{
	struct service *sv = arg;
	struct session *s = session_of(peer, err);
	struct start to;
	json_t *result;

	if (!s)
		return request_refuse(err, RPC_CONFLICT);
	result = start_call_now(sv, s, params, &to, err);
	/* a call that belongs to nobody does not end with who asks for it */
	return to.wait ? deferred_begin(sv, peer, to.request.keep ? NULL : s,
					params, &to.cfg, 1, start_call_again,
					err)
		       : result;
}

/* The call with @id, or NULL with @err. */
static struct node_call *call_of_id(struct service *sv, uint32_t id,
				    struct rpc_error *err)
{
	struct node_call *nc = node_call_find(sv->node, id);

	if (!nc) {
		(void)cr_fail(&err->why, 0, "there is no call %" PRIu32 "%s",
			      id,
			      node_call_hung(sv->node, id)
				      ? " any more: hung, its worker does not "
					"come back from its codec"
				      : "");
		err->code = RPC_NO_SUCH_CALL;
	}
	return nc;
}

/* The call that the only member, "call", names, or NULL with @err. */
static struct node_call *call_named(struct service *sv, const json_t *params,
				    struct rpc_error *err)
{
	struct call_reference which;

	if (!request_read(call_reference_fields, &which, params, err))
		return NULL;
	return call_of_id(sv, which.call, err);
}

/* The call that @params, of call.change, is about; NULL with @err. */
static struct node_call *call_to_change(struct service *sv,
					const json_t *params,
					struct rpc_error *err)
{
	struct call_change_request ask;

	return request_read(call_change_fields, &ask, params, err)
		       ? call_of_id(sv, ask.call, err)
		       : NULL;
}

/* @to is what the call becomes; @wait: when its cost is known. */
static json_t *change_call(struct service *sv, const json_t *params,
			   struct call_cfg *to, bool *wait,
			   struct rpc_error *err)
{
	struct node_call *nc = call_to_change(sv, params, err);
	struct call_change_request ask;
	int ret;

	*wait = false;
	if (!nc)
		return NULL;
	*to = node_call_cfg(nc);
	call_change_begin(&ask, to);
	ret = call_change_params(&ask, params, &err->why);
	if (!ret)
		ret = call_check_change(to, &ask, &err->why);
	if (!ret)
		ret = node_call_change(nc, to, ask.mode != NULL, &err->why);
	if (request_code(ret) == RPC_NO_CAPACITY)
		log_event(LOG_INFO, "change-refused", LOG_INT("call", ask.call),
			  LOG_STR("why", err->why.text));
	if (ret)
		return refuse_start(ret, wait, err);
	log_event(LOG_INFO, "call-changed", LOG_INT("call", ask.call),
		  LOG_WORD("class", call_class_names[to->terms.cls]));
	return result_call_json(nc);
}

static json_t *change_call_again(struct service *sv, struct session *s,
				 const json_t *params, struct rpc_error *err)
{
	struct call_cfg to;
	bool wait;

	(void)s;
	return change_call(sv, params, &to, &wait, err);
}

json_t *method_call_change(void *arg, struct rpc_peer *peer,
			   const json_t *params, struct rpc_error *err)
{
	struct call_cfg to;
	bool wait;
	json_t *result = change_call(arg, params, &to, &wait, err);

	return wait ? deferred_begin(arg, peer, NULL, params, &to, 1,
				     change_call_again, err)
		    : result;
}

json_t *method_call_stop(void *arg, struct rpc_peer *peer, const json_t *params,
			 struct rpc_error *err)
{
	struct node_call *nc = call_named(arg, params, err);
	const struct node_who who = { NODE_BY_CLIENT, peer->address };
	json_t *o;

	if (!nc)
		return NULL;
	o = result_call_json(nc);
	node_call_stop(nc, NODE_END_STOPPED, &who);
	return o;
}

json_t *method_call_query(void *arg, struct rpc_peer *peer,
			  const json_t *params, struct rpc_error *err)
{
	struct node_call *nc = call_named(arg, params, err);

	(void)peer;
	return nc ? result_call_json(nc) : NULL;
}

/* The first call above @after that call.query would find, or NULL. */
static struct node_call *living_after(struct node *n, uint32_t after)
{
	struct node_call *nc = node_call_after(n, after);

	while (nc && node_call_ending(nc))
		nc = node_call_after(n, node_call_id(nc));
	return nc;
}

/* The calls of one page. Nothing ends while a page is written. */
struct page {
	unsigned n;
	struct node_call *call[PAGE_MAX];
};

static bool call_at(void *arg, unsigned i, void *item)
{
	const struct page *page = arg;

	if (i >= page->n)
		return false;
	result_call(page->call[i], item);
	return true;
}

json_t *method_call_list(void *arg, struct rpc_peer *peer, const json_t *params,
			 struct rpc_error *err)
{
	struct service *sv = arg;
	struct page page = { 0 };
	struct call_list_result tell = { .calls = { call_at, &page } };
	struct page_request ask;
	struct node_call *nc;

	(void)peer;
	if (!request_read(page_fields, &ask, params, err))
		return NULL;
	while (page.n < ask.limit && (nc = living_after(sv->node, ask.after))) {
		ask.after = node_call_id(nc);
		page.call[page.n++] = nc;
	}
	tell.more = living_after(sv->node, ask.after) != NULL;
	return field_write(call_list_fields, &tell);
}

/* --- the first ones --- */

struct top {
	unsigned n;
	struct node_top call[PAGE_MAX];
};

static bool top_at(void *arg, unsigned i, void *item)
{
	const struct top *top = arg;
	struct call_top_entry *to = item;

	if (i >= top->n)
		return false;
	node_call_info(top->call[i].call, &to->info);
	node_top_rates(top->call[i].call, &to->rates);
	return true;
}

json_t *method_call_top(void *arg, struct rpc_peer *peer, const json_t *params,
			struct rpc_error *err)
{
	static const char *const names[] = { NODE_TOP_NAMES };
	struct service *sv = arg;
	struct top top = { 0 };
	struct call_top_result tell = { .top = { top_at, &top } };
	struct call_top_request ask;

	(void)peer;
	if (!request_read(call_top_fields, &ask, params, err))
		return NULL;
	top.n = node_top(sv->node, (enum node_top_key)ask.sort, top.call,
			 ask.limit, &tell.window);
	tell.calls = node_calls(sv->node);
	tell.sort = names[ask.sort];
	return field_write(call_top_result_fields, &tell);
}
