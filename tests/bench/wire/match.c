/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames and the packets that answer them.
 */
#include "match.h"

uint32_t match_sent(struct match *m, cr_ns now)
{
	m->when[m->sent % MATCH_WINDOW] = now;
	return m->sent++;
}

void match_unsent(struct match *m)
{
	m->when[(m->sent - 1) % MATCH_WINDOW] = 0;
}

/* False: of no frame that has been sent of late. */
static bool frame_of(struct match *m, uint32_t ts, uint32_t *frame)
{
	uint32_t past = ts - m->base;

	*frame = past / m->step;
	return past % m->step == 0 && *frame < m->sent &&
	       m->sent - *frame <= MATCH_WINDOW;
}

enum match_kind match_answer(struct match *m, uint16_t seq, uint32_t ts,
			     uint32_t *frame, cr_ns *when)
{
	bool in_sequence;
	uint32_t f;

	if (!m->based) {
		m->base = ts;
		m->based = true;
	}
	if (!frame_of(m, ts, &f))
		return MATCH_STRANGE;
	if (!m->when[f % MATCH_WINDOW])
		return MATCH_DUPLICATE;
	in_sequence = !m->newest || (uint16_t)(seq - f) == m->seq;
	m->seq = (uint16_t)(seq - f);
	*frame = f;
	*when = m->when[f % MATCH_WINDOW];
	m->when[f % MATCH_WINDOW] = 0;
	if (f < m->newest)
		return MATCH_LATE;
	m->newest = f + 1;
	return in_sequence ? MATCH_FRAME : MATCH_SEQUENCE;
}
