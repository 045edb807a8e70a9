/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the parameters of convert.start to a conversion's configuration.
 */
#ifndef NODE_CONVERT_PARAMS_H
#define NODE_CONVERT_PARAMS_H

#include <jansson.h>

#include "convert/conversion.h"

/**
 * Read convert.start's @params: names, options, the output's kind. 0, or
 * -EINVAL with @e naming the member and the way out. Pure: whether the files
 * are there is converter_submit()'s to say.
 */
int convert_params(struct conversion_cfg *out, const json_t *params,
		   struct cr_err *e);

#endif
