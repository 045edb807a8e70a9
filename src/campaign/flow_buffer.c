/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flow's jitter buffer; the simulator has it.
 */
#include "campaign/parts.h"
#include "rtp/jitter.h"

/* Beside what fits into the delay: one that comes, one that goes. */
#define MORE_SLOTS 3

unsigned campaign_buffer_slots(const struct campaign_buffer *b, cr_ns ptime)
{
	return (unsigned)(b->most / ptime) + MORE_SLOTS;
}

int read_buffer(const struct section *s, struct campaign_flow *f)
{
	struct campaign_buffer *b = &f->buffer;
	const cr_ns room = (JITTER_SLOTS_MAX - MORE_SLOTS) * f->ptime;
	int rc = section_values(s, b);

	if (rc)
		return rc;
	if (b->kind != JITTER_ADAPTIVE && section_has(s, "least"))
		return section_fail(s, "least",
				    "least belongs to buffer=adaptive");
	if (b->kind == JITTER_OFF) {
		if (section_has(s, "most"))
			return section_fail(s, "most",
					    "most needs buffer=fixed or "
					    "adaptive");
		return 0;
	}
	if (f->arrival.kind != ARRIVAL_PLAN)
		return section_fail(s, "buffer",
				    "a jitter buffer belongs to arrival: "
				    "{model: plan}");
	if (!section_has(s, "least"))
		b->least = cr_ns_min(b->least, b->most);
	if (b->least > b->most)
		return section_fail(s, "least", "least is above most");
	if (b->most > room)
		return section_fail(s, "most",
				    "most: a jitter buffer holds %u packets, "
				    "here %lldms",
				    JITTER_SLOTS_MAX - MORE_SLOTS,
				    (long long)(room / CR_MS));
	return 0;
}
