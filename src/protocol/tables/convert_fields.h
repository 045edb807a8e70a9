/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the protocol says of conversions of files.
 */
#ifndef PROTOCOL_TABLES_CONVERT_FIELDS_H
#define PROTOCOL_TABLES_CONVERT_FIELDS_H

#include "node/requests.h"
#include "node/info.h"
#include "protocol/tables/call_fields.h"

/** convert.query, convert.cancel: which one. */
struct conversion_reference {
	uint32_t conversion;
};

FIELD_TABLE_DECLARE(convert_start, struct convert_request);
FIELD_TABLE_DECLARE(conversion_reference, struct conversion_reference);
FIELD_TABLE_DECLARE(conversion_info, struct node_conversion_info);
FIELD_TABLE_DECLARE(convert_list, struct list_result);

/** 0, or -EINVAL with @e naming the member and the way out. What they mean
 * together is convert_check()'s to say. Texts are borrowed. */
int convert_params(struct convert_request *out, const json_t *params,
		   struct cr_err *e);

#endif
