/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The methods of calls.
 */
#include <errno.h>
#include <inttypes.h>

#include "node/bounds.h"
#include "node/call_params.h"
#include "observe/log.h"
#include "protocol/methods.h"
#include "protocol/request.h"

static json_t *started(struct node_call *nc)
{
	const struct call_cfg *cfg = &nc->call->cfg;
	const struct bound bound = bound_of(nc);
	char here[64];
	json_t *o;

	node_call_address(nc, here, sizeof(here));
	o = json_pack("{s:I,s:{s:s,s:I,s:i},s:{s:I,s:i,s:I,s:I,s:I},s:f}",
		      "call", (json_int_t)cfg->id, "rtp", "address", here,
		      "ssrc", (json_int_t)cfg->ssrc_in, "pt", (int)cfg->pt_in,
		      "out", "ssrc", (json_int_t)cfg->ssrc_out, "pt",
		      (int)cfg->pt_out, "ts_base", (json_int_t)cfg->ts_out,
		      "clock", (json_int_t)pipeline_side_clock(&cfg->media.out),
		      "in_clock",
		      (json_int_t)pipeline_side_clock(&cfg->media.in), "load",
		      (double)nc->cost->cost.mean / (double)nc->cost->period);
	bound_put(o, &bound);
	return o;
}

json_t *call_start(void *arg, struct rpc_peer *peer, const json_t *params,
		   struct rpc_error *err)
{
	struct service *sv = arg;
	struct session *s = session_of(peer, err);
	struct call_request request;
	struct node_call *nc;
	int ret;

	if (!s)
		return request_refuse(err, RPC_CONFLICT);
	if (sv->draining) {
		(void)cr_fail(&err->why, 0,
			      "draining: this node takes no new calls");
		return request_refuse(err, RPC_DRAINING);
	}
	ret = call_params(&request, params, &err->why);
	if (!ret)
		ret = node_call_start(sv->node, &request.cfg, request.own_port,
				      &nc, &err->why);
	if (ret) {
		if (ret == -ENOSPC)
			log_event(LOG_INFO, "admit-refused", "why=\"%s\"",
				  err->why.text);
		return request_refuse(err, request_code(ret));
	}
	if (!request.keep) {
		nc->owner = s;
		s->calls++;
	}
	return started(nc);
}

/* The call with @id, or NULL with @err (which says why already: 0). */
static struct node_call *call_of_id(struct service *sv, uint32_t id,
				    struct rpc_error *err)
{
	struct node_call *nc = id ? node_call_find(sv->node, id) : NULL;

	if (id && !nc) {
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
	return call_of_id(sv, request_id(params, "call", err), err);
}

json_t *call_change(void *arg, struct rpc_peer *peer, const json_t *params,
		    struct rpc_error *err)
{
	uint32_t id = request_id_among(params, "call", err);
	struct node_call *nc = call_of_id(arg, id, err);
	struct call_cfg to;
	int ret;

	(void)peer;
	if (!nc)
		return NULL;
	to = nc->call->cfg;
	to.media.out.cfg.mode = pipeline_mode(nc->call->pipeline);
	ret = call_change_params(&to, params, &err->why);
	if (!ret)
		ret = node_call_change(nc, &to, call_change_names_mode(params),
				       &err->why);
	if (ret) {
		if (ret == -ENOSPC)
			log_event(LOG_INFO, "change-refused",
				  "call=%" PRIu32 " why=\"%s\"", id,
				  err->why.text);
		return request_refuse(err, request_code(ret));
	}
	log_event(LOG_INFO, "call-changed", "call=%" PRIu32 " class=%s", id,
		  call_class_names[to.cls]);
	return node_call_json(nc);
}

json_t *call_stop(void *arg, struct rpc_peer *peer, const json_t *params,
		  struct rpc_error *err)
{
	struct node_call *nc = call_named(arg, params, err);
	json_t *o;

	(void)peer;
	if (!nc)
		return NULL;
	o = node_call_json(nc);
	node_call_stop(nc, NODE_END_STOPPED);
	return o;
}

json_t *call_query(void *arg, struct rpc_peer *peer, const json_t *params,
		   struct rpc_error *err)
{
	struct node_call *nc = call_named(arg, params, err);

	(void)peer;
	return nc ? node_call_json(nc) : NULL;
}

/* The first call above @after that call.query would find, or NULL. */
static struct node_call *living_after(struct node *n, uint32_t after)
{
	struct node_call *nc = node_call_after(n, after);

	while (nc && nc->ending)
		nc = node_call_after(n, nc->call->cfg.id);
	return nc;
}

json_t *call_list(void *arg, struct rpc_peer *peer, const json_t *params,
		  struct rpc_error *err)
{
	struct service *sv = arg;
	struct request_page page;
	struct node_call *nc;
	json_t *calls;

	(void)peer;
	if (!request_page(&page, params, err))
		return NULL;
	calls = json_array();
	while (page.limit-- && (nc = living_after(sv->node, page.after))) {
		page.after = nc->call->cfg.id;
		(void)json_array_append_new(calls, node_call_json(nc));
	}
	return json_pack("{s:o,s:b}", "calls", calls, "more",
			 living_after(sv->node, page.after) != NULL);
}
