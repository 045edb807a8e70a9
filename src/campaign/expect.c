/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expectations: "<= 0.1%" against a metric, read and judged.
 */
#include <errno.h>
#include <string.h>

#include "base/options.h"
#include "campaign/campaign.h"
#include "campaign/convert.h"

#define SHARE                                                                  \
	{                                                                      \
		.kind = CR_OPT_PPM, .min = 0, .max = 1000000                   \
	}
#define TIME                                                                   \
	{                                                                      \
		.kind = CR_OPT_TIME, .min = 0, .max = 3600 * CR_SEC            \
	}

static const struct {
	const char *name;
	size_t raw;
	struct cr_opt opt;
} metrics[NMETRICS] = {
	[METRIC_LOSS] = { "loss", offsetof(struct raw_expect, loss), SHARE },
	[METRIC_LATE] = { "late", offsetof(struct raw_expect, late), SHARE },
	[METRIC_MISSED] = { "missed", offsetof(struct raw_expect, missed),
			    SHARE },
	[METRIC_ADMITTED] = { "admitted", offsetof(struct raw_expect, admitted),
			      SHARE },
	[METRIC_MEAN_DELAY] = { "mean-delay",
				offsetof(struct raw_expect, mean_delay), TIME },
	[METRIC_P50_DELAY] = { "p50-delay",
			       offsetof(struct raw_expect, p50_delay), TIME },
	[METRIC_P99_DELAY] = { "p99-delay",
			       offsetof(struct raw_expect, p99_delay), TIME },
	[METRIC_P999_DELAY] = { "p99.9-delay",
				offsetof(struct raw_expect, p999_delay), TIME },
	[METRIC_MAX_DELAY] = { "max-delay",
			       offsetof(struct raw_expect, max_delay), TIME },
	[METRIC_P99_JITTER] = { "p99-jitter",
				offsetof(struct raw_expect, p99_jitter), TIME },
	[METRIC_FINISHED] = { "finished",
			      offsetof(struct raw_conversions_expect, finished),
			      SHARE },
	[METRIC_MEAN_TURNAROUND] = { "mean-turnaround",
				     offsetof(struct raw_conversions_expect,
					      mean_turnaround),
				     TIME },
	[METRIC_MAX_TURNAROUND] = { "max-turnaround",
				    offsetof(struct raw_conversions_expect,
					     max_turnaround),
				    TIME },
};

const char *campaign_metric_name(enum campaign_metric m)
{
	return metrics[m].name;
}

bool campaign_metric_is_time(enum campaign_metric m)
{
	return metrics[m].opt.kind == CR_OPT_TIME;
}

bool campaign_expect_met(const struct campaign_expect *x, int64_t value)
{
	if (value == x->bound)
		return !x->strict;
	return x->at_least == (value > x->bound);
}

/* "<=", "<", ">=" or ">" and blanks; a bare value means <=, for admitted and
 * finished >=. */
static const char *operator(const char *text, enum campaign_metric m,
			    struct campaign_expect *x)
{
	x->at_least = m == METRIC_ADMITTED || m == METRIC_FINISHED;
	x->strict = false;
	if (*text == '<' || *text == '>') {
		x->at_least = *text++ == '>';
		x->strict = *text != '=';
		text += !x->strict;
	}
	return text + strspn(text, " ");
}

static int read_one(struct loader *l, const char *path, enum campaign_metric m,
		    const char *text, struct campaign_expect *x)
{
	struct cr_opt opt = metrics[m].opt;
	const char *value = operator(text, m, x);
	char place[PLACE_MAX];
	struct cr_err e;

	opt.name = metrics[m].name;
	if (option_parse(&opt, value, &x->bound, &e))
		return convert_fail(l, path, opt.name,
				    "%.300s, after <= or >=", e.text);
	(void)snprintf(place, sizeof(place), "%.60s.%s", path, opt.name);
	x->line = places_line(&l->places, place);
	x->given = true;
	(void)snprintf(x->text, sizeof(x->text), "%s%s %.16s",
		       x->at_least ? ">" : "<", x->strict ? "" : "=", value);
	return 0;
}

/* The metrics in @range, its end excluded; their texts are in @raw. */
static int read_some(struct loader *l, const char *path, const void *raw,
		     const unsigned range[2], struct campaign_expect *out)
{
	const unsigned char *base = raw;
	int rc = 0;

	for (unsigned m = range[0]; m < range[1] && !rc; m++) {
		const char *text =
			*(char *const *)(const void *)(base + metrics[m].raw);

		if (text)
			rc = read_one(l, path, (enum campaign_metric)m, text,
				      &out[m]);
	}
	return rc;
}

int convert_expect(struct loader *l, const char *path,
		   const struct raw_expect *raw, struct campaign_expect *out)
{
	static const unsigned calls[2] = { 0, NCALL_METRICS };

	return read_some(l, path, raw, calls, out);
}

int convert_conversions_expect(struct loader *l, const char *path,
			       const struct raw_conversions_expect *raw,
			       struct campaign_expect *out)
{
	static const unsigned conversions[2] = { NCALL_METRICS, NMETRICS };

	return read_some(l, path, raw, conversions, out);
}
