/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The delay of play-out: the window of transits and its mean, deviation and
 * least, and the margin above the mean.
 */
#include "rtp/playout.h"

#include <math.h>
#include <string.h>

/* The margin at the very first packet: the spread is not known yet. */
#define FIRST_MARGIN (20 * CR_MS)

/* While somebody speaks the margin shrinks to 1/e of its excess in this time.
 */
#define SHRINK_TIME (10 * CR_SEC)

/* No more than this of a gap between packets counts as time that passed. */
#define STEP_MAX (100 * CR_MS)

/* The floor is of the packets of so many times the largest delay: behind a
 * clock that is 1 % too slow it lags by no more than a quarter of that. */
#define FLOOR_TIMES 25

static cr_ns clamp(cr_ns t, cr_ns least, cr_ns most)
{
	return cr_ns_max(least, cr_ns_min(t, most));
}

void playout_init(struct playout *p, bool adaptive, cr_ns least, cr_ns most)
{
	memset(p, 0, sizeof(*p));
	p->adaptive = adaptive;
	p->least = adaptive ? least : most;
	p->most = most;
	p->margin = FIRST_MARGIN;
	p->floor_n = PLAYOUT_WINDOW;
}

static void set_offset(struct playout *p)
{
	p->offset = p->floor + p->most;
	if (p->adaptive)
		p->offset = clamp(p->mean + p->margin, p->floor + p->least,
				  p->offset);
}

/* --- the window --- */

/* The transit of @back packets ago; 0: the latest. */
static int64_t transit_before(const struct playout *p, unsigned back)
{
	return p->transit_us[(p->at + 2 * PLAYOUT_WINDOW - 1 - back) %
			     PLAYOUT_WINDOW];
}

static void find_floor(struct playout *p)
{
	unsigned n = p->n < p->floor_n ? p->n : p->floor_n;

	p->floor_us = transit_before(p, 0);
	for (unsigned i = 1; i < n; i++)
		if (transit_before(p, i) < p->floor_us)
			p->floor_us = transit_before(p, i);
}

void playout_packets(struct playout *p, cr_ns duration)
{
	p->floor_n = (unsigned)clamp(FLOOR_TIMES * p->most / duration, 2,
				     PLAYOUT_WINDOW);
	find_floor(p);
	p->floor = p->floor_us * CR_US;
	set_offset(p);
}

static void window_add(struct playout *p, int64_t us)
{
	int64_t gone = 0, left = INT64_MAX;

	if (p->n >= p->floor_n)
		left = transit_before(p, p->floor_n - 1);
	if (p->n == PLAYOUT_WINDOW)
		gone = p->transit_us[p->at];
	else
		p->n++;
	p->transit_us[p->at] = us;
	p->at = (p->at + 1) % PLAYOUT_WINDOW;
	p->sum += us - gone;
	p->squares +=
		(uint64_t)us * (uint64_t)us - (uint64_t)gone * (uint64_t)gone;
	if (p->n == 1 || us <= p->floor_us)
		p->floor_us = us;
	else if (left == p->floor_us)
		find_floor(p);
	p->floor = p->floor_us * CR_US;
}

/* --- the margin --- */

static void adapt(struct playout *p, cr_ns transit, cr_ns passed,
		  enum playout_speech speech)
{
	bool late = transit > p->offset;
	uint64_t sum = (uint64_t)p->sum;
	/* n^2 times the variance is exact modulo 2^64, however large transits
	 * are: it is less than that, for the window spreads over a few seconds
	 * at most */
	uint64_t spread = p->n * p->squares - sum * sum;
	cr_ns excess;

	/* One has been added: NOLINTNEXTLINE(clang-analyzer-core.DivideZero) */
	p->mean = p->sum * CR_US / p->n;
	p->want = (cr_ns)(sqrt((double)spread) * 4 * CR_US / p->n);
	excess = p->margin - p->want;
	if (excess <= 0 || speech == PLAYOUT_PAUSES)
		p->margin = p->want;
	else if (speech == PLAYOUT_SILENT)
		p->margin -= cr_ns_min(excess, passed / 4);
	else
		p->margin -= excess * passed / SHRINK_TIME;
	if (late)
		p->margin = cr_ns_max(p->margin, transit - p->mean);
}

void playout_begin(struct playout *p, cr_ns transit, cr_ns arrival)
{
	p->n = p->at = 0;
	p->sum = 0;
	p->squares = 0;
	p->last = arrival;
	window_add(p, transit / CR_US);
	p->mean = p->floor;
	p->want = 0;
	set_offset(p);
}

void playout_add(struct playout *p, cr_ns transit, cr_ns arrival,
		 enum playout_speech speech)
{
	cr_ns passed = clamp(arrival - p->last, 0, STEP_MAX);

	/* slower packets could not be waited for anyway */
	transit = cr_ns_min(transit, p->floor + p->most);
	p->last = cr_ns_max(p->last, arrival);
	window_add(p, transit / CR_US);
	if (p->adaptive)
		adapt(p, transit, passed, speech);
	set_offset(p);
}

void playout_pause(struct playout *p, cr_ns least)
{
	if (!p->adaptive || p->margin <= p->want)
		return;
	p->margin = cr_ns_max(p->want, cr_ns_min(p->margin, least - p->mean));
	set_offset(p);
}
