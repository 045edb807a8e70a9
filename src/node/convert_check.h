/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From what is asked for to a conversion's configuration.
 */
#ifndef NODE_CONVERT_CHECK_H
#define NODE_CONVERT_CHECK_H

#include "convert/conversion.h"
#include "node/convert_request.h"

/**
 * The configuration that @r asks for: names, options, the output's kind. 0, or
 * -EINVAL with @e naming the member and the way out, and @out as it was. Pure:
 * whether the files are there is converter_submit()'s to say.
 */
int convert_check(struct conversion_cfg *out, const struct convert_request *r,
		  struct cr_err *e);

#endif
