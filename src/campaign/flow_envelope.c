/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arrival model "envelope": shares of the CPU, a depth, ranges of times,
 * checked against the flow's costs.
 */
#include "base/options.h"
#include "base/units.h"
#include "campaign/parts.h"

static int read_share(const struct section *s, const char *name, int64_t *ppm)
{
	const struct cr_opt opt = {
		.name = name, .kind = CR_OPT_PPM, .min = 1, .max = 100 * CR_PPM
	};
	const char *text = section_text(s, name);
	struct cr_err e;

	if (!text || option_parse(&opt, text, ppm, &e) == 0)
		return 0;
	return section_fail(s, name, "%.300s", e.text);
}

/* "50ms..100ms", or one time. */
static int read_range(const struct section *s, const char *name,
		      struct campaign_range *out)
{
	const char *text = section_text(s, name);
	cr_ns at[2];
	unsigned n;

	if (!text)
		return 0;
	n = read_series(text, units_parse_time, at, 2);
	if (!n || at[0] < 1 || at[n - 1] < at[0] || at[n - 1] > 1000 * CR_SEC)
		return section_fail(s, name,
				    "%s=%.64s: needs a time or two, such as "
				    "50ms..100ms, up to 1000s",
				    name, text);
	*out = (struct campaign_range){ at[0], at[n - 1] };
	return 0;
}

/* A job that never fits into its bucket would never come. */
static int check_jobs(const struct section *s, const struct section *arrival,
		      const struct campaign_flow *f)
{
	bool constant = f->cost.kind == COST_CONSTANT;

	if (!f->synthetic || f->cost.kind == COST_MEASURED)
		return section_fail(arrival, "model",
				    "model=envelope needs the flow's cost");
	if (!constant && !section_has(section_below(s, "cost"), "max"))
		return section_fail(arrival, "model",
				    "model=envelope needs 'max' of the cost: "
				    "the longest job");
	if ((constant ? f->cost.mean : f->cost.max) > f->arrival.depth)
		return section_fail(arrival, "depth",
				    "depth: the longest job does not fit");
	if (section_has(s, "ring"))
		return section_fail(arrival, "model",
				    "model=envelope and ring exclude each "
				    "other");
	return 0;
}

int read_envelope(const struct section *s, struct campaign_flow *f)
{
	const struct section *arrival = section_below(s, "arrival");
	struct campaign_arrival *a = &f->arrival;
	int rc = read_share(arrival, "rate", &a->rate_ppm);

	if (!rc)
		rc = read_share(arrival, "peak", &a->peak_ppm);
	if (!rc && a->peak_ppm && a->peak_ppm < a->rate_ppm)
		return section_fail(arrival, "peak", "peak is below the rate");
	if (!rc)
		rc = read_range(arrival, "on", &a->on);
	if (!rc)
		rc = read_range(arrival, "off", &a->off);
	if (!rc && section_has(arrival, "on") != section_has(arrival, "off"))
		return section_fail(arrival, "model",
				    "on and off belong together");
	return rc ? rc : check_jobs(s, arrival, f);
}
