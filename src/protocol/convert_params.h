/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parameters of convert.start, read by their table.
 */
#ifndef PROTOCOL_CONVERT_PARAMS_H
#define PROTOCOL_CONVERT_PARAMS_H

#include <jansson.h>

#include "cr/error.h"
#include "node/convert_request.h"

/** 0, or -EINVAL with @e naming the member and the way out. What they mean
 * together is node/convert_check.h's to say. Texts are borrowed. */
int convert_params(struct convert_request *out, const json_t *params,
		   struct cr_err *e);

#endif
