/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the protocol says of endpoints, and of the parties of conversations.
 */
#ifndef PROTOCOL_TABLES_ENDPOINT_H
#define PROTOCOL_TABLES_ENDPOINT_H

#include "node/conversation_request.h"
#include "protocol/tables/call.h"

/** endpoint.query, endpoint.close: which one. */
struct endpoint_reference {
	uint32_t endpoint;
};

struct endpoint_open_request {
	struct party_request party;
	bool keep; /**< belongs to no session */
};

struct endpoint_change_request {
	uint32_t endpoint;
	struct party_change to;
};

struct endpoint_list_result {
	struct field_each endpoints; /**< struct node_open_endpoint_info */
	bool more;
};

FIELD_TABLE_DECLARE(party_side, struct call_side_request);
FIELD_TABLE_DECLARE(party_endpoint, struct party_request);
FIELD_TABLE_DECLARE(party_change, struct party_change);
FIELD_TABLE_DECLARE(endpoint_open, struct endpoint_open_request);
FIELD_TABLE_DECLARE(endpoint_change, struct endpoint_change_request);
FIELD_TABLE_DECLARE(endpoint_reference, struct endpoint_reference);
FIELD_TABLE_DECLARE(endpoint_state, struct node_endpoint_info);
FIELD_TABLE_DECLARE(endpoint_info, struct node_open_endpoint_info);
FIELD_TABLE_DECLARE(endpoint_list, struct endpoint_list_result);

#endif
