/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Campaigns by their texts.
 */
#ifndef TESTS_CAMPAIGN_TEXT_H
#define TESTS_CAMPAIGN_TEXT_H

#include <string.h>

#include "campaign/campaign.h"
#include "cmocka_cr.h"

static inline struct campaign *campaign_text(const char *text)
{
	struct cr_err e = { "" };
	struct campaign *c;

	if (campaign_parse(text, strlen(text), "c.yaml", NULL, &c, &e))
		fail_msg("%s", e.text);
	return c;
}

#endif
