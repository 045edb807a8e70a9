/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The libcyaml schema of a campaign file, generated from keys.h. Every scalar
 * is a string here: units and bounds are the option tables' business.
 */
#include "campaign/raw.h"

#include <stddef.h>

#define FIELD(type, member, key)                                               \
	CYAML_FIELD_STRING_PTR(key, CYAML_FLAG_OPTIONAL, type, member, 0, 1024),
/* The lists are used with FIELD of the struct at hand: */
#define ROW_FIELD(member, key, kind, min, max, dflt, names, help)              \
	FIELD(struct RAW, member, key)
#define TEXT_FIELD(member, key, help) FIELD(struct RAW, member, key)

#define MAX_FLOWS 256
#define MAX_LIST 256

#define OPT CYAML_FLAG_OPTIONAL
#define RAW raw_overhead
static const cyaml_schema_field_t overhead_fields[] = { OVERHEAD_KEYS(
	ROW_FIELD, TEXT_FIELD) CYAML_FIELD_END };
#undef RAW
#define RAW raw_platform
static const cyaml_schema_field_t platform_fields[] = {
	PLATFORM_KEYS(ROW_FIELD, TEXT_FIELD)
		CYAML_FIELD_MAPPING("overhead", OPT, struct raw_platform,
				    overhead, overhead_fields),
	CYAML_FIELD_END
};
#undef RAW
#define RAW raw_daemon
static const cyaml_schema_field_t daemon_fields[] = { DAEMON_KEYS(
	ROW_FIELD, TEXT_FIELD) CYAML_FIELD_END };
#undef RAW
#define RAW raw_leg
static const cyaml_schema_field_t leg_fields[] = { LEG_KEYS(
	ROW_FIELD, TEXT_FIELD) CYAML_FIELD_END };
#undef RAW
#define RAW raw_release
static const cyaml_schema_field_t release_fields[] = { RELEASE_KEYS(
	ROW_FIELD, TEXT_FIELD) CYAML_FIELD_END };
#undef RAW
#define RAW raw_contract
static const cyaml_schema_field_t contract_fields[] = { CONTRACT_KEYS(
	ROW_FIELD, TEXT_FIELD) CYAML_FIELD_END };
#undef RAW
#define RAW raw_start
static const cyaml_schema_field_t start_fields[] = { START_KEYS(
	ROW_FIELD, TEXT_FIELD) CYAML_FIELD_END };
#undef RAW
#define RAW raw_hold
static const cyaml_schema_field_t hold_fields[] = { HOLD_KEYS(
	ROW_FIELD, TEXT_FIELD) CYAML_FIELD_END };
#undef RAW
#define RAW raw_network
static const cyaml_schema_field_t network_fields[] = { NETWORK_KEYS(
	ROW_FIELD, TEXT_FIELD) CYAML_FIELD_END };
#undef RAW
#define RAW raw_talk
static const cyaml_schema_field_t talk_fields[] = { TALK_KEYS(
	ROW_FIELD, TEXT_FIELD) CYAML_FIELD_END };
#undef RAW
#define RAW raw_cost
static const cyaml_schema_field_t cost_fields[] = { COST_KEYS(
	ROW_FIELD, TEXT_FIELD) CYAML_FIELD_END };
#undef RAW
#define RAW raw_arrival
static const cyaml_schema_field_t arrival_fields[] = { ARRIVAL_KEYS(
	ROW_FIELD, TEXT_FIELD) CYAML_FIELD_END };
#undef RAW
#define RAW raw_expect
static const cyaml_schema_field_t expect_fields[] = { EXPECT_KEYS(
	ROW_FIELD, TEXT_FIELD) CYAML_FIELD_END };
#undef RAW
#define RAW raw_conversions_expect
static const cyaml_schema_field_t conversions_expect_fields[] = {
	CONVERSIONS_EXPECT_KEYS(ROW_FIELD, TEXT_FIELD) CYAML_FIELD_END
};
#undef RAW

