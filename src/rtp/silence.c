/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets that are sent while a party is silent.
 */
#include "rtp/silence.h"

static cr_ns ns_of(const struct silence *s, uint32_t rtp_ticks)
{
	return (cr_ns)rtp_ticks * CR_SEC / s->cfg.clock;
}

void silence_init(struct silence *s, const struct silence_cfg *cfg)
{
	*s = (struct silence){ .cfg = *cfg, .due = CR_NEVER };
	s->step_ns = ns_of(s, cfg->step);
}

void silence_set_step(struct silence *s, uint32_t step)
{
	s->cfg.step = step;
	s->step_ns = ns_of(s, step);
}

void silence_restart(struct silence *s)
{
	s->known = s->was_silent = s->away = s->filled = false;
	s->moved = s->shift = 0;
	s->due = CR_NEVER;
}

static uint32_t far(const struct silence *s)
{
	return (uint32_t)(SILENCE_FAR * s->cfg.clock / CR_SEC);
}

/* The place of @ts: not before what was sent, and no further behind its place
 * than that takes. */
static uint32_t place_timestamp(struct silence *s, uint32_t ts)
{
	uint32_t at = ts + silence_shift(s);
	int32_t hole = (int32_t)(at - s->end);

	if (hole < 0) {
		s->moved -= (uint32_t)hole;
		if (s->moved > far(s)) {
			s->shift += s->moved;
			s->moved = 0;
		}
		return s->end;
	}
	if (s->moved) {
		uint32_t back =
			(uint32_t)hole < s->moved ? (uint32_t)hole : s->moved;

		s->moved -= back;
		at -= back;
	}
	return at;
}

struct silence_place silence_packet(struct silence *s, uint32_t ts,
				    uint32_t rtp_ticks, bool silent, cr_ns at)
{
	struct silence_place p = { .ts = ts + silence_shift(s) };

	if (!s->known)
		s->end = p.ts;
	p.decode_only = silent && s->end - p.ts - 1 < far(s);
	if (!p.decode_only) {
		p.ts = place_timestamp(s, ts);
		s->end = p.ts + rtp_ticks;
	}
	s->known = true;
	s->was_silent = silent;
	s->away = s->away && s->filled && !silent;
	s->filled = false;
	if (silent || s->away)
		s->due = at + ns_of(s, s->end - p.ts) + s->step_ns / 2;
	else
		s->due = s->cfg.always ? at + ns_of(s, s->end - p.ts) +
						 SILENCE_UNSIGNALLED
				       : CR_NEVER;
	return p;
}

bool silence_next(struct silence *s, cr_ns now, uint32_t *ts)
{
	cr_ns missed;

	if (now < s->due)
		return false;
	if (!s->was_silent && !s->away) {
		/* nothing announced it: what lies between is lost */
		s->away = true;
		s->end += (uint32_t)(SILENCE_UNSIGNALLED / s->step_ns) *
			  s->cfg.step;
	}
	s->filled = true;
	missed = (now - s->due) / s->step_ns;
	s->end += (uint32_t)missed * s->cfg.step;
	s->due += (missed + 1) * s->step_ns;
	if (s->moved >= s->cfg.step) { /* the silence is shorter by a step */
		s->moved -= s->cfg.step;
		return false;
	}
	*ts = s->end;
	s->end += s->cfg.step;
	return true;
}
