/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a party of a conversation does beside speaking, frame by frame: it
 * dials digits, sends comfort noise in its pauses, and changes its SSRC and its
 * port. Pure functions of the plan. Private to src/campaign.
 */
#ifndef CAMPAIGN_PARTY_H
#define CAMPAIGN_PARTY_H

#include "campaign/plan.h"

/** Most packets of one frame: the last update of a digit is its end, three
 * times. */
#define PARTY_PACKETS 3u

/** Of @s->flow and @s->call. Calls that are no conversations have nothing. */
void party_init(struct plan_stream *s);

/** Frame @s->frame begins: has SSRC or port changed? Not while a digit is
 * dialled: then it waits for the end. True: another SSRC. */
bool party_changes(struct plan_stream *s);

/** What it sends in that frame in place of speech or silence. Returns how many
 * are in @out[PARTY_PACKETS]; 0: neither digit nor noise. */
unsigned party_says(struct plan_stream *s, struct plan_packet *out);

#endif
