/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a platform's CPUs are dealt out to run queues: equally, and the last one
 * gets what is left. So not every number of run queues can be had.
 */
#include <errno.h>
#include <string.h>

#include "base/options.h"
#include "campaign/campaign.h"

static int64_t div_up(int64_t a, int64_t b)
{
	return (a + b - 1) / b;
}

int64_t campaign_cpus_per_rq(const struct campaign_platform *p)
{
	return div_up(p->cpus, p->run_queues);
}

int campaign_check_run_queues(const struct campaign_platform *p,
			      struct cr_err *e)
{
	int64_t each = campaign_cpus_per_rq(p);
	int64_t made = div_up(p->cpus, each);

	if (made == p->run_queues)
		return 0;
	return cr_fail(e, -EINVAL,
		       "run-queues=%lld: %lld CPUs make %lld run queues of "
		       "%lld, or %lld of %lld",
		       (long long)p->run_queues, (long long)p->cpus,
		       (long long)made, (long long)each,
		       (long long)div_up(p->cpus, each - 1),
		       (long long)each - 1);
}

int campaign_set_run_queues(struct campaign_platform *p, const char *text,
			    struct cr_err *e)
{
	struct cr_opt opt = { .name = "run-queues",
			      .kind = CR_OPT_INT,
			      .min = 1,
			      .max = p->cpus };
	struct campaign_platform with = *p;
	int rc;

	with.partitioned = strcmp(text, "partitioned") == 0;
	with.run_queues = with.partitioned ? p->cpus : 1;
	if (!with.partitioned && strcmp(text, "global") != 0 &&
	    option_parse(&opt, text, &with.run_queues, NULL))
		return cr_fail(e, -EINVAL,
			       "run-queues=%.64s: needs global, partitioned or "
			       "a number from 1 to cpus (%lld)",
			       text, (long long)p->cpus);
	rc = campaign_check_run_queues(&with, e);
	if (!rc)
		*p = with;
	return rc;
}
