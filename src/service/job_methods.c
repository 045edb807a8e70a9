/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The methods of jobs: files of the spool folder converted behind the calls.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/nearest.h"
#include "node/args.h"
#include "service/service_impl.h"

#define LIST_MAX 200

static json_t *refuse(struct rpc_error *err, int code)
{
	err->code = code;
	return NULL;
}

static int code_of(int err)
{
	switch (err) {
	case -EINVAL:
		return RPC_INVALID_PARAMS;
	case -EEXIST:
	case -EBUSY:
		return RPC_CONFLICT;
	case -ENOSPC:
	case -EMFILE:
	case -ENFILE:
		return RPC_NO_CAPACITY;
	case -ENOTSUP:
		return RPC_UNSUPPORTED;
	case -ENOMEM:
		return RPC_INTERNAL;
	default:
		return RPC_BAD_FILE;
	}
}

static int mode_of(struct args *a, const struct cr_codec *codec, unsigned *mode)
{
	const char *name = args_string(a, "mode", NULL);
	const char *names[33];
	char hint[200];
	unsigned n;
	int found;

	*mode = codec->default_mode;
	if (!name)
		return 0;
	found = cr_codec_mode_find(codec, name);
	if (found >= 0) {
		*mode = (unsigned)found;
		return 0;
	}
	for (n = 0; n < codec->nmodes && n < 32; n++)
		names[n] = codec->modes[n].name;
	names[n] = NULL;
	return args_fail(a, "mode", "%s has no mode '%s'; %s", codec->name,
			 name, nearest_hint(name, names, hint, sizeof(hint)));
}

static int name_of(struct args *a, const char *key, char *name)
{
	const char *text = args_string(a, key, NULL);

	if (a->failed)
		return -EINVAL;
	if (!text)
		return args_fail(a, key,
				 "is missing: a file in the node's spool "
				 "folder");
	if (snprintf(name, SPOOL_NAME, "%s", text) >= (int)SPOOL_NAME)
		return args_fail(a, key, "is longer than %u octets",
				 SPOOL_NAME - 1);
	return 0;
}

/* What only some formats have is refused with others: it would be ignored. */
static int options_of(struct args *a, struct job_cfg *cfg)
{
	bool wav = cfg->to.kind == AUDIO_WAV;
	int64_t rate = args_int(a, "rate", 8000, 16000, 0);

	cfg->overwrite = args_bool(a, "overwrite", false);
	cfg->dtx = args_bool(a, "dtx", false);
	cfg->to.rate = (unsigned)rate;
	if (rate && rate != 8000 && rate != 16000)
		return args_fail(a, "rate", "must be 8000 or 16000");
	if (rate && !wav)
		return args_fail(a, "rate", "is for WAV output only");
	if (wav && args_has(a, "mode"))
		return args_fail(a, "mode", "WAV output has none");
	if (wav && cfg->dtx)
		return args_fail(a, "dtx", "WAV output has none");
	if (a->failed)
		return -EINVAL;
	return mode_of(a, audio_codec(cfg->to.kind), &cfg->mode);
}

static int job_params(struct job_cfg *cfg, const json_t *params,
		      struct cr_err *e)
{
	static const char *const known[] = { "in",   "out",	  "mode", "dtx",
					     "rate", "overwrite", NULL };
	struct args a = args_of(params, "", known, e);

	if (a.failed || name_of(&a, "in", cfg->in) ||
	    name_of(&a, "out", cfg->out) ||
	    audio_kind_of(cfg->out, &cfg->to.kind, e))
		return -EINVAL;
	return options_of(&a, cfg);
}

json_t *job_submit(void *arg, struct rpc_peer *peer, const json_t *params,
		   struct rpc_error *err)
{
	struct service *sv = arg;
	const struct session *s = peer->owner;
	struct job_cfg cfg = { 0 };
	struct job *j = NULL;
	int ret;

	if (sv->draining) {
		(void)cr_fail(&err->why, 0,
			      "draining: this node takes no new jobs");
		return refuse(err, RPC_DRAINING);
	}
	ret = job_params(&cfg, params, &err->why);
	if (!ret)
		ret = node_job_submit(sv->node, &cfg, s ? s->id : "", &j,
				      &err->why);
	return ret ? refuse(err, code_of(ret)) : node_job_json(j);
}

/* The job that the member "job" names, or NULL with @err. */
static struct job *job_named(struct service *sv, const json_t *params,
			     struct rpc_error *err)
{
	static const char *const known[] = { "job", NULL };
	struct args a = args_of(params, "", known, &err->why);
	uint32_t id = (uint32_t)args_int(&a, "job", 1, UINT32_MAX, 0);
	struct job *j;

	if (!a.failed && !id)
		(void)args_fail(&a, "job", "is missing: which job?");
	if (a.failed) {
		err->code = RPC_INVALID_PARAMS;
		return NULL;
	}
	j = node_job_find(sv->node, id);
	if (!j) {
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
		return refuse(err, RPC_CONFLICT);
	}
	return node_job_json(j);
}

json_t *job_list(void *arg, struct rpc_peer *peer, const json_t *params,
		 struct rpc_error *err)
{
	static const char *const known[] = { "after", "limit", NULL };
	struct service *sv = arg;
	struct args a = args_of(params, "", known, &err->why);
	uint32_t after = (uint32_t)args_int(&a, "after", 0, UINT32_MAX, 0);
	int64_t limit = args_int(&a, "limit", 1, LIST_MAX, 50);
	const struct job *j;
	json_t *jobs;

	(void)peer;
	if (a.failed)
		return refuse(err, RPC_INVALID_PARAMS);
	jobs = json_array();
	for (; limit && (j = node_job_after(sv->node, after)); limit--) {
		after = j->cfg.id;
		(void)json_array_append_new(jobs, node_job_json(j));
	}
	return json_pack("{s:o,s:b}", "jobs", jobs, "more",
			 node_job_after(sv->node, after) != NULL);
}
