/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The methods of the control protocol. Each reads its parameters, asks the
 * node, and answers; every refusal says what to do about it.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "node/args.h"
#include "node/call_params.h"
#include "node/describe.h"
#include "service/service_impl.h"
#include "observe/log.h"

#define LIST_MAX 200

/* Refuse with @code; e->why has been filled. */
static json_t *refuse(struct rpc_error *err, int code)
{
	err->code = code;
	return NULL;
}

/* For methods without parameters: fills @err when @params says anything. */
static bool has_members(const json_t *params, struct rpc_error *err)
{
	static const char *const none[] = { NULL };
	struct args a = args_of(params, "", none, &err->why);

	if (a.failed)
		err->code = RPC_INVALID_PARAMS;
	return a.failed;
}

/* -errno of the node as a code of the protocol. */
static int code_of(int err)
{
	switch (err) {
	case -EINVAL:
		return RPC_INVALID_PARAMS;
	case -EEXIST:
		return RPC_CONFLICT;
	case -ESRCH:
		return RPC_NO_SUCH_CALL;
	case -ENOSPC:
	case -EMFILE:
	case -ENFILE:
		return RPC_NO_CAPACITY;
	case -ENOENT:
	case -ENOEXEC:
	case -ENOTSUP:
		return RPC_UNSUPPORTED;
	default:
		return RPC_INTERNAL;
	}
}

static struct session *session_of(struct rpc_peer *peer, struct rpc_error *err)
{
	if (!peer->owner)
		(void)cr_fail(&err->why, 0,
			      "no session: it was taken over by another "
			      "association (hello with \"resume\"); connect "
			      "anew");
	return peer->owner;
}

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
		return refuse(err, RPC_INVALID_PARAMS);
	if (!s)
		return refuse(err, RPC_CONFLICT);
	if (resume && !session_resume(s, resume)) {
		(void)cr_fail(&err->why, 0,
			      "resume: there is no session '%s'; its grace "
			      "time may be over",
			      resume);
		return refuse(err, RPC_CONFLICT);
	}
	log_event(LOG_INFO, "hello", "peer=%s client=\"%.60s\" session=%s",
		  peer->address, client, s->id);
	node_scheduler(sv->node, spec, sizeof(spec));
	return json_pack(
		"{s:s,s:s,s:i,s:s,s:i,s:s,s:s,s:b,s:o,s:o,s:o}", "program",
		"codec-runner", "version", CR_VERSION, "protocol", 1, "session",
		s->id, "calls", (int)s->calls, "scheduler", spec, "transport",
		rpc_server_transport(sv->server), "draining", (int)sv->draining,
		"codecs", describe_codecs(), "schedulers",
		describe_schedulers(), "capacity", node_capacity(sv->node));
}

static json_t *started(const struct node_call *nc)
{
	const struct call_cfg *cfg = &nc->call->cfg;
	char here[64];

	node_call_address(nc, here, sizeof(here));
	return json_pack(
		"{s:I,s:{s:s,s:I,s:i},s:{s:I,s:i,s:I,s:I,s:I},s:f}", "call",
		(json_int_t)cfg->id, "rtp", "address", here, "ssrc",
		(json_int_t)cfg->ssrc_in, "pt", (int)cfg->pt_in, "out", "ssrc",
		(json_int_t)cfg->ssrc_out, "pt", (int)cfg->pt_out, "ts_base",
		(json_int_t)cfg->ts_out, "clock",
		(json_int_t)pipeline_side_clock(&cfg->media.out), "in_clock",
		(json_int_t)pipeline_side_clock(&cfg->media.in), "load",
		(double)nc->cost->cost.mean / (double)nc->cost->period);
}

static json_t *call_start(void *arg, struct rpc_peer *peer,
			  const json_t *params, struct rpc_error *err)
{
	struct service *sv = arg;
	struct session *s = session_of(peer, err);
	struct call_request request;
	struct node_call *nc;
	int ret;

	if (!s)
		return refuse(err, RPC_CONFLICT);
	if (sv->draining) {
		(void)cr_fail(&err->why, 0,
			      "draining: this node takes no new calls");
		return refuse(err, RPC_DRAINING);
	}
	ret = call_params(&request, params, &err->why);
	if (!ret)
		ret = node_call_start(sv->node, &request.cfg, request.own_port,
				      &nc, &err->why);
	if (ret) {
		if (ret == -ENOSPC)
			log_event(LOG_INFO, "admit-refused", "why=\"%s\"",
				  err->why.text);
		return refuse(err, code_of(ret));
	}
	if (!request.keep) {
		nc->owner = s;
		s->calls++;
	}
	return started(nc);
}

