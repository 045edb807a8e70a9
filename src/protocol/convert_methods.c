/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The methods of jobs: files of the spool folder converted behind the calls.
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

/* Answers job.submit: its files have been looked at, or need not be. */
static void tell(void *arg, const struct job *j, int err,
		 const struct cr_err *why)
{
	struct rpc_error e = { 0 };

	if (!j) {
		e.code = code_of(err);
		e.why = *why;
	}
	rpc_later_reply(arg, j ? node_job_json(j) : NULL, &e);
}

json_t *job_submit(void *arg, struct rpc_peer *peer, const json_t *params,
		   struct rpc_error *err)
{
	struct service *sv = arg;
	const struct session *s = peer->owner;
	struct job_asker asker = { .tell = tell };
	struct job_cfg cfg = { 0 };
	struct cr_err why;
	int ret;

	if (sv->draining) {
		(void)cr_fail(&err->why, 0,
			      "draining: this node takes no new jobs");
		return request_refuse(err, RPC_DRAINING);
	}
	if (job_params(&cfg, params, &err->why))
		return request_refuse(err, RPC_INVALID_PARAMS);
	asker.arg = rpc_later(peer, err);
	if (!asker.arg)
		return NULL;
	ret = node_job_submit(sv->node, &cfg, s ? s->id : "", &asker, &why);
	if (ret)
		tell(asker.arg, NULL, ret, &why);
	return NULL;
}

/* The job that the member "job" names, or NULL with @err. */
static struct job *job_named(struct service *sv, const json_t *params,
			     struct rpc_error *err)
{
	uint32_t id = request_id(params, "job", err);
	struct job *j = id ? node_job_find(sv->node, id) : NULL;

	if (id && !j) {
		(void)cr_fail(&err->why, 0,
			      "there is no job %" PRIu32
			      "; of those that are over the last %d are kept",
			      id, JOBS_KEPT);
		err->code = RPC_NO_SUCH_JOB;
	}
	return j;
}

json_t *job_query(void *arg, struct rpc_peer *peer, const json_t *params,
		  struct rpc_error *err)
{
	const struct job *j = job_named(arg, params, err);

	(void)peer;
	return j ? node_job_json(j) : NULL;
}

json_t *job_cancel(void *arg, struct rpc_peer *peer, const json_t *params,
		   struct rpc_error *err)
{
	struct service *sv = arg;
	struct job *j = job_named(sv, params, err);

	(void)peer;
	if (!j)
		return NULL;
	if (node_job_cancel(sv->node, j)) {
		(void)cr_fail(&err->why, 0, "job %" PRIu32 " is %s already",
			      j->cfg.id, job_state_name(j->state));
		return request_refuse(err, RPC_CONFLICT);
	}
	return node_job_json(j);
}

json_t *job_list(void *arg, struct rpc_peer *peer, const json_t *params,
		 struct rpc_error *err)
{
	struct service *sv = arg;
	struct request_page page;
	const struct job *j;
	json_t *jobs;

	(void)peer;
	if (!request_page(&page, params, err))
		return NULL;
	jobs = json_array();
	while (page.limit-- && (j = node_job_after(sv->node, page.after))) {
		page.after = j->cfg.id;
		(void)json_array_append_new(jobs, node_job_json(j));
	}
	return json_pack("{s:o,s:b}", "jobs", jobs, "more",
			 node_job_after(sv->node, page.after) != NULL);
}
