/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parameters of call.start, call.change and convert.start.
 */
#include "protocol/params.h"

#include <errno.h>

#include "protocol/field.h"
#include "protocol/tables/call.h"
#include "protocol/tables/convert.h"

int call_params(struct call_request *out, const json_t *params,
		struct cr_err *e)
{
	*out = (struct call_request){ 0 };
	field_defaults(call_start_fields, out);
	return field_read(call_start_fields, params, out, e);
}

int call_change_params(struct call_change_request *r, const json_t *params,
		       struct cr_err *e)
{
	int err = field_read(call_change_fields, params, r, e);

	if (!err && json_object_size(params) < 2)
		err = cr_fail(
			e, -EINVAL,
			"params: nothing to change: give class, "
			"deadline, weight, nice, contract, ptime, out.mode or "
			"out.ptime");
	return err;
}

int convert_params(struct convert_request *out, const json_t *params,
		   struct cr_err *e)
{
	field_defaults(convert_start_fields, out);
	return field_read(convert_start_fields, params, out, e);
}
