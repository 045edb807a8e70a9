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

/* Of the frame that an answer with @ts is to. False: of none. */
static bool by_stamp(const struct match *m, uint32_t ts, uint32_t *frame)
{
	uint32_t past = ts - m->base;

	*frame = past / m->step;
	return past % m->step == 0;
}

/* The frame of which @seq has the low 16 bits, among those around the next that
 * is sent. */
static uint32_t by_sequence(const struct match *m, uint16_t seq)
{
	uint16_t low = (uint16_t)(seq - m->seq);

	return m->sent - (uint16_t)((uint16_t)m->sent - low);
}

enum match_kind match_answer(struct match *m, uint16_t seq, uint32_t ts,
			     uint32_t *frame, cr_ns *when)
{
	bool in_sequence;
	uint32_t f;

	if (!m->based && !m->newest)
		m->seq = seq;
	if (m->based && !by_stamp(m, ts, &f))
		return MATCH_STRANGE;
	if (!m->based)
		f = by_sequence(m, seq);
	if (f >= m->sent || m->sent - f > MATCH_WINDOW)
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