static const cyaml_schema_value_t text_entry = { CYAML_VALUE_STRING(
	CYAML_FLAG_POINTER, char *, 0, 1024) };

#define RAW raw_flow
static const cyaml_schema_field_t flow_fields[] = {
	FLOW_KEYS(ROW_FIELD, TEXT_FIELD)
		CYAML_FIELD_MAPPING("in", OPT, struct raw_flow, in, leg_fields),
	CYAML_FIELD_MAPPING("out", OPT, struct raw_flow, out, leg_fields),
	CYAML_FIELD_SEQUENCE("input", OPT | CYAML_FLAG_POINTER, struct raw_flow,
			     input, &text_entry, 1, MAX_LIST),
	CYAML_FIELD_MAPPING("release", OPT, struct raw_flow, release,
			    release_fields),
	CYAML_FIELD_MAPPING("contract", OPT, struct raw_flow, contract,
			    contract_fields),
	CYAML_FIELD_MAPPING("start", OPT, struct raw_flow, start, start_fields),
	CYAML_FIELD_MAPPING("hold", OPT, struct raw_flow, hold, hold_fields),
	CYAML_FIELD_MAPPING("network", OPT, struct raw_flow, network,
			    network_fields),
	CYAML_FIELD_MAPPING("talk", OPT, struct raw_flow, talk, talk_fields),
	CYAML_FIELD_MAPPING("cost", OPT, struct raw_flow, cost, cost_fields),
	CYAML_FIELD_MAPPING("arrival", OPT, struct raw_flow, arrival,
			    arrival_fields),
	CYAML_FIELD_MAPPING("expect", OPT, struct raw_flow, expect,
			    expect_fields),
	CYAML_FIELD_END
};
#undef RAW

static const cyaml_schema_value_t flow_entry = { CYAML_VALUE_MAPPING(
	CYAML_FLAG_DEFAULT, struct raw_flow, flow_fields) };

#define RAW raw_conversions
static const cyaml_schema_field_t conversions_fields[] = {
	CONVERSIONS_KEYS(ROW_FIELD, TEXT_FIELD) CYAML_FIELD_MAPPING(
		"out", OPT, struct raw_conversions, out, leg_fields),
	CYAML_FIELD_SEQUENCE("input", OPT | CYAML_FLAG_POINTER,
			     struct raw_conversions, input, &text_entry, 1,
			     MAX_LIST),
	CYAML_FIELD_MAPPING("expect", OPT, struct raw_conversions, expect,
			    conversions_expect_fields),
	CYAML_FIELD_END
};
#undef RAW

#define RAW raw_campaign
static const cyaml_schema_field_t top_fields[] = {
	TOP_KEYS(ROW_FIELD, TEXT_FIELD)
		CYAML_FIELD_MAPPING("platform", OPT, struct raw_campaign,
				    platform, platform_fields),
	CYAML_FIELD_MAPPING("daemon", OPT, struct raw_campaign, daemon,
			    daemon_fields),
	CYAML_FIELD_SEQUENCE("schedulers", OPT | CYAML_FLAG_POINTER,
			     struct raw_campaign, schedulers, &text_entry, 1,
			     MAX_LIST),
	CYAML_FIELD_SEQUENCE("flows", CYAML_FLAG_POINTER, struct raw_campaign,
			     flows, &flow_entry, 1, MAX_FLOWS),
	CYAML_FIELD_MAPPING("conversions", OPT, struct raw_campaign,
			    conversions, conversions_fields),
	CYAML_FIELD_MAPPING("expect", OPT, struct raw_campaign, expect,
			    expect_fields),
	CYAML_FIELD_END
};
#undef RAW

const cyaml_schema_value_t raw_schema = { CYAML_VALUE_MAPPING(
	CYAML_FLAG_POINTER, struct raw_campaign, top_fields) };
