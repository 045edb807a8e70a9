/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parameters of call.start, call.change and convert.start, read by their
 * tables. What they mean together is node/call_check.h's and
 * node/convert_request.h's to say. Texts are borrowed from the JSON.
 */
#ifndef PROTOCOL_PARAMS_H
#define PROTOCOL_PARAMS_H

#include <jansson.h>

#include "cr/error.h"
#include "node/call_request.h"
#include "node/convert_request.h"

/** call.start's @params. 0, or -EINVAL with @e naming the member and the way
 * out. */
int call_params(struct call_request *out, const json_t *params,
		struct cr_err *e);

/** call.change's @params into @r, which has what goes now (see
 * call_change_begin()). 0, or -EINVAL with @e as above. */
int call_change_params(struct call_change_request *r, const json_t *params,
		       struct cr_err *e);

/** 0, or -EINVAL with @e naming the member and the way out. What they mean
 * together is node/convert_request.h's to say. Texts are borrowed. */
int convert_params(struct convert_request *out, const json_t *params,
		   struct cr_err *e);

#endif
