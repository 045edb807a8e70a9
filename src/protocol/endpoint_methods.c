/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The methods of endpoints.
 */
#include <errno.h>
#include <inttypes.h>

#include "node/conversation.h"
#include "node/party.h"
#include "protocol/field_json.h"
#include "protocol/methods.h"
#include "protocol/deferred.h"
#include "protocol/request.h"
#include "protocol/tables/endpoint.h"

static const struct party_names names = { .path = "", .address = "address" };

static json_t *told(const struct party *p)
{
	struct node_open_endpoint_info info;

	party_info(p, &info);
	return field_write(endpoint_info_fields, &info);
}

json_t *method_endpoint_open(void *arg, struct rpc_peer *peer,
			     const json_t *params, struct rpc_error *err)
{
	struct service *sv = arg;
	struct session *s = session_of(peer, err);
	struct endpoint_open_request ask = { 0 };
	struct party *p;
	int ret;

	if (!s)
		return request_refuse(err, RPC_CONFLICT);
	if (!request_read(endpoint_open_fields, &ask, params, err))
		return NULL;
	if (sv->draining) {
		(void)cr_fail(&err->why, 0,
			      "draining: this node takes no new calls");
		return request_refuse(err, RPC_DRAINING);
	}
	ret = party_open(sv->node, &ask.party, &names, &p, &err->why);
	if (ret)
		return request_refuse(err, request_code(ret));
	p->opened = true;
	p->owner = ask.keep ? NULL : s;
	return told(p);
}

/* The one with @id, or NULL with @err. */
static struct party *of_id(struct service *sv, uint32_t id,
			   struct rpc_error *err)
{
	struct party *p = party_find(sv->node, id);

	if (!p) {
		(void)cr_fail(&err->why, 0, "there is no endpoint %" PRIu32,
			      id);
		err->code = RPC_NO_SUCH_CALL;
	}
	return p;
}

static struct party *named(struct service *sv, const json_t *params,
			   struct rpc_error *err)
{
	struct endpoint_reference which;

	if (!request_read(endpoint_reference_fields, &which, params, err))
		return NULL;
	return of_id(sv, which.endpoint, err);
}

json_t *method_endpoint_query(void *arg, struct rpc_peer *peer,
			      const json_t *params, struct rpc_error *err)
{
	const struct party *p = named(arg, params, err);

	(void)peer;
	return p ? told(p) : NULL;
}

json_t *method_endpoint_close(void *arg, struct rpc_peer *peer,
			      const json_t *params, struct rpc_error *err)
{
	struct party *p = named(arg, params, err);
	json_t *o;
	int ret;

	(void)peer;
	if (!p)
		return NULL;
	o = told(p);
	ret = party_close(p, &err->why);
	if (!ret)
		return o;
	json_decref(o);
	return request_refuse(err, request_code(ret));
}

/* @wait: until it is known what @plan costs. */
static json_t *change(struct service *sv, const json_t *params,
		      struct conversation_plan *plan, bool *wait,
		      struct rpc_error *err)
{
	struct endpoint_change_request ask = { 0 };
	struct party *p;
	int ret;

	*wait = false;
	if (!request_read(endpoint_change_fields, &ask, params, err))
		return NULL;
	p = of_id(sv, ask.endpoint, err);
	if (!p)
		return NULL;
	ret = conversation_change_party(p, &ask.to, plan, &err->why);
	*wait = ret == -EAGAIN;
	if (ret)
		return *wait ? NULL : request_refuse(err, request_code(ret));
	return told(p);
}

json_t *method_endpoint_change(void *arg, struct rpc_peer *peer,
			       const json_t *params, struct rpc_error *err)
{
	return deferred_begin_change(arg, peer, params, change, err);
}

/* The endpoints of one page. Nothing ends while a page is written. */
struct page {
	unsigned n;
	const struct party *endpoint[PAGE_MAX];
};

static bool endpoint_at(void *arg, unsigned i, void *item)
{
	const struct page *page = arg;

	if (i >= page->n)
		return false;
	party_info(page->endpoint[i], item);
	return true;
}

json_t *method_endpoint_list(void *arg, struct rpc_peer *peer,
			     const json_t *params, struct rpc_error *err)
{
	struct service *sv = arg;
	struct page page = { 0 };
	struct endpoint_list_result tell = { .endpoints = { endpoint_at,
							    &page } };
	struct page_request ask;
	const struct party *p;

	(void)peer;
	if (!request_read(page_fields, &ask, params, err))
		return NULL;
	while (page.n < ask.limit && (p = party_after(sv->node, ask.after))) {
		ask.after = party_id(p);
		page.endpoint[page.n++] = p;
	}
	tell.more = party_after(sv->node, ask.after) != NULL;
	return field_write(endpoint_list_fields, &tell);
}
