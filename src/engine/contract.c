/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contracts: checked, and turned into what the engine works with.
 */
#include "engine/contract.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/units.h"

__attribute__((format(printf, 3, 4))) static int set_flaw(
	struct contract_flaw *f, const char *member, const char *fmt, ...)
{
	va_list ap;

	f->member = member;
	va_start(ap, fmt);
	(void)vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* The time of one job at @rate_ppm, > 0. */
static cr_ns job_spacing(int64_t rate_ppm)
{
	return cr_ns_max(CR_SEC * CR_PPM / rate_ppm, 1);
}

static double jobs_per_second(int64_t rate_ppm)
{
	return (double)rate_ppm / (double)CR_PPM;
}

static int check_job_rate(const struct contract *k, cr_ns period,
			  enum release_kind release, struct contract_flaw *f)
{
	if (!k->rate_ppm && k->burst)
		return set_flaw(f, "burst",
				"counts jobs beyond the rate: give rate, too");
	if (!k->rate_ppm && k->peak_ppm)
		return set_flaw(
			f, "peak",
			"bounds what a burst adds to the rate: give rate, "
			"too");
	if (!k->rate_ppm)
		return 0;
	if (release == RELEASE_RATE)
		return set_flaw(
			f, "rate",
			"release says it already, with x and y: leave one "
			"of them out");
	if (job_spacing(k->rate_ppm) < period)
		return set_flaw(
			f, "rate",
			"%g/s is more than one job a period (%g/s): lower "
			"it, or shorten the period",
			jobs_per_second(k->rate_ppm), 1e9 / (double)period);
	if (k->peak_ppm && k->peak_ppm < k->rate_ppm)
		return set_flaw(f, "peak", "%g/s is below the rate of %g/s",
				jobs_per_second(k->peak_ppm),
				jobs_per_second(k->rate_ppm));
	return 0;
}

static int above(struct contract_flaw *f, const char *member, cr_ns value,
		 const char *limit, cr_ns most)
{
	char a[UNITS_TEXT], b[UNITS_TEXT];

	return set_flaw(f, member, "%s is above the %s of %s: %s",
			units_format_time(value, a, sizeof(a)), limit,
			units_format_time(most, b, sizeof(b)),
			"lower the one or raise the other");
}

static int check_cost(const struct contract *k, struct contract_flaw *f)
{
	if (k->worst && k->mean > k->worst)
		return above(f, "mean", k->mean, "worst case", k->worst);
	if (k->worst && k->p99 > k->worst)
		return above(f, "p99", k->p99, "worst case", k->worst);
	if (k->p99 && k->mean > k->p99)
		return above(f, "mean", k->mean, "99th percentile", k->p99);
	return 0;
}

int contract_check(const struct task_terms *t, cr_ns period,
		   enum release_kind release, struct contract_flaw *f)
{
	const struct contract *k = &t->contract;
	cr_ns window = cr_ns_min(period, t->deadline);
	cr_ns worst = cr_ns_max(k->worst, cr_ns_max(k->p99, k->mean));
	const char *which = k->worst ? "worst" : k->p99 ? "p99" : "mean";
	char a[UNITS_TEXT], b[UNITS_TEXT];
	int err = check_job_rate(k, period, release, f);

	if (!err)
		err = check_cost(k, f);
	if (err)
		return err;
	/* One job at a time: what takes longer than its time is late for ever.
	 */
	if (t->cls == CR_HARD && worst > window)
		return set_flaw(
			f, which,
			"%s is above the %s of %s that a hard call has for "
			"a job: lower it, or take class soft",
			units_format_time(worst, a, sizeof(a)),
			window == period ? "period" : "deadline",
			units_format_time(window, b, sizeof(b)));
	if (t->cls != CR_BE && k->mean > period)
		return above(f, "mean", k->mean, "period", period);
	return 0;
}

struct cr_contract contract_promise(const struct contract *k,
				    const struct release_cfg *r)
{
	struct cr_contract c = {
		.jobs = r->kind == RELEASE_RATE ? r->x : 1,
		.per = r->kind == RELEASE_RATE ? r->y : r->period,
		.burst = r->kind == RELEASE_LBAP ? r->burst : 0,
		.largest = k->worst,
	};

	if (!k->rate_ppm)
		return c;
	c.jobs = 1;
	c.per = job_spacing(k->rate_ppm);
	c.peak_jobs_per_sec = (uint32_t)cr_ns_min(
		(k->peak_ppm + CR_PPM - 1) / CR_PPM, UINT32_MAX);
	if (k->burst)
		c.burst = (uint32_t)k->burst;
	return c;
}

/* The least of those that are said, and @value. */
static cr_ns least_said(cr_ns value, cr_ns a, cr_ns b)
{
	value = a ? cr_ns_min(value, a) : value;
	return b ? cr_ns_min(value, b) : value;
}

struct cr_cost contract_cost(const struct contract *k,
			     const struct cr_cost *measured)
{
	struct cr_cost c = *measured;

	c.mean = k->mean ? k->mean : least_said(c.mean, k->p99, k->worst);
	c.p99 = k->p99 ? k->p99
		       : cr_ns_max(least_said(c.p99, k->worst, 0), c.mean);
	if (k->worst && k->worst == c.mean)
		c.variance_ns2 = 0;
	return c;
}

void contract_release(const struct contract *k, bool named,
		      struct release_cfg *r)
{
	if (!k->rate_ppm)
		return;
	if (!named)
		r->kind = RELEASE_LBAP;
	if (r->kind != RELEASE_LBAP)
		return;
	r->spacing = job_spacing(k->rate_ppm);
	if (k->burst || !named)
		r->burst = (unsigned)k->burst;
}
