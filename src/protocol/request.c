/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the methods have in common.
 */
#include "protocol/request.h"

#include <errno.h>

#include "node/args.h"

#define PAGE_MAX 200

json_t *request_refuse(struct rpc_error *err, int code)
{
	err->code = code;
	return NULL;
}

int request_code(int err)
{
	switch (err) {
	case -EINVAL:
		return RPC_INVALID_PARAMS;
	case -EEXIST:
	case -EBUSY:
		return RPC_CONFLICT;
	case -ESRCH:
		return RPC_NO_SUCH_CALL;
	case -ENOSPC:
	case -EMFILE:
	case -ENFILE:
		return RPC_NO_CAPACITY;
	case -ENOTSUP:
		return RPC_UNSUPPORTED;
	default:
		return RPC_INTERNAL;
	}
}

bool request_is_empty(const json_t *params, struct rpc_error *err)
{
	static const char *const none[] = { NULL };
	struct args a = args_of(params, "", none, &err->why);

	if (a.failed)
		err->code = RPC_INVALID_PARAMS;
	return !a.failed;
}

uint32_t request_id(const json_t *params, const char *key,
		    struct rpc_error *err)
{
	const char *const known[] = { key, NULL };
	struct args a = args_of(params, "", known, &err->why);
	uint32_t id = (uint32_t)args_int(&a, key, 1, UINT32_MAX, 0);

	if (!a.failed && !id)
		(void)args_fail(&a, key, "is missing: which %s?", key);
	if (!a.failed)
		return id;
	err->code = RPC_INVALID_PARAMS;
	return 0;
}

uint32_t request_id_among(const json_t *params, const char *key,
			  struct rpc_error *err)
{
	json_t *id = json_object_get(params, key);
	json_t *only = json_object();
	uint32_t n;

	if (id)
		(void)json_object_set(only, key, id);
	n = request_id(json_is_object(params) ? only : params, key, err);
	json_decref(only);
	return n;
}

bool request_page(struct request_page *page, const json_t *params,
		  struct rpc_error *err)
{
	static const char *const known[] = { "after", "limit", NULL };
	struct args a = args_of(params, "", known, &err->why);

	page->after = (uint32_t)args_int(&a, "after", 0, UINT32_MAX, 0);
	page->limit = (unsigned)args_int(&a, "limit", 1, PAGE_MAX, 50);
	if (a.failed)
		err->code = RPC_INVALID_PARAMS;
	return !a.failed;
}
