/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who answers which method, and the methods of the node itself.
 */
#include "protocol/methods.h"

#include <string.h>

#include "base/disarm.h"
#include "codecs/kernels/kernels.h"
#include "observe/log.h"
#include "protocol/describe.h"
#include "protocol/field_json.h"
#include "protocol/key.h"
#include "protocol/request.h"
#include "protocol/results.h"
#include "protocol/stats.h"
#include "protocol/tables/trace.h"

/* After this it may have anything. */
static bool show_key(const struct service *sv, struct rpc_peer *peer,
		     const char *key, struct rpc_error *err)
{
	peer->stranger = !key || !key_matches(sv->cfg.key, key);
	if (!peer->stranger)
		return true;
	log_event(LOG_WARN, "denied", "peer=%s why=\"%s\"", peer->address,
		  key ? "it has sent a wrong key" : "hello without a key");
	(void)cr_fail(&err->why, 0,
		      key ? "key: it is not this node's; the right one is in "
			    "the file of its --control-key"
			  : SERVICE_KEY_NEEDED);
	return request_refuse(err, RPC_DENIED);
}

json_t *method_hello(void *arg, struct rpc_peer *peer, const json_t *params,
		     struct rpc_error *err)
{
	struct service *sv = arg;
	struct session *s = session_of(peer, err);
	struct hello_request ask;
	struct hello_result tell;
	const char *why;

	if (!request_read(hello_fields, &ask, params, err))
		return NULL;
	if (!s)
		return request_refuse(err, RPC_CONFLICT);
	if (peer->stranger && !show_key(sv, peer, ask.key, err))
		return NULL;
	if (ask.resume && !session_resume(s, ask.resume)) {
		(void)cr_fail(&err->why, 0,
			      "resume: there is no session with this id; its "
			      "grace time may be over");
		return request_refuse(err, RPC_CONFLICT);
	}
	log_event(LOG_INFO, "hello", "peer=%s client=\"%.60s\" session=%llu",
		  peer->address, ask.client ? ask.client : "", s->number);
	tell = (struct hello_result){
		.program = "codec-runner",
		.version = CR_VERSION,
		.protocol = 1,
		.session = s->id,
		.calls = s->calls,
		.transport = peer->transport,
		.kernels = cr_kernels_names[cr_kernels_active()],
		.io = udp_io_names[node_io(sv->node, &why)],
		.draining = sv->draining,
		.codecs = describe_codecs,
		.schedulers = describe_schedulers,
	};
	node_scheduler(sv->node, tell.scheduler, sizeof(tell.scheduler));
	result_capacity(sv->node, &tell.capacity);
	tell.places = result_places(sv->node);
	tell.interfaces = result_interfaces(sv->node);
	return field_write(hello_result_fields, &tell);
}

json_t *method_stats(void *arg, struct rpc_peer *peer, const json_t *params,
		     struct rpc_error *err)
{
	struct stats_reported all;

	(void)peer;
	if (!request_is_empty(params, err))
		return NULL;
	stats_collect(arg, &all);
	return field_write(stats_fields, &all.tell);
}

json_t *method_codecs(void *arg, struct rpc_peer *peer, const json_t *params,
		      struct rpc_error *err)
{
	const struct codecs_result tell = { describe_codecs };

	(void)arg, (void)peer;
	return request_is_empty(params, err) ? field_write(codecs_fields, &tell)
					     : NULL;
}

/* --- traces --- */

/* Peers name files, not paths: what they may write is one folder. And names go
 * into logs and listings, line by line. */
static bool trace_path(const struct service *sv, const char *name, char *path,
		       size_t size, struct cr_err *e)
{
	if (*name && *name != '.' && !strchr(name, '/') &&
	    disarm_is_needless(name) &&
	    snprintf(path, size, "%s/%s", sv->cfg.trace_dir, name) < (int)size)
		return true;
	(void)cr_fail(e, 0, "name: '%.100s' is not a plain file name", name);
	return false;
}

/* What is no other refusal is about the file. */
static int trace_code(int err)
{
	int code = request_code(err);

	if (err == -EAGAIN)
		return RPC_NO_CAPACITY; /* no thread */
	return code == RPC_INTERNAL || err == -ENOSPC ? RPC_BAD_FILE : code;
}

json_t *method_trace_start(void *arg, struct rpc_peer *peer,
			   const json_t *params, struct rpc_error *err)
{
	struct service *sv = arg;
	struct trace_start_request ask;
	struct trace_start_result tell;
	char path[4096];
	int ret;

	(void)peer;
	if (!sv->cfg.trace_dir) {
		(void)cr_fail(&err->why, 0,
			      "name: this node was started without "
			      "--trace-dir, so it writes none");
		return request_refuse(err, RPC_INVALID_PARAMS);
	}
	if (!request_read(trace_begin_fields, &ask, params, err))
		return NULL;
	if (!trace_path(sv, ask.name, path, sizeof(path), &err->why))
		return request_refuse(err, RPC_INVALID_PARAMS);
	ret = node_trace_start(sv->node, path,
			       ask.overwrite ? TRACE_OVER_FILE
					     : TRACE_OVER_NOTHING,
			       &err->why);
	if (ret)
		return request_refuse(err, trace_code(ret));
	tell.path = path;
	return field_write(trace_begun_fields, &tell);
}

/* Answers trace.stop: the disk has the file. */
static void trace_stopped(void *arg, const struct trace_totals *totals)
{
	const struct trace_stop_result tell = {
		.totals = *totals,
		.error = totals->error ? strerror(totals->error) : NULL,
	};
	struct rpc_error e = { 0 };

	rpc_later_begin();
	rpc_later_reply(arg, field_write(trace_result_fields, &tell), &e);
}

json_t *method_trace_stop(void *arg, struct rpc_peer *peer,
			  const json_t *params, struct rpc_error *err)
{
	struct service *sv = arg;
	struct node_trace_asker asker = { .tell = trace_stopped };
	struct rpc_error e = { .code = RPC_CONFLICT };

	if (!request_is_empty(params, err))
		return NULL;
	asker.arg = rpc_later(peer, err);
	if (asker.arg && node_trace_end(sv->node, &asker, &e.why))
		rpc_later_reply(asker.arg, NULL, &e);
	return NULL;
}

/* --- */

json_t *method_drain(void *arg, struct rpc_peer *peer, const json_t *params,
		     struct rpc_error *err)
{
	struct service *sv = arg;
	struct drain_request ask;
	struct drain_result tell = { .draining = true };

	(void)peer;
	if (!request_read(drain_fields, &ask, params, err))
		return NULL;
	service_drain(sv, ask.limit < 0 ? sv->cfg.drain_limit : ask.limit,
		      false);
	tell.calls = node_calls(sv->node);
	return field_write(drain_result_fields, &tell);
}

json_t *method_drain_cancel(void *arg, struct rpc_peer *peer,
			    const json_t *params, struct rpc_error *err)
{
	struct service *sv = arg;
	const struct drain_result tell = { .calls = node_calls(sv->node) };

	(void)peer;
	if (!request_is_empty(params, err))
		return NULL;
	if (service_drain_cancel(sv, &err->why))
		return request_refuse(err, RPC_CONFLICT);
	return field_write(drain_result_fields, &tell);
}

enum { READS, CHANGES };

/* clang-format off */
#define SERVED(id, name, kind, params, result, help)                           \
	{ name, help, method_##id, (kind) == CHANGES },
/* clang-format on */

const struct rpc_method service_methods[] = { METHODS(SERVED){ .name = NULL } };
