/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of all methods, and those of the node itself.
 */
#include "protocol/methods.h"

#include <string.h>

#include "codecs/kernels/kernels.h"
#include "node/args.h"
#include "node/describe.h"
#include "observe/log.h"
#include "protocol/request.h"

static json_t *hello(void *arg, struct rpc_peer *peer, const json_t *params,
		     struct rpc_error *err)
{
	static const char *const known[] = { "resume", "client", NULL };
	struct service *sv = arg;
	struct args a = args_of(params, "", known, &err->why);
	const char *resume = args_string(&a, "resume", NULL);
	const char *client = args_string(&a, "client", "");
	struct session *s = session_of(peer, err);
	char spec[320];

	if (a.failed)
		return request_refuse(err, RPC_INVALID_PARAMS);
	if (!s)
		return request_refuse(err, RPC_CONFLICT);
	if (resume && !session_resume(s, resume)) {
		(void)cr_fail(&err->why, 0,
			      "resume: there is no session '%s'; its grace "
			      "time may be over",
			      resume);
		return request_refuse(err, RPC_CONFLICT);
	}
	log_event(LOG_INFO, "hello", "peer=%s client=\"%.60s\" session=%s",
		  peer->address, client, s->id);
	node_scheduler(sv->node, spec, sizeof(spec));
	return json_pack(
		"{s:s,s:s,s:i,s:s,s:i,s:s,s:s,s:s,s:b,s:o,s:o,s:o}", "program",
		"codec-runner", "version", CR_VERSION, "protocol", 1, "session",
		s->id, "calls", (int)s->calls, "scheduler", spec, "transport",
		peer->transport, "kernels",
		cr_kernels_names[cr_kernels_active()], "draining",
		(int)sv->draining, "codecs", describe_codecs(), "schedulers",
		describe_schedulers(), "capacity", node_capacity(sv->node));
}

static json_t *stats(void *arg, struct rpc_peer *peer, const json_t *params,
		     struct rpc_error *err)
{
	struct service *sv = arg;
	json_t *o;

	(void)peer;
	if (!request_is_empty(params, err))
		return NULL;
	o = node_stats(sv->node);
	(void)json_object_set_new(o, "draining", json_boolean(sv->draining));
	(void)json_object_set_new(o, "conversions",
				  node_conversions_json(sv->node));
	(void)json_object_set_new(o, "control", rpc_server_stats(sv->server));
	(void)json_object_set_new(o, "capacity", node_capacity(sv->node));
	return o;
}

static json_t *codecs(void *arg, struct rpc_peer *peer, const json_t *params,
		      struct rpc_error *err)
{
	(void)arg, (void)peer;
	if (!request_is_empty(params, err))
		return NULL;
	return json_pack("{s:o}", "codecs", describe_codecs());
}

/* Peers name files, not paths: what they may write is one folder. */
static int trace_path(const struct service *sv, struct args *a, char *path,
		      size_t size)
{
	const char *name = args_string(a, "name", NULL);

	if (a->failed)
		return -EINVAL;
	if (!sv->cfg.trace_dir)
		return args_fail(a, "name",
				 "this node was started without "
				 "--trace-dir, so it writes none");
	if (!name)
		return args_fail(a, "name",
				 "is missing: a file in the "
				 "node's trace folder");
	if (!*name || *name == '.' || strchr(name, '/') ||
	    snprintf(path, size, "%s/%s", sv->cfg.trace_dir, name) >= (int)size)
		return args_fail(a, "name", "'%s' is not a plain file name",
				 name);
	return 0;
}

static json_t *trace_begin(void *arg, struct rpc_peer *peer,
			   const json_t *params, struct rpc_error *err)
{
	static const char *const known[] = { "name", "overwrite", NULL };
	struct service *sv = arg;
	struct args a = args_of(params, "", known, &err->why);
	bool overwrite = args_bool(&a, "overwrite", false);
	char path[4096];
	int ret;

	(void)peer;
	if (trace_path(sv, &a, path, sizeof(path)))
		return request_refuse(err, RPC_INVALID_PARAMS);
	ret = node_trace_start(sv->node, path, overwrite, &err->why);
	if (ret)
		return request_refuse(err, RPC_CONFLICT);
	return json_pack("{s:s}", "path", path);
}

static json_t *trace_end(void *arg, struct rpc_peer *peer, const json_t *params,
			 struct rpc_error *err)
{
	struct service *sv = arg;
	json_t *totals;

	(void)peer;
	if (!request_is_empty(params, err))
		return NULL;
	totals = node_trace_stop(sv->node);
	if (totals)
		return totals;
	(void)cr_fail(&err->why, 0, "no trace is running");
	return request_refuse(err, RPC_CONFLICT);
}

static json_t *drain(void *arg, struct rpc_peer *peer, const json_t *params,
		     struct rpc_error *err)
{
	static const char *const known[] = { "limit", NULL };
	struct service *sv = arg;
	struct args a = args_of(params, "", known, &err->why);
	cr_ns limit =
		args_time(&a, "limit", 0, 86400 * CR_SEC, sv->cfg.drain_limit);

	(void)peer;
	if (a.failed)
		return request_refuse(err, RPC_INVALID_PARAMS);
	service_drain(sv, limit);
	return json_pack("{s:b,s:i}", "draining", 1, "calls",
			 (int)node_calls(sv->node));
}

const struct rpc_method service_methods[] = {
	{ "hello", "who is there: version, codecs, schedulers, capacity",
	  hello },
	{ "call.start", "start a call; tells where to send", call_start },
	{ "call.stop", "end a call; tells its counters", call_stop },
	{ "call.change", "other terms for a running call, admitted anew",
	  call_change },
	{ "call.query", "one call's parameters and counters", call_query },
	{ "convert.start", "convert a file of the spool folder",
	  convert_start },
	{ "convert.query", "one conversion's state and progress",
	  convert_query },
	{ "convert.cancel", "give a conversion up; its output is removed",
	  convert_cancel },
	{ "convert.list", "the conversions, page by page", convert_list },
	{ "list", "the calls, page by page", call_list },
	{ "stats", "counters and state of the node", stats },
	{ "codecs", "the codecs and their modes", codecs },
	{ "schedulers", "the schedulers and their options", scheduler_list },
	{ "scheduler.set", "switch the scheduler under live calls",
	  scheduler_set },
	{ "scheduler.tune", "change options of the scheduler", scheduler_tune },
	{ "trace.start", "write a trace file", trace_begin },
	{ "trace.stop", "end the trace file", trace_end },
	{ "drain", "no new calls; exit when the last one has ended", drain },
	{ NULL, NULL, NULL },
};
