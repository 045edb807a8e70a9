/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the protocol says of legs, and of the parties of conversations.
 */
#ifndef PROTOCOL_TABLES_LEG_H
#define PROTOCOL_TABLES_LEG_H

#include "node/conversation_request.h"
#include "protocol/tables/call.h"

/** leg.query, leg.close: which one. */
struct leg_reference {
	uint32_t leg;
};

struct leg_open_request {
	struct party_request party;
	bool keep; /**< belongs to no session */
};

struct leg_change_request {
	uint32_t leg;
	struct party_change to;
};

struct leg_list_result {
	struct field_each legs; /**< struct node_open_leg_info */
	bool more;
};

FIELD_TABLE_DECLARE(party_side, struct call_side_request);
FIELD_TABLE_DECLARE(party_leg, struct party_request);
FIELD_TABLE_DECLARE(party_change, struct party_change);
FIELD_TABLE_DECLARE(leg_open, struct leg_open_request);
FIELD_TABLE_DECLARE(leg_change, struct leg_change_request);
FIELD_TABLE_DECLARE(leg_reference, struct leg_reference);
FIELD_TABLE_DECLARE(leg_state, struct node_leg_info);
FIELD_TABLE_DECLARE(leg_info, struct node_open_leg_info);
FIELD_TABLE_DECLARE(leg_list, struct leg_list_result);

#endif
