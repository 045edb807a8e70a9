/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the protocol says of endpoints, and of parties.
 */
#ifndef PROTOCOL_TABLES_ENDPOINT_FIELDS_H
#define PROTOCOL_TABLES_ENDPOINT_FIELDS_H

#include "node/requests.h"
#include "protocol/tables/call_fields.h"

/** endpoint.query, endpoint.close: which one. */
struct endpoint_reference {
	uint32_t endpoint;
};

struct endpoint_open_request {
	struct endpoint_spec end;
	bool keep; /**< belongs to no session */
};

FIELD_TABLE_DECLARE(party_side, struct codec_use);
FIELD_TABLE_DECLARE(party_endpoint, struct endpoint_spec);
FIELD_TABLE_DECLARE(party_change, struct endpoint_spec);
FIELD_TABLE_DECLARE(endpoint_open, struct endpoint_open_request);
FIELD_TABLE_DECLARE(endpoint_change, struct call_spec);
FIELD_TABLE_DECLARE(endpoint_reference, struct endpoint_reference);
FIELD_TABLE_DECLARE(endpoint_state, struct node_endpoint_info);
FIELD_TABLE_DECLARE(endpoint_info, struct node_endpoint_info);
FIELD_TABLE_DECLARE(endpoint_list, struct list_result);

FIELD_TABLE_DECLARE(party, struct endpoint_spec);
FIELD_TABLE_DECLARE(party_info, struct node_endpoint_info);

#endif
