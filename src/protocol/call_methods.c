/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The methods of calls and of streams.
 */
#include "protocol/methods.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "node/call_check.h"
#include "observe/log.h"
#include "protocol/field_json.h"
#include "protocol/kept_calls.h"
#include "protocol/tables/call_fields.h"
#include "protocol/results.h"

/* --- calls: named by the id of their first stream --- */

/* @arg: the call; the walker only reads. */
static bool stream_at(void *arg, unsigned i, void *item)
{
	const struct node_call *c = arg;

	if (i >= node_call_streams(c) || !node_call_stream(c, i))
		return false;
	node_stream_info(node_call_stream(c, i), item);
	return true;
}

static void describe_call(void *one, void *item)
{
	const struct node_call *c = one;
	struct call_info *to = item;

	*to = (struct call_info){ .id = node_call_id(c),
				  .label = node_call_label(c),
				  .streams = { stream_at, one } };
	if (node_call_streams(c) == 1)
		return;
	to->parties = &to->two;
	to->two.relay = node_call_relays(c);
	for (unsigned i = 0; i < 2; i++)
		node_call_party(c, i, &to->two.party[i]);
}

static json_t *call_json(struct node_call *c)
{
	struct call_info info;

	describe_call(c, &info);
	return field_write(call_info_fields, &info);
}

static json_t *start_call(struct service *sv, const struct service_request *a,
			  struct node_cost_wait *lacks, struct rpc_error *err)
{
	struct call_info info;
	struct node_call *c;
	int ret;

	if (!request_begins(sv, err))
		return NULL;
	ret = node_call_start(sv->node, &a->spec, lacks, &c, &err->why);
	if (request_code(ret) == RPC_NO_CAPACITY)
		log_event(LOG_INFO, "admit-refused",
			  LOG_STR("why", err->why.text));
	if (ret)
		return request_wait(ret, err);
	if (a->session) {
		node_call_set_owner(c, a->session);
		a->session->calls++;
	}
	keep_call(sv->node, c, &a->spec);
	describe_call(c, &info);
	if (!info.parties) {
		node_stream_place(node_call_stream(c, 0), &info.one);
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
	if (call_params(&a.spec, params, &err->why))
		return request_refuse(err, RPC_INVALID_PARAMS);
	/* a call that belongs to nobody does not end with who asks for it */
	if (a.spec.keep)
		a.session = NULL;
	return request_run(arg, peer, &a, err);
}

/* The stream with @id, or NULL with @err. */
static struct node_stream *stream_of_id(struct service *sv, uint32_t id,
					const char *what, struct rpc_error *err)
{
	struct node_stream *st = node_stream_find(sv->node, id);

	if (!st) {
		(void)cr_fail(&err->why, 0, "there is no %s %" PRIu32 "%s",
			      what, id,
			      node_stream_hung(sv->node, id)
				      ? " any more: hung, its worker does not "
					"come back from its codec"
				      : "");
		err->code = RPC_NO_SUCH_CALL;
	}
	return st;
}

/* The call with @id, or NULL with @err. */
static struct node_call *call_of_id(struct service *sv, uint32_t id,
				    struct rpc_error *err)
{
	struct node_call *c = node_call_find(sv->node, id);
	const struct node_stream *st;

	if (c)
		return c;
	st = stream_of_id(sv, id, "call", err);
	if (st)
		(void)cr_fail(&err->why, 0,
			      "there is no call %" PRIu32
			      ": it is a stream of call %" PRIu32,
			      id, node_call_id(node_stream_call(st)));
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

static int change_one(struct node_stream *st, const struct call_spec *ask,
		      struct node_cost_wait *lacks, struct cr_err *e)
{
	struct stream_cfg to = node_stream_cfg(st);
	uint32_t id = node_stream_id(st);
	int ret = call_check_change(&to, ask, e);

	if (!ret)
		ret = node_stream_change(st, &to, ask->end[1].side.mode != NULL,
					 e);
	if (ret == -EAGAIN)
		node_cost_need(lacks, &to, 1);
	if (request_code(ret) == RPC_NO_CAPACITY)
		log_event(LOG_INFO, "change-refused", LOG_INT("stream", id),
			  LOG_STR("why", e->text));
	if (!ret)
		log_event(LOG_INFO, "stream-changed", LOG_INT("stream", id),
			  LOG_WORD("class", call_class_names[to.terms.cls]));
	return ret;
}

static json_t *stream_json(struct node_stream *st)
{
	struct node_stream_info info;

	node_stream_info(st, &info);
	return field_write(stream_info_fields, &info);
}

static json_t *change_stream(struct service *sv,
			     const struct service_request *a,
			     struct node_cost_wait *lacks,
			     struct rpc_error *err)
{
	struct node_stream *st = stream_of_id(sv, a->spec.id, "stream", err);
	int ret;

	if (!st)
		return NULL;
	ret = change_one(st, &a->spec, lacks, &err->why);
	if (ret)
		return request_wait(ret, err);
	keep_stream_change(st, &a->spec);
	return stream_json(st);
}

json_t *method_stream_change(void *arg, struct rpc_peer *peer,
			     const json_t *params, struct rpc_error *err)
{
	struct service_request a = { .run = change_stream, .params = params };

	if (call_change_params(&a.spec, stream_change_fields, params,
			       &err->why) ||
	    call_change_kind(params, false, &err->why))
		return request_refuse(err, RPC_INVALID_PARAMS);
	return request_run(arg, peer, &a, err);
}

static json_t *change_call(struct service *sv, const struct service_request *a,
			   struct node_cost_wait *lacks, struct rpc_error *err)
{
	const struct call_spec *ask = &a->spec;
	struct node_call *c = call_of_id(sv, ask->id, err);
	int ret;

