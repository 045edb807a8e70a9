/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The methods of endpoints.
 */
#include "protocol/methods.h"

#include <inttypes.h>

#include "node/node_call.h"
#include "node/node_endpoint.h"
#include "protocol/field_json.h"
#include "protocol/kept_calls.h"
#include "protocol/tables/endpoint_fields.h"

static json_t *endpoint_json(const struct node_endpoint *ep)
{
	struct node_endpoint_info info;

	node_endpoint_info(ep, &info);
	return field_write(endpoint_info_fields, &info);
}

json_t *method_endpoint_open(void *arg, struct rpc_peer *peer,
			     const json_t *params, struct rpc_error *err)
{
	struct service *sv = arg;
	struct session *s = session_of(peer, err);
	struct endpoint_open_request ask = { 0 };
	struct node_endpoint *ep;
	int ret;

	if (!s)
		return request_refuse(err, RPC_CONFLICT);
	if (!request_read(endpoint_open_fields, &ask, params, err))
		return NULL;
	if (!request_begins(sv, err))
		return NULL;
	ret = node_endpoint_open(sv->node, &ask.end, &endpoint_own_names, &ep,
				 &err->why);
	if (ret)
		return request_refuse(err, request_code(ret));
	ep->opened = true;
	ep->owner = ask.keep ? NULL : s;
	keep_endpoint(ep);
	return endpoint_json(ep);
}

/* The one with @id, or NULL with @err. */
static struct node_endpoint *endpoint_of_id(struct service *sv, uint32_t id,
					    struct rpc_error *err)
{
	struct node_endpoint *ep = node_endpoint_find(sv->node, id);

	if (!ep) {
		(void)cr_fail(&err->why, 0, "there is no endpoint %" PRIu32,
			      id);
		err->code = RPC_NO_SUCH_CALL;
	}
	return ep;
}

static struct node_endpoint *endpoint_named(struct service *sv,
					    const json_t *params,
					    struct rpc_error *err)
{
	struct endpoint_reference which;

	if (!request_read(endpoint_reference_fields, &which, params, err))
		return NULL;
	return endpoint_of_id(sv, which.endpoint, err);
}

json_t *method_endpoint_query(void *arg, struct rpc_peer *peer,
			      const json_t *params, struct rpc_error *err)
{
	const struct node_endpoint *ep = endpoint_named(arg, params, err);

	(void)peer;
	return ep ? endpoint_json(ep) : NULL;
}

json_t *method_endpoint_close(void *arg, struct rpc_peer *peer,
			      const json_t *params, struct rpc_error *err)
{
	struct node_endpoint *ep = endpoint_named(arg, params, err);
	json_t *o;
	int ret;

	(void)peer;
	if (!ep)
		return NULL;
	o = endpoint_json(ep);
	ret = node_endpoint_close(ep, &err->why);
	if (!ret)
		return o;
	json_decref(o);
	return request_refuse(err, request_code(ret));
}

static json_t *change_endpoint(struct service *sv,
			       const struct service_request *a,
			       struct node_cost_wait *lacks,
			       struct rpc_error *err)
{
	const struct call_spec *spec = &a->spec;
	struct node_endpoint *ep = endpoint_of_id(sv, spec->id, err);
	int ret;

	if (!ep)
		return NULL;
	ret = node_call_change_party(ep, &spec->end[0], lacks, &err->why);
	if (ret)
		return request_wait(ret, err);
	keep_endpoint(ep);
	if (ep->call)
		keep_call_change(ep->call, spec);
	return endpoint_json(ep);
}

json_t *method_endpoint_change(void *arg, struct rpc_peer *peer,
			       const json_t *params, struct rpc_error *err)
{
	struct service_request a = { .run = change_endpoint, .params = params };

	return request_read(endpoint_change_fields, &a.spec, params, err)
		       ? request_run(arg, peer, &a, err)
		       : NULL;
}

static void *listed_endpoint(struct node *n, uint32_t *id)
{
	struct node_endpoint *ep = node_endpoint_after(n, *id);

	*id = ep ? ep->id : *id;
	return ep;
}

static void describe_endpoint(void *one, void *item)
{
	node_endpoint_info(one, item);
}

json_t *method_endpoint_list(void *arg, struct rpc_peer *peer,
			     const json_t *params, struct rpc_error *err)
{
	static const struct list_kind endpoints = { endpoint_list_fields,
						    listed_endpoint,
						    describe_endpoint };

	(void)peer;
	return request_list(arg, &endpoints, params, err);
}
