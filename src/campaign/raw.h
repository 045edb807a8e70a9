/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A campaign file as libcyaml loads it: texts only, absent keys NULL. Private
 * to src/campaign; generated from keys.h.
 */
#ifndef CAMPAIGN_RAW_H
#define CAMPAIGN_RAW_H

#include <cyaml/cyaml.h>

#include "campaign/keys.h"

#define RAW_ROW(member, key, kind, min, max, dflt, names, help) char *member;
#define RAW_TEXT(member, key, help) char *member;

struct raw_overhead {
	OVERHEAD_KEYS(RAW_ROW, RAW_TEXT)
};
struct raw_platform {
	PLATFORM_KEYS(RAW_ROW, RAW_TEXT)
	struct raw_overhead overhead;
};
struct raw_daemon {
	DAEMON_KEYS(RAW_ROW, RAW_TEXT)
};
struct raw_leg {
	LEG_KEYS(RAW_ROW, RAW_TEXT)
};
struct raw_release {
	RELEASE_KEYS(RAW_ROW, RAW_TEXT)
};
struct raw_contract {
	CONTRACT_KEYS(RAW_ROW, RAW_TEXT)
};
struct raw_start {
	START_KEYS(RAW_ROW, RAW_TEXT)
};
struct raw_hold {
	HOLD_KEYS(RAW_ROW, RAW_TEXT)
};
struct raw_network {
	NETWORK_KEYS(RAW_ROW, RAW_TEXT)
};
struct raw_talk {
	TALK_KEYS(RAW_ROW, RAW_TEXT)
};
struct raw_cost {
	COST_KEYS(RAW_ROW, RAW_TEXT)
};
struct raw_arrival {
	ARRIVAL_KEYS(RAW_ROW, RAW_TEXT)
};
struct raw_expect {
	EXPECT_KEYS(RAW_ROW, RAW_TEXT)
};

struct raw_conversions_expect {
	CONVERSIONS_EXPECT_KEYS(RAW_ROW, RAW_TEXT)
};

struct raw_conversions {
	CONVERSIONS_KEYS(RAW_ROW, RAW_TEXT)
	struct raw_leg out;
	char **input;
	unsigned input_count;
	struct raw_conversions_expect expect;
};

struct raw_flow {
	FLOW_KEYS(RAW_ROW, RAW_TEXT)
	struct raw_leg in, out;
	char **input;
	unsigned input_count;
	struct raw_release release;
	struct raw_contract contract;
	struct raw_start start;
	struct raw_hold hold;
	struct raw_network network;
	struct raw_talk talk;
	struct raw_cost cost;
	struct raw_arrival arrival;
	struct raw_expect expect;
};

struct raw_campaign {
	TOP_KEYS(RAW_ROW, RAW_TEXT)
	struct raw_platform platform;
	struct raw_daemon daemon;
	char **schedulers;
	unsigned schedulers_count;
	struct raw_flow *flows;
	unsigned flows_count;
	struct raw_conversions conversions;
	struct raw_expect expect;
};

#undef RAW_ROW
#undef RAW_TEXT

/** The whole file; loads into a struct raw_campaign. */
extern const cyaml_schema_value_t raw_schema;

#endif
