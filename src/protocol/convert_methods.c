/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The methods of conversions: files of the spool folder converted behind the
 * calls.
 */
#include "protocol/methods.h"

#include <errno.h>
#include <inttypes.h>

#include "node/requests.h"
#include "protocol/field_json.h"
#include "protocol/tables/call_fields.h"
#include "protocol/tables/convert_fields.h"
#include "protocol/results.h"

/* Answers convert.start: its files have been looked at, or need not be. */
static void answer_conversion(void *arg, const struct conversion *cv, int err,
			      const struct cr_err *why)
{
	struct rpc_error e = { 0 };

	if (!cv) {
		e.code = request_code(err);
		if (e.code == RPC_INTERNAL) /* else it is about a file */
			e.code =
				err == -ESHUTDOWN ? RPC_DRAINING : RPC_BAD_FILE;
		e.why = *why;
	}
	rpc_later_begin();
	rpc_later_reply(arg, cv ? result_conversion_json(cv) : NULL, &e);
}

json_t *method_convert_start(void *arg, struct rpc_peer *peer,
			     const json_t *params, struct rpc_error *err)
{
	struct service *sv = arg;
	const struct session *s = peer->owner;
	struct conversion_asker asker = { .notify = answer_conversion };
	struct convert_request ask;
	struct conversion_cfg cfg;
	struct cr_err why;
	int ret;

	if (sv->draining) {
		(void)cr_fail(&err->why, 0,
			      "draining: this node takes no new conversions");
		return request_refuse(err, RPC_DRAINING);
	}
	if (convert_params(&ask, params, &err->why) ||
	    convert_check(&cfg, &ask, &err->why))
		return request_refuse(err, RPC_INVALID_PARAMS);
	asker.arg = rpc_later(peer, err);
	if (!asker.arg)
		return NULL;
	ret = node_conversion_submit(sv->node, &cfg, s ? s->id : "", &asker,
				     &why);
	if (ret)
		answer_conversion(asker.arg, NULL, ret, &why);
	return NULL;
}

/* The conversion that the member "conversion" names, or NULL with @err. */
static struct conversion *conversion_named(struct service *sv,
					   const json_t *params,
					   struct rpc_error *err)
{
	struct conversion_reference which;
	struct conversion *cv;

	if (!request_read(conversion_reference_fields, &which, params, err))
		return NULL;
	cv = converter_find(node_converter(sv->node), which.conversion);
	if (!cv) {
		(void)cr_fail(&err->why, 0,
			      "there is no conversion %" PRIu32
			      "; of those that are over the last %d are kept",
			      which.conversion, CONVERSIONS_KEPT);
		err->code = RPC_NO_SUCH_CONVERSION;
	}
	return cv;
}

json_t *method_convert_query(void *arg, struct rpc_peer *peer,
			     const json_t *params, struct rpc_error *err)
{
	const struct conversion *cv = conversion_named(arg, params, err);

	(void)peer;
	return cv ? result_conversion_json(cv) : NULL;
}

json_t *method_convert_cancel(void *arg, struct rpc_peer *peer,
			      const json_t *params, struct rpc_error *err)
{
	struct service *sv = arg;
	struct conversion *cv = conversion_named(sv, params, err);

	(void)peer;
	if (!cv)
		return NULL;
	if (converter_cancel(node_converter(sv->node), cv)) {
		(void)cr_fail(&err->why, 0,
			      "conversion %" PRIu32 " is %s already",
			      cv->cfg.id, conversion_state_name(cv->state));
		return request_refuse(err, RPC_CONFLICT);
	}
	return result_conversion_json(cv);
}

static void *listed_conversion(struct node *n, uint32_t *id)
{
	struct conversion *cv = converter_after(node_converter(n), *id);

	*id = cv ? cv->cfg.id : *id;
	return cv;
}

static void describe_conversion(void *one, void *item)
{
	node_conversion_info(one, item);
}

json_t *method_convert_list(void *arg, struct rpc_peer *peer,
			    const json_t *params, struct rpc_error *err)
{
	static const struct list_kind conversions = { convert_list_fields,
						      listed_conversion,
						      describe_conversion };

	(void)peer;
	return request_list(arg, &conversions, params, err);
}
