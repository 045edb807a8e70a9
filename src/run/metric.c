/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shares in parts per million, quantiles of histograms.
 */
#include "run/metric.h"

#include <stdlib.h>

static int64_t rounded_up(struct run_share s)
{
	return s.whole ? (int64_t)((s.part * CR_PPM + s.whole - 1) / s.whole)
		       : 0;
}

static int64_t rounded_down(struct run_share s)
{
	return s.whole ? (int64_t)(s.part * CR_PPM / s.whole) : 0;
}

int64_t run_metric(const struct run_counts *c, enum campaign_metric m)
{
	switch (m) {
	case METRIC_LOSS:
		return rounded_up(c->lost);
	case METRIC_LATE:
		return rounded_up(c->late);
	case METRIC_MISSED:
		return rounded_up(c->missed);
	case METRIC_ADMITTED:
		return rounded_down(c->admitted);
	case METRIC_MEAN_DELAY:
		return histogram_mean(c->delay);
	case METRIC_P50_DELAY:
		return histogram_quantile(c->delay, 500000);
	case METRIC_P99_DELAY:
		return histogram_quantile(c->delay, 990000);
	case METRIC_P999_DELAY:
		return histogram_quantile(c->delay, 999000);
	case METRIC_MAX_DELAY:
		return histogram_max(c->delay);
	case METRIC_P99_JITTER:
		return histogram_quantile(c->jitter, 990000);
	case METRIC_DIGITS:
		return c->digits.whole ? rounded_down(c->digits) : CR_PPM;
	case METRIC_FINISHED: /* of conversions, which are not counted here */
	case METRIC_MEAN_TURNAROUND:
	case METRIC_MAX_TURNAROUND:
	case NMETRICS:
		break;
	}
	abort();
}
