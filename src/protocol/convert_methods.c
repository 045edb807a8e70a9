/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The methods of conversions: files of the spool folder converted behind the
 * calls.
 */
#include "protocol/methods.h"

#include <errno.h>
#include <inttypes.h>

#include "node/requests.h"
#include "protocol/field.h"
#include "protocol/tables/call.h"
#include "protocol/tables/convert.h"
#include "protocol/results.h"

/* What is no other refusal is about a file. */
static int conversion_code(int err)
{
	int code = request_code(err);

	if (code != RPC_INTERNAL)
		return code;
	return err == -ESHUTDOWN ? RPC_DRAINING : RPC_BAD_FILE;
}

/* Answers convert.start: its files have been looked at, or need not be. */
static void answer_conversion(void *arg, const struct conversion *cv, int err,
			      const struct cr_err *why)
{
	struct rpc_error e = { 0 };

	if (!cv) {
		e.code = conversion_code(err);
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
	struct conversion_asker asker = { .tell = answer_conversion };
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
	cv = node_conversion_find(sv->node, which.conversion);
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
	if (node_conversion_cancel(sv->node, cv)) {
		(void)cr_fail(&err->why, 0,
			      "conversion %" PRIu32 " is %s already",
			      cv->cfg.id, conversion_state_name(cv->state));
		return request_refuse(err, RPC_CONFLICT);
	}
	return result_conversion_json(cv);
}

/* The conversions of one page. Nothing ends while a page is written. */
struct page {
	unsigned n;
	const struct conversion *conversion[PAGE_MAX];
};

static bool conversion_at(void *arg, unsigned i, void *item)
{
	const struct page *page = arg;

	if (i >= page->n)
		return false;
	node_conversion_info(page->conversion[i], item);
	return true;
}

json_t *method_convert_list(void *arg, struct rpc_peer *peer,
			    const json_t *params, struct rpc_error *err)
{
	struct service *sv = arg;
	struct page page = { 0 };
	struct convert_list_result tell = { .conversions = { conversion_at,
							     &page } };
	struct page_request ask;
	const struct conversion *cv;

	(void)peer;
	if (!request_read(page_fields, &ask, params, err))
		return NULL;
	while (page.n < ask.limit &&
	       (cv = node_conversion_after(sv->node, ask.after))) {
		ask.after = cv->cfg.id;
		page.conversion[page.n++] = cv;
	}
	tell.more = node_conversion_after(sv->node, ask.after) != NULL;
	return field_write(convert_list_fields, &tell);
}
