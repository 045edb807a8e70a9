/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keys of a campaign file, each once: what it is called, means, may be, and
 * where its value goes. From these tables come parsing, the refusal of other
 * keys, bounds and defaults. Private to src/campaign.
 */
#ifndef CAMPAIGN_KEYS_H
#define CAMPAIGN_KEYS_H

#include <stdbool.h>

#include "campaign/campaign.h"
#include "cr/option.h"

enum key_kind {
	KEY_VALUE,   /**< what its option row says                          */
	KEY_TEXT,    /**< text that code reads; no default                  */
	KEY_BOUND,   /**< "<= 1%": a bound of what its option row says      */
	KEY_LIST,    /**< texts                                             */
	KEY_SECTION, /**< keys below                                       */
	KEY_SECTIONS /**< a list of sections                               */
};

struct key {
	struct cr_opt opt; /**< name NULL ends a table */
	enum key_kind kind;
	unsigned bytes; /**< of the member at opt.offset; 0: it has none */
	bool needed;
	const struct key *below; /**< of KEY_SECTION, KEY_SECTIONS */
};

/** The whole file. */
extern const struct key campaign_keys[];

/** Its expectations, by enum campaign_metric: of calls [NCALL_METRICS], of
 * conversions [NMETRICS - NCALL_METRICS]. */
extern const struct key expect_keys[], conversions_expect_keys[];

/** Names of enum campaign_cost_kind and enum campaign_arrival_kind. */
extern const char *const key_voices[];
extern const char *const key_costs[], *const key_arrivals[];

#endif
