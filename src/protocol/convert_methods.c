/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The methods of conversions: files of the spool folder converted behind the
 * calls.
 */
#include <errno.h>
#include <inttypes.h>

#include "node/convert_params.h"
#include "protocol/methods.h"
#include "protocol/request.h"

/* What is no other refusal is about a file. */
static int code_of(int err)
{
	int code = request_code(err);

	if (err == -ENOMEM || code != RPC_INTERNAL)
		return code;
	return err == -ESHUTDOWN ? RPC_DRAINING : RPC_BAD_FILE;
}

/* Answers convert.start: its files have been looked at, or need not be. */
static void tell(void *arg, const struct conversion *cv, int err,
		 const struct cr_err *why)
{
	struct rpc_error e = { 0 };

	if (!cv) {
		e.code = code_of(err);
		e.why = *why;
	}
	rpc_later_reply(arg, cv ? node_conversion_json(cv) : NULL, &e);
}

json_t *convert_start(void *arg, struct rpc_peer *peer, const json_t *params,
		      struct rpc_error *err)
{
	struct service *sv = arg;
	const struct session *s = peer->owner;
	struct conversion_asker asker = { .tell = tell };
	struct conversion_cfg cfg = { 0 };
	struct cr_err why;
	int ret;

	if (sv->draining) {
		(void)cr_fail(&err->why, 0,
			      "draining: this node takes no new conversions");
		return request_refuse(err, RPC_DRAINING);
	}
	if (convert_params(&cfg, params, &err->why))
		return request_refuse(err, RPC_INVALID_PARAMS);
	asker.arg = rpc_later(peer, err);
	if (!asker.arg)
		return NULL;
	ret = node_conversion_submit(sv->node, &cfg, s ? s->id : "", &asker,
				     &why);
	if (ret)
		tell(asker.arg, NULL, ret, &why);
	return NULL;
}

/* The conversion that the member "conversion" names, or NULL with @err. */
static struct conversion *conversion_named(struct service *sv,
					   const json_t *params,
					   struct rpc_error *err)
{
	uint32_t id = request_id(params, "conversion", err);
	struct conversion *cv = id ? node_conversion_find(sv->node, id) : NULL;

	if (id && !cv) {
		(void)cr_fail(&err->why, 0,
			      "there is no conversion %" PRIu32
			      "; of those that are over the last %d are kept",
			      id, CONVERSIONS_KEPT);
		err->code = RPC_NO_SUCH_CONVERSION;
	}
	return cv;
}

json_t *convert_query(void *arg, struct rpc_peer *peer, const json_t *params,
		      struct rpc_error *err)
{
	const struct conversion *cv = conversion_named(arg, params, err);

	(void)peer;
	return cv ? node_conversion_json(cv) : NULL;
}

json_t *convert_cancel(void *arg, struct rpc_peer *peer, const json_t *params,
		       struct rpc_error *err)
{
	struct service *sv = arg;
	struct conversion *cv = conversion_named(sv, params, err);

	(void)peer;
	if (!cv)
		return NULL;
	if (node_conversion_cancel(sv->node, cv)) {
		(void)cr_fail(&err->why, 0,
			      "conversion %" PRIu32 " is %s already",
			      cv->cfg.id, conversion_state_name(cv->state));
		return request_refuse(err, RPC_CONFLICT);
	}
	return node_conversion_json(cv);
}

json_t *convert_list(void *arg, struct rpc_peer *peer, const json_t *params,
		     struct rpc_error *err)
{
	struct service *sv = arg;
	struct request_page page;
	const struct conversion *cv;
	json_t *conversions;

	(void)peer;
	if (!request_page(&page, params, err))
		return NULL;
	conversions = json_array();
	while (page.limit-- &&
	       (cv = node_conversion_after(sv->node, page.after))) {
		page.after = cv->cfg.id;
		(void)json_array_append_new(conversions,
					    node_conversion_json(cv));
	}
	return json_pack("{s:o,s:b}", "conversions", conversions, "more",
			 node_conversion_after(sv->node, page.after) != NULL);
}
