/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the parameters of call.start to a call's configuration.
 */
#ifndef NODE_CALL_PARAMS_H
#define NODE_CALL_PARAMS_H

#include <jansson.h>

#include "media/call.h"
#include "node/call_terms.h"

/** What call.start asks for beside the call itself. */
struct call_request {
	struct call_cfg cfg;
	bool own_port;
	bool keep; /**< the call belongs to no session: only call.stop ends it
		    */
};

/**
 * Read call.start's @params. 0, or -EINVAL with @e naming the member and the
 * way out.
 */
int call_params(struct call_request *out, const json_t *params,
		struct cr_err *e);

#endif
