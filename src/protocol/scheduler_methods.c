/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The methods of schedulers: which there are, which one decides, its options.
 */
#include <errno.h>
#include <string.h>

#include "node/args.h"
#include "node/describe.h"
#include "observe/log.h"
#include "protocol/methods.h"
#include "protocol/request.h"

json_t *scheduler_list(void *arg, struct rpc_peer *peer, const json_t *params,
		       struct rpc_error *err)
{
	struct service *sv = arg;
	char spec[320];

	(void)peer;
	if (!request_is_empty(params, err))
		return NULL;
	node_scheduler(sv->node, spec, sizeof(spec));
	return json_pack("{s:s,s:o}", "scheduler", spec, "schedulers",
			 describe_schedulers());
}

/* A policy that is not there or does not load is none that we have. */
static int code_of(int err)
{
	return err == -ENOENT || err == -ENOEXEC ? RPC_UNSUPPORTED
						 : request_code(err);
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
		return request_refuse(err, RPC_INVALID_PARAMS);
	ret = apply(sv, text, &err->why);
	if (ret)
		return request_refuse(err, code_of(ret));
	node_scheduler(sv->node, spec, sizeof(spec));
	return json_pack("{s:s}", "scheduler", spec);
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

json_t *scheduler_set(void *arg, struct rpc_peer *peer, const json_t *params,
		      struct rpc_error *err)
{
	(void)peer;
	return change(arg, params, "scheduler", service_scheduler_set, err);
}

json_t *scheduler_tune(void *arg, struct rpc_peer *peer, const json_t *params,
		       struct rpc_error *err)
{
	(void)peer;
	return change(arg, params, "options", tune_scheduler, err);
}
