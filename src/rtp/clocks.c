/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RTP timestamps of several clocks on one time line.
 */
#include "rtp/clocks.h"

#include <stdlib.h>
#include <string.h>

#include "rtp/rtp.h"

/* So many packets are looked at of those that may be on their way. */
#define TURNS_MAX 16

void clocks_set_step(struct clocks *c, cr_ns step)
{
	c->step = step;
}

void clocks_init(struct clocks *c, uint32_t clock, cr_ns step)
{
	*c = (struct clocks){ .clock = clock, .step = step };
}

void clocks_again(struct clocks *c)
{
	for (unsigned i = 0; i < CLOCKS_SPANS; i++)
		c->span[i].clock = 0;
}

static uint32_t place_in(const struct clocks *c, const struct clocks_span *s,
			 uint32_t ts)
{
	/* exact where the clocks are the same */
	return s->place +
	       (uint32_t)((int64_t)(int32_t)(ts - s->ts) * c->clock / s->clock);
}

static int packets_behind(const struct clocks *c, const struct clocks_packet *p)
{
	return (int16_t)(p->seq - c->newest.seq);
}

/* Does the timestamp tell of @n packets on end, of which the first ones are of
 * the old clock? */
static bool tells_of(const struct clocks *c, const struct clocks_packet *p,
		     int n)
{
	int64_t rtp_ticks = (int32_t)(p->ts - c->newest.ts);
	int64_t old = c->step * c->span[0].clock / CR_SEC;
	int64_t new = c->step * p->clock / CR_SEC;

	for (int i = 1; i <= n && i <= TURNS_MAX; i++)
		if (rtp_ticks == i * old + (n - i) * new)
			return true;
	return false;
}

/* The time by which @p, of another clock, is behind the newest packet. */
static cr_ns time_behind(const struct clocks *c, const struct clocks_packet *p)
{
	cr_ns stamps =
		(int32_t)(p->ts - c->newest.ts) * CR_SEC / c->span[0].clock;
	cr_ns numbers = packets_behind(c, p) * c->step;
	cr_ns came = p->at - c->newest.at;

	if (tells_of(c, p, packets_behind(c, p)))
		return numbers;
	if (stamps > 0 && llabs(stamps - came) <= CLOCKS_FAR &&
	    llabs(stamps - came) < llabs(numbers - came))
		return stamps;
	return came - numbers <= CLOCKS_FAR ? numbers : came;
}

/* Among which packets of its clock @p belongs, which has come behind a newer
 * one: by its number; NULL: there are none. */
static const struct clocks_span *span_of(const struct clocks *c,
					 const struct clocks_packet *p)
{
	cr_ns ahead = -packets_behind(c, p) * c->step;
	uint32_t about = c->place - (uint32_t)rtp_ticks_in(ahead, c->clock);
	const struct clocks_span *best = NULL;
	uint32_t off = UINT32_MAX;

	for (unsigned i = 0; i < CLOCKS_SPANS; i++) {
		const struct clocks_span *s = &c->span[i];
		uint32_t by;

		if (s->clock != p->clock)
			continue;
		by = place_in(c, s, p->ts) - about;
		by = by > INT32_MAX ? -by : by;
		if (best && by >= off)
			continue;
		best = s;
		off = by;
	}
	return best;
}

uint32_t clocks_place(const struct clocks *c, const struct clocks_packet *p)
{
	const struct clocks_span *s = &c->span[0];

	if (!s->clock)
		return p->ts;
	if (packets_behind(c, p) <= 0)
		s = span_of(c, p);
	if (s && s->clock == p->clock)
		return place_in(c, s, p->ts);
	return c->place + (uint32_t)rtp_ticks_in(time_behind(c, p), c->clock);
}

void clocks_take(struct clocks *c, const struct clocks_packet *p,
		 uint32_t place)
{
	struct clocks_span *s = &c->span[0];
	int32_t seconds;

	if (s->clock && packets_behind(c, p) <= 0)
		return;
	if (p->clock != s->clock) {
		memmove(s + 1, s, (CLOCKS_SPANS - 1) * sizeof(*s));
		*s = (struct clocks_span){ p->clock, p->ts, place };
	}
	/* By whole seconds, so that nothing is rounded; no clock is 0.
	 * NOLINTNEXTLINE(clang-analyzer-core.DivideZero) */
	seconds = (int32_t)(p->ts - s->ts) / (int32_t)s->clock - 1;
	if (seconds > 0) {
		s->ts += (uint32_t)seconds * s->clock;
		s->place += (uint32_t)seconds * c->clock;
	}
	c->newest = *p;
	c->place = place;
}
