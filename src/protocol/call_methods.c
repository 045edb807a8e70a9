/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The methods of calls and of streams.
 */
#include "protocol/methods.h"

#include <inttypes.h>

#include "node/call_check.h"
#include "observe/log.h"
#include "protocol/field_json.h"
#include "protocol/kept_calls.h"
#include "protocol/tables/call_fields.h"
#include "protocol/results.h"

/* --- calls: named by the id of their first stream --- */

/* @arg: the first stream; the walker only reads. */
static bool stream_at(void *arg, unsigned i, void *item)
{
	struct node_call *nc = arg;
	const struct conversation *two = node_call_conversation(nc);

	if (i && two)
		nc = conversation_stream(two, i);
	if (i >= (two ? 2 : 1) || !nc)
		return false;
	node_call_info(nc, item);
	return true;
}

static void describe_call(void *one, void *item)
{
	const struct conversation *two = node_call_conversation(one);
	struct call_info *to = item;

	*to = (struct call_info){ .id = node_call_id(one),
				  .streams = { stream_at, one } };
	if (!two)
		return;
	to->parties = &to->two;
	to->label = conversation_label(two);
	to->two.relay = conversation_relays(two);
	for (unsigned i = 0; i < 2; i++)
		conversation_party(two, i, &to->two.party[i]);
}

static json_t *call_json(struct node_call *nc)
{
	struct call_info info;

	describe_call(nc, &info);
	return field_write(call_info_fields, &info);
}

static int start_one(struct node *n, const struct call_spec *spec,
		     struct node_cost_wait *lacks, struct node_call **nc,
		     struct cr_err *e)
{
	struct stream_cfg cfg;
	int err = call_check(&cfg, spec, e);

	if (!err)
		err = node_call_start(n, &cfg, spec, nc, e);
	if (err == -EAGAIN)
		node_cost_need(lacks, &cfg, 1);
	return err;
}

static int start_two(struct node *n, const struct call_spec *spec,
		     struct node_cost_wait *lacks, struct node_call **nc,
		     struct cr_err *e)
{
	struct conversation *two;
	int err = conversation_start(n, spec, lacks, &two, e);

	if (!err)
		*nc = conversation_stream(two, 0);
	return err;
}

static void own_stream(struct node_call *nc, struct session *s)
{
	node_call_set_owner(nc, s);
	s->calls++;
}

static json_t *start_call(struct service *sv, const struct service_request *a,
			  struct node_cost_wait *lacks, struct rpc_error *err)
{
	const struct call_spec *spec = &a->spec.start;
	bool two = spec->port == CALL_PORT_EACH;
	struct call_info info;
	struct node_call *nc;
	int ret;

	if (!request_begins(sv, err))
		return NULL;
	ret = two ? start_two(sv->node, spec, lacks, &nc, &err->why)
		  : start_one(sv->node, spec, lacks, &nc, &err->why);
	if (request_code(ret) == RPC_NO_CAPACITY)
		log_event(LOG_INFO, "admit-refused",
			  LOG_STR("why", err->why.text));
	if (ret)
		return request_wait(ret, err);
	if (a->session)
		own_stream(nc, a->session);
	if (a->session && two)
		own_stream(conversation_stream(node_call_conversation(nc), 1),
			   a->session);
	keep_call(sv->node, nc, a->params);
	describe_call(nc, &info);
	if (!two) {
		node_call_place(nc, &info.one);
		info.place = &info.one;
	}
	return field_write(call_started_fields, &info);
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

/* The stream with @id, or NULL with @err. */
static struct node_call *stream_of_id(struct service *sv, uint32_t id,
				      const char *what, struct rpc_error *err)
{
	struct node_call *nc = node_call_find(sv->node, id);

	if (!nc) {
		(void)cr_fail(&err->why, 0, "there is no %s %" PRIu32 "%s",
			      what, id,
			      node_call_hung(sv->node, id)
				      ? " any more: hung, its worker does not "
					"come back from its codec"
				      : "");
		err->code = RPC_NO_SUCH_CALL;
	}
	return nc;
}

/* The first stream of the call with @id, or NULL with @err. */
static struct node_call *call_of_id(struct service *sv, uint32_t id,
				    struct rpc_error *err)
{
	struct node_call *nc = stream_of_id(sv, id, "call", err);
	const struct conversation *two = nc ? node_call_conversation(nc) : NULL;

	if (!two || conversation_id(two) == id)
		return nc;
	(void)cr_fail(&err->why, 0,
		      "there is no call %" PRIu32
		      ": it is a stream of call %" PRIu32,
		      id, conversation_id(two));
	err->code = RPC_NO_SUCH_CALL;
	return NULL;
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

/* What is not said stays as it is at that moment: @params are read again. */
static int change_one(struct node_call *nc, const json_t *params,
		      struct node_cost_wait *lacks, struct cr_err *e)
{
	struct stream_cfg to = node_call_cfg(nc);
	struct change_spec ask;
	uint32_t id = node_call_id(nc);
	int ret;

