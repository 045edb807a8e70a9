/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parameters of convert.start.
 */
#include "protocol/convert_params.h"

#include "protocol/field_json.h"
#include "protocol/tables/convert.h"

int convert_params(struct convert_request *out, const json_t *params,
		   struct cr_err *e)
{
	field_defaults(convert_start_fields, out);
	return field_read(convert_start_fields, params, out, e);
}
