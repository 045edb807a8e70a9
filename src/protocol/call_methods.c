/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The methods of calls.
 */
#include "protocol/methods.h"

#include <inttypes.h>

#include "node/call_check.h"
#include "observe/log.h"
#include "protocol/field_json.h"
#include "protocol/tables/call_fields.h"
#include "protocol/results.h"

static json_t *start_call(struct service *sv, const struct service_request *a,
			  struct node_cost_wait *lacks, struct rpc_error *err)
{
	const struct call_spec *spec = &a->spec.start;
	struct stream_cfg cfg;
	struct node_call *nc;
	int ret;

	if (!request_begins(sv, err))
		return NULL;
	ret = call_check(&cfg, spec, &err->why);
	if (!ret)
		ret = node_call_start(sv->node, &cfg, spec, &nc, &err->why);
	if (ret == -EAGAIN)
		node_cost_need(lacks, &cfg, 1);
	if (request_code(ret) == RPC_NO_CAPACITY)
		log_event(LOG_INFO, "admit-refused",
			  LOG_STR("why", err->why.text));
	if (ret)
		return request_wait(ret, err);
	if (a->session) {
		node_call_set_owner(nc, a->session);
		a->session->calls++;
	}
	return result_place_json(nc);
}

json_t *method_call_start(void *arg, struct rpc_peer *peer,
			  const json_t *params, struct rpc_error *err)
{
	struct service_request a = { .run = start_call, .params = params };

	a.session = session_of(peer, err);
	if (!a.session)
		return request_refuse(err, RPC_CONFLICT);
	if (!request_begins(arg, err))
		return NULL;
	if (call_params(&a.spec.start, params, &err->why))
		return request_refuse(err, RPC_INVALID_PARAMS);
	/* a call that belongs to nobody does not end with who asks for it */
	if (a.spec.start.keep)
		a.session = NULL;
	return request_run(arg, peer, &a, err);
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

/* What is not said stays as it is at that moment: @a is read again. */
static json_t *change_call(struct service *sv, const struct service_request *a,
			   struct node_cost_wait *lacks, struct rpc_error *err)
{
	struct stream_cfg to;
	struct change_spec ask;
	struct node_call *nc;
	int ret;

	if (!request_read(call_change_fields, &ask, a->params, err))
		return NULL;
	nc = call_of_id(sv, ask.id, err);
	if (!nc)
		return NULL;
	to = node_call_cfg(nc);
	call_change_begin(&ask, &to);
	ret = call_change_params(&ask, a->params, &err->why);
	if (!ret)
		ret = call_check_change(&to, &ask, &err->why);
	if (!ret)
		ret = node_call_change(nc, &to, ask.end[1].side.mode != NULL,
				       &err->why);
	if (ret == -EAGAIN)
		node_cost_need(lacks, &to, 1);
	if (request_code(ret) == RPC_NO_CAPACITY)
		log_event(LOG_INFO, "change-refused", LOG_INT("call", ask.id),
			  LOG_STR("why", err->why.text));
	if (ret)
		return request_wait(ret, err);
	log_event(LOG_INFO, "call-changed", LOG_INT("call", ask.id),
		  LOG_WORD("class", call_class_names[to.terms.cls]));
	return result_call_json(nc);
}

json_t *method_call_change(void *arg, struct rpc_peer *peer,
			   const json_t *params, struct rpc_error *err)
{
	const struct service_request a = { .run = change_call,
					   .params = params };

	return request_run(arg, peer, &a, err);
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

/* Those that call.query would find. */
static void *listed_call(struct node *n, uint32_t *id)
{
	struct node_call *nc;

	while ((nc = node_call_after(n, *id))) {
		*id = node_call_id(nc);
		if (!node_call_ending(nc))
			break;
	}
	return nc;
}

static void describe_call(void *one, void *item)
{
	node_call_info(one, item);
}

json_t *method_call_list(void *arg, struct rpc_peer *peer, const json_t *params,
			 struct rpc_error *err)
{
	static const struct list_kind calls = { call_list_fields, listed_call,
						describe_call };

	(void)peer;
	return request_list(arg, &calls, params, err);
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
	struct call_top_result result = { .top = { top_at, &top } };
	struct call_top_request ask;

	(void)peer;
	if (!request_read(call_top_fields, &ask, params, err))
		return NULL;
	top.n = node_top(sv->node, (enum node_top_key)ask.sort, top.call,
			 ask.limit, &result.window);
	result.calls = node_calls(sv->node);
	result.sort = names[ask.sort];
	return field_write(call_top_result_fields, &result);
}
