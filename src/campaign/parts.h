/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a campaign, each read from its section and checked: values
 * against their rows, then against each other. They return 0, or -EINVAL or
 * -ENOMEM with the file's error. Private to src/campaign.
 */
#ifndef CAMPAIGN_PARTS_H
#define CAMPAIGN_PARTS_H

#include "campaign/section.h"

/** What must hold: an expect section, whose metrics begin at @first. */
int read_expect(const struct section *s, enum campaign_metric first,
		struct campaign_expect *out);

/** One side of calls, or what conversions make. */
int read_endpoint(const struct section *s, struct campaign_endpoint *endpoint);

/** Flow number @i, which is no conversation. */
int read_flow(const struct section *s, unsigned i, struct campaign_flow *f);

/** Is flow @s a conversation? */
bool is_conversation(const struct section *s);

/** Conversation number @i: what a says, what b says. */
int read_conversation(const struct section *s, unsigned i,
		      struct campaign_flow f[2]);

/* What flows and conversations have in common. */

/** The name of flow number @i into @out[CAMPAIGN_NAME_MAX]. */
int read_flow_name(const struct section *s, unsigned i, char *out);

/** Count, class, deadline, shares; whether flow @s is synthetic. */
int read_numbers(const struct section *s, struct campaign_flow *f);

/** Deadline, release, contract, start, hold, expectations, input. */
int read_terms(const struct section *s, struct campaign_flow *f);

/** Network, jitter buffer, talk and drift of @s, a flow or a party; arrivals
 * and ptime are in @f. */
int read_flow_sender(const struct section *s, struct campaign_flow *f);

/** @endpoint, if its rate is that of the other one, as the daemon has it. */
void follow_other_rate(struct campaign_endpoint *endpoint,
		       const struct campaign_endpoint *other);

/** The ptime of flow @s, 0: its codec's; and the samples of both endpoints. */
int check_flow_ptime(const struct section *s, struct campaign_flow *f);

/** Cost and arrival models of flow @s, of which the rest is in @f; without
 * codecs they make it a synthetic one. */
int read_models(const struct section *s, struct campaign_flow *f);

#endif