	if (!c)
		return NULL;
	ret = node_call_streams(c) == 2
		      ? node_call_change(c, ask->end, lacks, &err->why)
		      : change_one(node_call_stream(c, 0), ask, lacks,
				   &err->why);
	if (ret)
		return request_wait(ret, err);
	keep_call_change(c, ask);
	return call_json(c);
}

json_t *method_call_change(void *arg, struct rpc_peer *peer,
			   const json_t *params, struct rpc_error *err)
{
	struct service_request a = { .run = change_call, .params = params };
	const struct node_call *c;

	if (call_change_params(&a.spec, call_change_fields, params, &err->why))
		return request_refuse(err, RPC_INVALID_PARAMS);
	c = call_of_id(arg, a.spec.id, err);
	if (!c)
		return NULL;
	if (call_change_kind(params, node_call_streams(c) == 2, &err->why))
		return request_refuse(err, RPC_INVALID_PARAMS);
	return request_run(arg, peer, &a, err);
}

static json_t *end_call(struct service *sv, const struct rpc_peer *peer,
			const json_t *params, enum node_end why,
			struct rpc_error *err)
{
	const struct node_who who = { NODE_BY_CLIENT, peer->address };
	struct node_call *c = call_named(sv, params, err);
	json_t *o;

	if (!c)
		return NULL;
	o = call_json(c);
	node_call_stop(c, why, &who);
	return o;
}

json_t *method_call_stop(void *arg, struct rpc_peer *peer, const json_t *params,
			 struct rpc_error *err)
{
	return end_call(arg, peer, params, NODE_END_STOPPED, err);
}

/* --- from node to node --- */

json_t *method_call_export(void *arg, struct rpc_peer *peer,
			   const json_t *params, struct rpc_error *err)
{
	struct node_call *c = call_named(arg, params, err);
	char kept[STATE_TEXT_MAX + 1], records[STATE_RECORDS_TEXT], *text;
	json_t *o;

	(void)peer;
	if (!c)
		return NULL;
	if (!node_call_kept(c, kept)) {
		(void)cr_fail(&err->why, 0,
			      "no state is kept of this call: the node needs "
			      "--replicate, --supervise or a service manager "
			      "that holds descriptors");
		return request_refuse(err, RPC_UNSUPPORTED);
	}
	text = kept_text_public(kept);
	node_call_records(c, -clock_now(), records);
	o = field_write(call_state_fields,
			&(struct call_state){ text, records });
	free(text);
	return o;
}

static json_t *take_call_of(struct service *sv, const struct service_request *a,
			    struct node_cost_wait *lacks, struct rpc_error *err)
{
	struct node_call *c = NULL;
	int ret;

	if (!request_begins(sv, err))
		return NULL;
	ret = take_call(sv, a, lacks, &c, &err->why);
	return ret ? request_wait(ret, err) : call_json(c);
}

json_t *method_call_take(void *arg, struct rpc_peer *peer, const json_t *params,
			 struct rpc_error *err)
{
	struct service_request a = { .run = take_call_of,
				     .params = params,
				     .came = clock_now() };

	a.session = session_of(peer, err);
	if (!a.session)
		return request_refuse(err, RPC_CONFLICT);
	return request_read(call_state_fields, &a.state, params, err)
		       ? request_run(arg, peer, &a, err)
		       : NULL;
}

json_t *method_call_keep(void *arg, struct rpc_peer *peer, const json_t *params,
			 struct rpc_error *err)
{
	struct node_call *c = call_named(arg, params, err);
	struct session *s = c ? node_call_owner(c) : NULL;

	(void)peer;
	if (s) {
		s->calls--;
		node_call_set_owner(c, NULL);
		keep_call_owner(c);
	}
	return c ? call_json(c) : NULL;
}

json_t *method_call_moved(void *arg, struct rpc_peer *peer,
			  const json_t *params, struct rpc_error *err)
{
	return end_call(arg, peer, params, NODE_END_MOVED, err);
}

json_t *method_call_query(void *arg, struct rpc_peer *peer,
			  const json_t *params, struct rpc_error *err)
{
	struct node_call *c = call_named(arg, params, err);

	(void)peer;
	return c ? call_json(c) : NULL;
}

/* Those that call.query would find. */
static void *listed_call(struct node *n, uint32_t *id)
{
	struct node_call *c = node_call_after(n, *id);

	*id = c ? node_call_id(c) : *id;
	return c;
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

/* Those that stream.query would find. */
static void *listed_stream(struct node *n, uint32_t *id)
{
	struct node_stream *st;

	while ((st = node_stream_after(n, *id))) {
		*id = node_stream_id(st);
		if (!node_stream_ending(st))
			break;
	}
	return st;
}

json_t *method_stream_query(void *arg, struct rpc_peer *peer,
			    const json_t *params, struct rpc_error *err)
{
	struct stream_reference which;
	struct node_stream *st;

	(void)peer;
	if (!request_read(stream_reference_fields, &which, params, err))
		return NULL;
	st = stream_of_id(arg, which.stream, "stream", err);
	return st ? stream_json(st) : NULL;
}

static void describe_stream(void *one, void *item)
{
	node_stream_info(one, item);
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
	node_stream_info(top->call[i].call, &to->info);
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
	result.streams = node_streams(sv->node);
	result.sort = names[ask.sort];
	return field_write(stream_top_result_fields, &result);
}
