/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The methods of schedulers: which there are, which one decides, its options.
 */
#include <errno.h>
#include <string.h>

#include "observe/log.h"
#include "protocol/describe.h"
#include "protocol/field_json.h"
#include "protocol/methods.h"
#include "protocol/request.h"
#include "protocol/tables/scheduler.h"

json_t *method_schedulers(void *arg, struct rpc_peer *peer,
			  const json_t *params, struct rpc_error *err)
{
	struct service *sv = arg;
	struct schedulers_result tell = { .schedulers = describe_schedulers };

	(void)peer;
	if (!request_is_empty(params, err))
		return NULL;
	node_scheduler(sv->node, tell.scheduler, sizeof(tell.scheduler));
	return field_write(schedulers_fields, &tell);
}

/* A policy that is not there or does not load is none that we have. */
static int code_of(int err)
{
	return err == -ENOENT || err == -ENOEXEC ? RPC_UNSUPPORTED
						 : request_code(err);
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
static int tell(struct service *sv, int ret)
{
	char spec[320];

	if (ret)
		return ret;
	node_scheduler(sv->node, spec, sizeof(spec));
	log_event(LOG_INFO, "scheduler", "now=%s", spec);
	return 0;
}

int service_scheduler_set(struct service *sv, const char *spec,
			  struct cr_err *e)
{
	return tell(sv, find_and_set(sv, spec, e));
}

static int tune_scheduler(struct service *sv, const char *opts,
			  struct cr_err *e)
{
	return tell(sv, node_scheduler_tune(sv->node, opts, e));
}

/* The new scheduler; or, when @ret says so, why it is the old one. */
static json_t *answer(struct service *sv, int ret, struct rpc_error *err)
{
	struct scheduler_result tell;

	if (ret)
		return request_refuse(err, code_of(ret));
	node_scheduler(sv->node, tell.scheduler, sizeof(tell.scheduler));
	return field_write(scheduler_result_fields, &tell);
}

json_t *method_scheduler_set(void *arg, struct rpc_peer *peer,
			     const json_t *params, struct rpc_error *err)
{
	struct scheduler_set_request ask;

	(void)peer;
	if (!request_read(scheduler_set_fields, &ask, params, err))
		return NULL;
	return answer(arg, service_scheduler_set(arg, ask.scheduler, &err->why),
		      err);
}

json_t *method_scheduler_tune(void *arg, struct rpc_peer *peer,
			      const json_t *params, struct rpc_error *err)
{
	struct scheduler_tune_request ask;

	(void)peer;
	if (!request_read(scheduler_tune_fields, &ask, params, err))
		return NULL;
	return answer(arg, tune_scheduler(arg, ask.options, &err->why), err);
}
