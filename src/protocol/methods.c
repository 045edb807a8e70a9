/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The methods of the node itself: sessions, statistics, schedulers, traces,
 * draining.
 */
#include "protocol/methods.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"
#include "codecs/kernels/kernels.h"
#include "observe/log.h"
#include "protocol/field_json.h"
#include "protocol/kept_calls.h"
#include "protocol/key.h"
#include "protocol/results.h"
#include "protocol/tables/node_fields.h"

/** For methods without parameters: false, with @err, when @params says
 * anything. */
static bool request_is_empty(const json_t *params, struct rpc_error *err)
{
	struct nothing nothing;

	return request_read(nothing_fields, &nothing, params, err);
}

json_t *method_schedulers(void *arg, struct rpc_peer *peer,
			  const json_t *params, struct rpc_error *err)
{
	struct service *sv = arg;
	struct schedulers_result result = { 0 };

	(void)peer;
	if (!request_is_empty(params, err))
		return NULL;
	node_scheduler(sv->node, result.scheduler, sizeof(result.scheduler));
	result.schedulers = describe_schedulers(result.scheduler);
	return field_write(schedulers_fields, &result);
}

/* To load a shared object is to run its code: peers name files of one folder,
 * never paths. */
static int find_and_set(struct service *sv, const char *spec, struct cr_err *e)
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

/* Into the log, if it was done; @ret is passed on. */
static int log_scheduler(struct service *sv, int ret)
{
	char spec[320];

	if (ret)
		return ret;
	node_scheduler(sv->node, spec, sizeof(spec));
	log_event(LOG_INFO, "scheduler", LOG_WORD("now", spec));
	return 0;
}

int service_scheduler_set(struct service *sv, const char *spec,
			  struct cr_err *e)
{
	return log_scheduler(sv, find_and_set(sv, spec, e));
}

/* The new scheduler; or, when @ret says so, why it is the old one. */
static json_t *answer_scheduler(struct service *sv, int ret,
				struct rpc_error *err)
{
	struct scheduler_result result;

	/* one that is not there or does not load is none that we have */
	if (ret == -ENOENT || ret == -ENOEXEC)
		return request_refuse(err, RPC_UNSUPPORTED);
	if (ret)
		return request_refuse(err, request_code(ret));
	node_scheduler(sv->node, result.scheduler, sizeof(result.scheduler));
	return field_write(scheduler_result_fields, &result);
}

json_t *method_scheduler_set(void *arg, struct rpc_peer *peer,
			     const json_t *params, struct rpc_error *err)
{
	struct scheduler_set_request ask;

	(void)peer;
	if (!request_read(scheduler_set_fields, &ask, params, err))
		return NULL;
	return answer_scheduler(
		arg, service_scheduler_set(arg, ask.scheduler, &err->why), err);
}

json_t *method_scheduler_tune(void *arg, struct rpc_peer *peer,
			      const json_t *params, struct rpc_error *err)
{
	struct scheduler_tune_request ask;

	(void)peer;
	if (!request_read(scheduler_tune_fields, &ask, params, err))
		return NULL;
	return answer_scheduler(
		arg,
		log_scheduler(arg, node_scheduler_tune(service_node(arg),
						       ask.options, &err->why)),
		err);
}

/* After this it may have anything. */
static bool show_key(const struct service *sv, struct rpc_peer *peer,
		     const char *key, struct rpc_error *err)
{
	peer->stranger = !key || !key_matches(sv->cfg.key, key);
	if (!peer->stranger)
		return true;
	log_event(LOG_WARN, "denied", LOG_WORD("peer", peer->address),
		  LOG_STR("why", key ? "it has sent a wrong key"
				     : "hello without a key"));
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
	struct hello_result result;
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
	log_event(LOG_INFO, "hello", LOG_WORD("peer", peer->address),
		  LOG_INT("session", s->number),
		  LOG_STR("client", ask.client ? ask.client : ""));
	result = (struct hello_result){
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
	};
	node_scheduler(sv->node, result.scheduler, sizeof(result.scheduler));
	result.schedulers = describe_schedulers(result.scheduler);
	result_capacity(sv->node, &result.capacity);
	result.places = result_places(sv->node);
	result.interfaces = result_interfaces(sv->node);
	return field_write(hello_result_fields, &result);
}

