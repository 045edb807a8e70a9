/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a flow's calls begin, and how long they last.
 */
#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "campaign/campaign.h"
#include "campaign/convert.h"

/* Of what keeps count calls up, ppm. */
#define SHARE_MIN INT64_C(1000)
#define SHARE_MAX (100 * CR_PPM)

static const char *const key_holds[] = { "constant", "exponential", NULL };

#define START_ROW(...)                                                         \
	KEY_ROW(struct raw_start, struct campaign_start, __VA_ARGS__)
#define HOLD_ROW(...)                                                          \
	KEY_ROW(struct raw_hold, struct campaign_hold, __VA_ARGS__)
#define END_ROW                                                                \
	{                                                                      \
		{ .name = NULL }, 0                                            \
	}

static const struct key_row start_rows[] = { START_KEYS(START_ROW, KEY_SKIP)
						     END_ROW };
static const struct key_row hold_rows[] = { HOLD_KEYS(HOLD_ROW, KEY_SKIP)
						    END_ROW };

/* Bounds of one rate, and whether it may be none. */
static bool rates_fit(const struct campaign_poisson *p)
{
	const int64_t least = p->of_hold ? SHARE_MIN : CAMPAIGN_RATE_MIN;
	const int64_t most = p->of_hold ? SHARE_MAX : CAMPAIGN_RATE_MAX;
	bool some = false;

	for (unsigned i = 0; i < p->rates; i++) {
		bool none = p->rate[i] == 0;

		if (!none && (p->rate[i] < least || p->rate[i] > most))
			return false;
		some |= !none;
	}
	return some;
}

/* With its unit: 5 would be 500 %, and who writes it means 5/s. */
static int parse_share(const char *text, int64_t *out)
{
	return strpbrk(text, "%p") ? units_parse_ppm(text, out) : -EINVAL;
}

/* "5/s", "90%", "20%..110%..20%". */
static int read_poisson(struct loader *l, const char *path, const char *text,
			struct campaign_poisson *p)
{
	p->rates =
		convert_series(text, units_parse_rate, p->rate, CAMPAIGN_RATES);
	if (!p->rates) {
		p->of_hold = true;
		p->rates = convert_series(text, parse_share, p->rate,
					  CAMPAIGN_RATES);
	}
	if (rates_fit(p))
		return 0;
	return convert_fail(
		l, path, "poisson",
		"poisson=%.64s: needs a number per second, such as 5/s, from "
		"0.001/s to 100000/s, or a share of what keeps count calls up, "
		"such as 90%%, from 0.1%% to 10000%%; or a ramp of up to %u of "
		"them, such as 20%%..110%%..20%%",
		text, CAMPAIGN_RATES);
}

static int check_start(struct loader *l, const char *path,
		       const struct raw_start *raw, struct campaign_start *s)
{
	int rc = convert_rows(l, start_rows, path, raw, s);

	if (!rc && raw->poisson)
		rc = read_poisson(l, path, raw->poisson, &s->poisson);
	if (!rc && s->poisson.rates > 1 && !s->spread)
		return convert_fail(l, path, "poisson",
				    "poisson: a ramp needs spread: how long it "
				    "takes");
	return rc;
}

static int check_hold(struct loader *l, const char *path,
		      const struct raw_hold *raw, struct campaign_hold *h)
{
	char buf[PLACE_MAX];
	int rc = convert_rows(l, hold_rows, convert_below(buf, path, "hold"),
			      raw, h);

	if (!rc && raw->exponential && !raw->mean)
		return convert_fail(l, buf, "model", "'mean' is missing");
	return rc;
}

/* Shares of the rate count / hold. */
static int check_of_hold(struct loader *l, const char *path,
			 const struct raw_flow *raw)
{
	if (!raw->count && !raw->load_ppm && !raw->like)
		return convert_fail(l, path, "poisson",
				    "poisson: a share is of what keeps count "
				    "calls up: give count, load or like, or "
				    "calls per second");
	if (!raw->hold.mean)
		return convert_fail(l, path, "poisson",
				    "poisson: a share is of what keeps count "
				    "calls up: give the mean of hold, or calls "
				    "per second");
	return 0;
}

int convert_start(struct loader *l, const char *path,
		  const struct raw_flow *raw, struct campaign_flow *f)
{
	char buf[PLACE_MAX];
	int rc = check_start(l, convert_below(buf, path, "start"), &raw->start,
			     &f->start);

	if (!rc && f->start.poisson.of_hold)
		rc = check_of_hold(l, buf, raw);
	return rc ? rc : check_hold(l, path, &raw->hold, &f->hold);
}