/* The call that the member "call" names, or NULL with @err. */
static struct node_call *call_named(struct service *sv, const json_t *params,
				    struct rpc_error *err)
{
	static const char *const known[] = { "call", NULL };
	struct args a = args_of(params, "", known, &err->why);
	uint32_t id = (uint32_t)args_int(&a, "call", 1, UINT32_MAX, 0);
	struct node_call *nc;

	if (!a.failed && !id)
		(void)args_fail(&a, "call", "is missing: which call?");
	if (a.failed) {
		err->code = RPC_INVALID_PARAMS;
		return NULL;
	}
	nc = node_call_find(sv->node, id);
	if (!nc) {
		(void)cr_fail(&err->why, 0, "there is no call %" PRIu32, id);
		err->code = RPC_NO_SUCH_CALL;
	}
	return nc;
}

static json_t *call_stop(void *arg, struct rpc_peer *peer, const json_t *params,
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

static json_t *call_query(void *arg, struct rpc_peer *peer,
			  const json_t *params, struct rpc_error *err)
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

static json_t *list(void *arg, struct rpc_peer *peer, const json_t *params,
		    struct rpc_error *err)
{
	static const char *const known[] = { "after", "limit", NULL };
	struct service *sv = arg;
	struct args a = args_of(params, "", known, &err->why);
	uint32_t after = (uint32_t)args_int(&a, "after", 0, UINT32_MAX, 0);
	int64_t limit = args_int(&a, "limit", 1, LIST_MAX, 50);
	json_t *calls;
	struct node_call *nc = NULL;

	(void)peer;
	if (a.failed)
		return refuse(err, RPC_INVALID_PARAMS);
	calls = json_array();
	for (; limit && (nc = living_after(sv->node, after)); limit--) {
		after = nc->call->cfg.id;
		(void)json_array_append_new(calls, node_call_json(nc));
	}
	return json_pack("{s:o,s:b}", "calls", calls, "more",
			 living_after(sv->node, after) != NULL);
}

static json_t *stats(void *arg, struct rpc_peer *peer, const json_t *params,
		     struct rpc_error *err)
{
	struct service *sv = arg;
	json_t *o;

	(void)peer;
	if (has_members(params, err))
		return NULL;
	o = node_stats(sv->node);
	(void)json_object_set_new(o, "draining", json_boolean(sv->draining));
	(void)json_object_set_new(o, "jobs", node_jobs_json(sv->node));
	(void)json_object_set_new(o, "control", rpc_server_stats(sv->server));
	(void)json_object_set_new(o, "capacity", node_capacity(sv->node));
	return o;
}

static json_t *codecs(void *arg, struct rpc_peer *peer, const json_t *params,
		      struct rpc_error *err)
{
	(void)arg, (void)peer;
	if (has_members(params, err))
		return NULL;
	return json_pack("{s:o}", "codecs", describe_codecs());
}

static json_t *schedulers(void *arg, struct rpc_peer *peer,
			  const json_t *params, struct rpc_error *err)
{
	struct service *sv = arg;
	char spec[320];

	(void)peer;
	if (has_members(params, err))
		return NULL;
	node_scheduler(sv->node, spec, sizeof(spec));
	return json_pack("{s:s,s:o}", "scheduler", spec, "schedulers",
			 describe_schedulers());
}

/* scheduler.set and scheduler.tune: one string in, the new scheduler out. */
static json_t *change(struct service *sv, const json_t *params,
		      const char *member,
		      int (*apply)(struct service *, const char *,
				   struct cr_err *),
		      struct rpc_error *err)
{
	const char *const known[] = { member, NULL };
	struct args a = args_of(params, "", known, &err->why);
	const char *text = args_string(&a, member, NULL);
	char spec[320];
	int ret;

	if (!a.failed && !text)
		(void)args_fail(&a, member, "is missing");
	if (a.failed)
		return refuse(err, RPC_INVALID_PARAMS);
	ret = apply(sv, text, &err->why);
	if (ret)
		return refuse(err, code_of(ret));
	node_scheduler(sv->node, spec, sizeof(spec));
	log_event(LOG_INFO, "scheduler", "now=%s", spec);
	return json_pack("{s:s}", "scheduler", spec);
}

/* To load a shared object is to run its code: peers name files of one folder,
 * never paths. */
static int set_scheduler(struct service *sv, const char *spec, struct cr_err *e)
{
	size_t name = strcspn(spec, ",");
	const char *dir = sv->cfg.plugin_dir;
	char path[4096];

	if (memchr(spec, '/', name))
		return cr_fail(e, -EINVAL,
			       "scheduler: name one, without a path; files are "
			       "taken from the node's --plugin-dir");
	if (name < 3 || strncmp(spec + name - 3, ".so", 3))
		return node_scheduler_set(sv->node, spec, e);
	if (!dir)
		return cr_fail(e, -EINVAL,
			       "scheduler: this node was started without "
			       "--plugin-dir, so it loads none");
	if (snprintf(path, sizeof(path), "%s%s/%s",
		     strchr(dir, '/') ? "" : "./", dir,
		     spec) >= (int)sizeof(path))
		return cr_fail(e, -EINVAL, "scheduler: too long");
	return node_scheduler_set(sv->node, path, e);
}

static int tune_scheduler(struct service *sv, const char *opts,
			  struct cr_err *e)
{
	return node_scheduler_tune(sv->node, opts, e);
}

static json_t *scheduler_set(void *arg, struct rpc_peer *peer,
			     const json_t *params, struct rpc_error *err)
{
	(void)peer;
	return change(arg, params, "scheduler", set_scheduler, err);
}

static json_t *scheduler_tune(void *arg, struct rpc_peer *peer,
			      const json_t *params, struct rpc_error *err)
{
	(void)peer;
	return change(arg, params, "options", tune_scheduler, err);
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
		return refuse(err, RPC_INVALID_PARAMS);
	ret = node_trace_start(sv->node, path, overwrite, &err->why);
	if (ret)
		return refuse(err, RPC_CONFLICT);
	return json_pack("{s:s}", "path", path);
}

static json_t *trace_end(void *arg, struct rpc_peer *peer, const json_t *params,
			 struct rpc_error *err)
{
	struct service *sv = arg;
	json_t *totals;

	(void)peer;
	if (has_members(params, err))
		return NULL;
	totals = node_trace_stop(sv->node);
	if (totals)
		return totals;
	(void)cr_fail(&err->why, 0, "no trace is running");
	return refuse(err, RPC_CONFLICT);
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
		return refuse(err, RPC_INVALID_PARAMS);
	service_drain(sv, limit);
	return json_pack("{s:b,s:i}", "draining", 1, "calls",
			 (int)node_calls(sv->node));
}

const struct rpc_method service_methods[] = {
	{ "hello", "who is there: version, codecs, schedulers, capacity",
	  hello },
	{ "call.start", "start a call; tells where to send", call_start },
	{ "call.stop", "end a call; tells its counters", call_stop },
	{ "call.query", "one call's parameters and counters", call_query },
	{ "job.submit", "convert a file of the spool folder", job_submit },
	{ "job.query", "one job's state and progress", job_query },
	{ "job.cancel", "give a job up; its output is removed", job_cancel },
	{ "job.list", "the jobs, page by page", job_list },
	{ "list", "the calls, page by page", list },
	{ "stats", "counters and state of the node", stats },
	{ "codecs", "the codecs and their modes", codecs },
	{ "schedulers", "the schedulers and their options", schedulers },
	{ "scheduler.set", "switch the scheduler under live calls",
	  scheduler_set },
	{ "scheduler.tune", "change options of the scheduler", scheduler_tune },
	{ "trace.start", "write a trace file", trace_begin },
	{ "trace.stop", "end the trace file", trace_end },
	{ "drain", "no new calls; exit when the last one has ended", drain },
	{ NULL, NULL, NULL },
};