	call_change_begin(&ask, &to);
	ret = call_change_params(&ask, params, e);
	if (!ret)
		ret = call_check_change(&to, &ask, e);
	if (!ret)
		ret = node_call_change(nc, &to, ask.end[1].side.mode != NULL,
				       e);
	if (ret == -EAGAIN)
		node_cost_need(lacks, &to, 1);
	if (request_code(ret) == RPC_NO_CAPACITY)
		log_event(LOG_INFO, "change-refused", LOG_INT("call", id),
			  LOG_STR("why", e->text));
	if (!ret)
		log_event(LOG_INFO, "call-changed", LOG_INT("call", id),
			  LOG_WORD("class", call_class_names[to.terms.cls]));
	return ret;
}

static json_t *change_call(struct service *sv, const struct service_request *a,
			   struct node_cost_wait *lacks, struct rpc_error *err)
{
	struct change_spec ask = { 0 };
	struct conversation *two;
	struct node_call *nc;
	int ret;

	if (!request_read(call_change_fields, &ask, a->params, err))
		return NULL;
	nc = call_of_id(sv, ask.id, err);
	if (!nc)
		return NULL;
	two = node_call_conversation(nc);
	ret = call_change_kind(a->params, two, &err->why);
	if (!ret)
		ret = two ? conversation_change(two, ask.end, lacks, &err->why)
			  : change_one(nc, a->params, lacks, &err->why);
	if (ret)
		return request_wait(ret, err);
	keep_call_change(nc, a->params);
	return call_json(nc);
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
	o = call_json(nc);
	node_call_stop(nc, NODE_END_STOPPED, &who);
	return o;
}

json_t *method_call_query(void *arg, struct rpc_peer *peer,
			  const json_t *params, struct rpc_error *err)
{
	struct node_call *nc = call_named(arg, params, err);

	(void)peer;
	return nc ? call_json(nc) : NULL;
}

/* Those that stream.query would find. */
static void *listed_stream(struct node *n, uint32_t *id)
{
	struct node_call *nc;

	while ((nc = node_call_after(n, *id))) {
		*id = node_call_id(nc);
		if (!node_call_ending(nc))
			break;
	}
	return nc;
}

/* Those that call.query would find. */
static void *listed_call(struct node *n, uint32_t *id)
{
	struct node_call *nc;
	const struct conversation *two;

	do {
		nc = listed_stream(n, id);
		two = nc ? node_call_conversation(nc) : NULL;
	} while (two && conversation_id(two) != *id);
	return nc;
}

json_t *method_call_list(void *arg, struct rpc_peer *peer, const json_t *params,
			 struct rpc_error *err)
{
	static const struct list_kind calls = { call_list_fields, listed_call,
						describe_call };

	(void)peer;
	return request_list(arg, &calls, params, err);
}

/* --- streams --- */

json_t *method_stream_query(void *arg, struct rpc_peer *peer,
			    const json_t *params, struct rpc_error *err)
{
	struct stream_reference which;
	struct node_call_info info;
	struct node_call *nc;

	(void)peer;
	if (!request_read(stream_reference_fields, &which, params, err))
		return NULL;
	nc = stream_of_id(arg, which.stream, "stream", err);
	if (!nc)
		return NULL;
	node_call_info(nc, &info);
	return field_write(stream_info_fields, &info);
}

static void describe_stream(void *one, void *item)
{
	node_call_info(one, item);
}

json_t *method_stream_list(void *arg, struct rpc_peer *peer,
			   const json_t *params, struct rpc_error *err)
{
	static const struct list_kind streams = { stream_list_fields,
						  listed_stream,
						  describe_stream };

	(void)peer;
	return request_list(arg, &streams, params, err);
}

/* --- the first ones --- */

struct top {
	unsigned n;
	struct node_top call[PAGE_MAX];
};

static bool top_at(void *arg, unsigned i, void *item)
{
	const struct top *top = arg;
	struct stream_top_entry *to = item;

	if (i >= top->n)
		return false;
	node_call_info(top->call[i].call, &to->info);
	node_top_rates(top->call[i].call, &to->rates);
	return true;
}

json_t *method_stream_top(void *arg, struct rpc_peer *peer,
			  const json_t *params, struct rpc_error *err)
{
	static const char *const names[] = { NODE_TOP_NAMES };
	struct service *sv = arg;
	struct top top = { 0 };
	struct stream_top_result result = { .top = { top_at, &top } };
	struct stream_top_request ask;

	(void)peer;
	if (!request_read(stream_top_fields, &ask, params, err))
		return NULL;
	top.n = node_top(sv->node, (enum node_top_key)ask.sort, top.call,
			 ask.limit, &result.window);
	result.streams = node_calls(sv->node);
	result.sort = names[ask.sort];
	return field_write(stream_top_result_fields, &result);
}
