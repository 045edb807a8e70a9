/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transmission timer of RFC 3550, 6.3, with reconsideration: an interval is
 * drawn when the timer is set and again when it expires, and a report goes only
 * if the second is no longer than the first. Else the timer is set to it. What
 * passes is U = 0.5 to 1.5, with a mean of e - 1.5, so the intervals are
 * divided by that (6.3.1).
 */
#include "rtp/rtcp_clock.h"

#include "base/splitmix.h"

/* e - 1.5, in 1/100000. */
#define COMPENSATION 121828

/* (0.5 + [0, 1)) * base, or half of it before the first report. */
static cr_ns draw(struct rtcp_clock *c)
{
	uint64_t r = splitmix64(&c->random);
	cr_ns base = c->sent ? c->base : c->base / 2;

	return base / 2 + (cr_ns)((unsigned __int128)r * (uint64_t)base >> 64);
}

void rtcp_clock_init(struct rtcp_clock *c, uint64_t seed, cr_ns interval,
		     cr_ns now)
{
	*c = (struct rtcp_clock){
		.random = seed,
		.base = interval * 100000 / COMPENSATION,
		.last = now,
		.due = CR_NEVER,
	};
	if (interval)
		c->due = now + draw(c);
}

bool rtcp_clock_ready(struct rtcp_clock *c, cr_ns now)
{
	if (now < c->due)
		return false;
	c->due = c->last + draw(c);
	if (now < c->due)
		return false;
	c->sent = true;
	c->last = now;
	c->due = now + draw(c);
	return true;
}

void rtcp_clock_stop(struct rtcp_clock *c)
{
	c->due = CR_NEVER;
}
