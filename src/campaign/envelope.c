/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arrival model "envelope": shares of the CPU, a depth, ranges of times,
 * checked against the flow's costs.
 */
#include "base/options.h"
#include "base/units.h"
#include "campaign/campaign.h"
#include "campaign/convert.h"

static int read_share(struct loader *l, const char *path, const char *key,
		      const char *text, int64_t *ppm)
{
	const struct cr_opt opt = {
		.name = key, .kind = CR_OPT_PPM, .min = 1, .max = 100 * CR_PPM
	};
	struct cr_err e;

	if (!text || option_parse(&opt, text, ppm, &e) == 0)
		return 0;
	return convert_fail(l, path, key, "%.300s", e.text);
}

/* "50ms..100ms", or one time. */
static int read_range(struct loader *l, const char *path, const char *key,
		      const char *text, struct campaign_range *out)
{
	cr_ns at[2];
	unsigned n;

	if (!text)
		return 0;
	n = convert_series(text, units_parse_time, at, 2);
	if (!n || at[0] < 1 || at[n - 1] < at[0] || at[n - 1] > 1000 * CR_SEC)
		return convert_fail(l, path, key,
				    "%s=%.64s: needs a time or two, such as "
				    "50ms..100ms, up to 1000s",
				    key, text);
	*out = (struct campaign_range){ at[0], at[n - 1] };
	return 0;
}

/* A job that never fits into its bucket would never come. */
static int check_jobs(struct loader *l, const char *path,
		      const struct raw_flow *raw, const struct campaign_flow *f)
{
	bool constant = f->cost.kind == COST_CONSTANT;

	if (!f->synthetic || f->cost.kind == COST_MEASURED)
		return convert_fail(l, path, "model",
				    "model=envelope needs the flow's cost");
	if (!constant && !raw->cost.max)
		return convert_fail(l, path, "model",
				    "model=envelope needs 'max' of the cost: "
				    "the longest job");
	if ((constant ? f->cost.mean : f->cost.max) > f->arrival.depth)
		return convert_fail(l, path, "depth",
				    "depth: the longest job does not fit");
	if (raw->ring)
		return convert_fail(l, path, "model",
				    "model=envelope and ring exclude each "
				    "other");
	return 0;
}

int convert_envelope(struct loader *l, const char *path,
		     const struct raw_flow *raw, struct campaign_flow *f)
{
	const struct raw_arrival *from = &raw->arrival;
	struct campaign_arrival *a = &f->arrival;
	int rc = read_share(l, path, "rate", from->rate, &a->rate_ppm);

	if (!rc)
		rc = read_share(l, path, "peak", from->peak, &a->peak_ppm);
	if (!rc && a->peak_ppm && a->peak_ppm < a->rate_ppm)
		return convert_fail(l, path, "peak", "peak is below the rate");
	if (!rc)
		rc = read_range(l, path, "on", from->on, &a->on);
	if (!rc)
		rc = read_range(l, path, "off", from->off, &a->off);
	if (!rc && !from->on != !from->off)
		return convert_fail(l, path, "model",
				    "on and off belong together");
	return rc ? rc : check_jobs(l, path, raw, f);
}
