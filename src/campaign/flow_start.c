/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a flow's calls begin, and how long they last.
 */
#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "campaign/parts.h"

/* Of what keeps count calls up, ppm. */
#define SHARE_MIN INT64_C(1000)
#define SHARE_MAX (100 * CR_PPM)

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
static int read_poisson(const struct section *s, struct campaign_poisson *p)
{
	const char *text = section_text(s, "poisson");

	if (!text)
		return 0;
	p->rates = read_series(text, units_parse_rate, p->rate, CAMPAIGN_RATES);
	if (!p->rates) {
		p->of_hold = true;
		p->rates =
			read_series(text, parse_share, p->rate, CAMPAIGN_RATES);
	}
	if (rates_fit(p))
		return 0;
	return section_fail(
		s, "poisson",
		"poisson=%.64s: needs a number per second, such as 5/s, from "
		"0.001/s to 100000/s, or a share of what keeps count calls up, "
		"such as 90%%, from 0.1%% to 10000%%; or a ramp of up to %u of "
		"them, such as 20%%..110%%..20%%",
		text, CAMPAIGN_RATES);
}

/* Shares of the rate count / hold. */
static int check_of_hold(const struct section *flow, const struct section *s)
{
	if (!has_count(flow))
		return section_fail(s, "poisson",
				    "poisson: a share is of what keeps count "
				    "calls up: give count, load or like, or "
				    "calls per second");
	if (!section_has(section_below(flow, "hold"), "mean"))
		return section_fail(s, "poisson",
				    "poisson: a share is of what keeps count "
				    "calls up: give the mean of hold, or calls "
				    "per second");
	return 0;
}

static int read_hold(const struct section *s, struct campaign_hold *h)
{
	int rc = section_values(s, h);

	if (!rc && section_has(s, "model") && !section_has(s, "mean"))
		return section_fail(s, "model", "'mean' is missing");
	return rc;
}

int read_start(const struct section *s, struct campaign_flow *f)
{
	const struct section *start = section_below(s, "start");
	int rc = section_values(start, &f->start);

	if (!rc)
		rc = read_poisson(start, &f->start.poisson);
	if (rc)
		return rc;
	if (f->start.poisson.rates > 1 && !f->start.spread)
		return section_fail(start, "poisson",
				    "poisson: a ramp needs spread: how long it "
				    "takes");
	if (f->start.poisson.of_hold)
		rc = check_of_hold(s, start);
	return rc ? rc : read_hold(section_below(s, "hold"), &f->hold);
}