json_t *method_stats(void *arg, struct rpc_peer *peer, const json_t *params,
		     struct rpc_error *err)
{
	struct stats_reported all;

	(void)peer;
	if (!request_is_empty(params, err))
		return NULL;
	stats_collect(arg, &all);
	return field_write(stats_fields, &all.result);
}

json_t *method_codecs(void *arg, struct rpc_peer *peer, const json_t *params,
		      struct rpc_error *err)
{
	const struct codecs_result result = { describe_codecs };

	(void)arg, (void)peer;
	return request_is_empty(params, err)
		       ? field_write(codecs_fields, &result)
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

json_t *method_trace_start(void *arg, struct rpc_peer *peer,
			   const json_t *params, struct rpc_error *err)
{
	struct service *sv = arg;
	struct trace_start_request ask;
	struct trace_start_result result;
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
	if (ret == -EAGAIN) /* no thread */
		return request_refuse(err, RPC_NO_CAPACITY);
	if (ret == -ENOSPC || (ret && request_code(ret) == RPC_INTERNAL))
		return request_refuse(err, RPC_BAD_FILE);
	if (ret)
		return request_refuse(err, request_code(ret));
	result.path = path;
	return field_write(trace_begun_fields, &result);
}

/* Answers trace.stop: the disk has the file. */
static void trace_stopped(void *arg, const struct trace_totals *totals)
{
	const struct trace_stop_result result = {
		.totals = *totals,
		.error = totals->error ? strerror(totals->error) : NULL,
	};
	struct rpc_error e = { 0 };

	rpc_later_begin();
	rpc_later_reply(arg, field_write(trace_result_fields, &result), &e);
}

json_t *method_trace_stop(void *arg, struct rpc_peer *peer,
			  const json_t *params, struct rpc_error *err)
{
	struct service *sv = arg;
	struct node_trace_asker asker = { .notify = trace_stopped };
	struct rpc_error e = { .code = RPC_CONFLICT };

	if (!request_is_empty(params, err))
		return NULL;
	asker.arg = rpc_later(peer, err);
	if (asker.arg && node_trace_end(sv->node, &asker, &e.why))
		rpc_later_reply(asker.arg, NULL, &e);
	return NULL;
}

/* --- */

/* Answers takeover: the store has said what there is. */
static void on_replica(void *arg, struct replica *got, const struct cr_err *why)
{
	struct service *sv = arg;
	struct rpc_later *later = sv->takeover;
	struct rpc_error e = { .code = RPC_INTERNAL, .why = *why };
	struct takeover_result result;
	json_t *reply = NULL;

	if (!later) /* the service ends */
		return;
	sv->takeover = NULL;
	rpc_later_begin();
	if (got) {
		result = (struct takeover_result){ .node = got->node,
						   .alive = got->alive };
		result.calls = take_calls(sv, got, &result.dropped);
		replicate_count(sv->cfg.replicate, result.calls,
				result.dropped);
		log_event(LOG_WARN, "taken-over", LOG_STR("node", got->node),
			  LOG_INT("calls", result.calls),
			  LOG_INT("dropped", result.dropped),
			  LOG_WORD("alive", got->alive ? "yes" : "no"));
		reply = field_write(takeover_result_fields, &result);
	}
	rpc_later_reply(later, reply, &e);
}

json_t *method_takeover(void *arg, struct rpc_peer *peer, const json_t *params,
			struct rpc_error *err)
{
	struct service *sv = arg;
	const struct replica_asker asker = { on_replica, sv };
	struct rpc_error e = { .code = RPC_CONFLICT };
	struct takeover_request ask;
	struct rpc_later *later;

	if (!request_read(takeover_fields, &ask, params, err) ||
	    !request_begins(sv, err))
		return NULL;
	if (!sv->cfg.replicate) {
		(void)cr_fail(&err->why, 0,
			      "this node was started without --replicate");
		return request_refuse(err, RPC_UNSUPPORTED);
	}
	later = rpc_later(peer, err);
	if (!later)
		return NULL;
	if (replicate_take(sv->cfg.replicate, ask.node, &asker, &e.why))
		rpc_later_reply(later, NULL, &e);
	else
		sv->takeover = later;
	return NULL;
}

void takeover_drop(struct service *sv)
{
	struct rpc_error e = { .code = RPC_DRAINING };

	if (!sv->takeover)
		return;
	(void)cr_fail(&e.why, 0, "draining: this node ends");
	rpc_later_reply(sv->takeover, NULL, &e);
	sv->takeover = NULL;
}

/* Of an address "unix:pid=7,uid=1000". */
static bool is_own_user(const struct rpc_peer *peer)
{
	const char *uid = strcmp(peer->transport, "unix") != 0
				  ? NULL
				  : strstr(peer->address, "uid=");
	unsigned long id = uid ? strtoul(uid + 4, NULL, 10) : 1;

	return uid && (!id || id == geteuid());
}

json_t *method_upgrade(void *arg, struct rpc_peer *peer, const json_t *params,
		       struct rpc_error *err)
{
	struct rpc_error e = { .code = RPC_CONFLICT };
	struct service *sv = arg;
	struct upgrade_request ask;
	void *asker;
	int ret;

	if (!request_read(upgrade_fields, &ask, params, err))
		return NULL;
	if (!is_own_user(peer)) {
		(void)cr_fail(&err->why, 0,
			      "upgrade: only by the Unix socket, of root or "
			      "the node's own user");
		return request_refuse(err, RPC_DENIED);
	}
	asker = rpc_later(peer, err);
	if (!asker)
		return NULL;
	ret = sv->cfg.upgrade
		      ? sv->cfg.upgrade(sv->cfg.arg, ask.program, asker, &e.why)
		      : cr_fail(&e.why, -ENOTSUP, "nobody upgrades it");
	if (ret == -ENOTSUP)
		e.code = RPC_UNSUPPORTED;
	if (ret)
		rpc_later_reply(asker, NULL, &e);
	return NULL;
}

void service_upgraded(struct service *s, void *asker, int err,
		      const struct cr_err *why, unsigned calls)
{
	const struct upgrade_result result = { calls };
	struct rpc_error e = { .code = err ? RPC_CONFLICT : 0, .why = *why };

	if (!err)
		deferred_drop(s, NULL, RPC_CONFLICT,
			      "another process has the node now: ask again");
	rpc_later_begin();
	rpc_later_reply(
		asker, err ? NULL : field_write(upgrade_result_fields, &result),
		&e);
}

json_t *method_drain(void *arg, struct rpc_peer *peer, const json_t *params,
		     struct rpc_error *err)
{
	struct service *sv = arg;
	struct drain_request ask;
	struct drain_result result = { .draining = true };

	(void)peer;
	if (!request_read(drain_fields, &ask, params, err))
		return NULL;
	service_drain(sv, ask.limit < 0 ? sv->cfg.drain_limit : ask.limit,
		      false);
	result.calls = node_calls(sv->node);
	return field_write(drain_result_fields, &result);
}

json_t *method_drain_cancel(void *arg, struct rpc_peer *peer,
			    const json_t *params, struct rpc_error *err)
{
	struct service *sv = arg;
	const struct drain_result result = { .calls = node_calls(sv->node) };

	(void)peer;
	if (!request_is_empty(params, err))
		return NULL;
	if (service_drain_cancel(sv, &err->why))
		return request_refuse(err, RPC_CONFLICT);
	return field_write(drain_result_fields, &result);
}

enum { READS, CHANGES };

/* clang-format off */
#define SERVED(id, name, kind, params, result, help)                           \
	{ name, help, method_##id, (kind) == CHANGES },
/* clang-format on */

const struct rpc_method service_methods[] = { METHODS(SERVED){ .name = NULL } };
