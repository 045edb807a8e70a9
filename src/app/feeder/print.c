/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What codec-feeder prints of a campaign.
 */
#include "app/feeder/print.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static void print_packet(const struct plan_packet *k, const char *flow,
			 unsigned index)
{
	(void)printf("%.6f %s-%u frame=%llu seq=%llu%s%s%s",
		     (double)k->at / 1e9, flow, index,
		     (unsigned long long)k->frame, (unsigned long long)k->seq,
		     k->marker ? " marker" : "", k->lost ? " lost" : "",
		     k->copy ? " copy" : "");
	if (k->kind == PLAN_EVENT)
		(void)printf(" digit=%u duration=%.3fms%s", k->digit,
			     (double)k->duration / 1e6, k->end ? " end" : "");
	if (k->kind == PLAN_NOISE)
		(void)printf(" noise");
	if (k->ssrc)
		(void)printf(" ssrc=%u", k->ssrc);
	if (k->port)
		(void)printf(" port=%u", k->port);
	(void)putchar('\n');
}

int feeder_print_schedule(const struct session_cfg *cfg, uint64_t *counts,
			  struct cr_err *e)
{
	const struct campaign *c = cfg->campaign;
	struct plan_options o = { cfg->seed, cfg->duration, counts };
	struct plan_packet k;
	struct plan_stream s;
	struct plan p;
	int rc;

	for (unsigned f = 0; f < c->flow_count; f++)
		if (!counts[f])
			counts[f] = c->flows[f].like < 0
					    ? (uint64_t)c->flows[f].count
					    : counts[c->flows[f].like];
	rc = plan_make(&p, c, &o, e);
	if (rc)
		return rc;
	for (size_t i = 0; i < p.count; i++) {
		plan_stream_init(&s, &p, &p.calls[i]);
		while (plan_stream_next(&s, &k))
			print_packet(&k, c->flows[p.calls[i].flow].name,
				     p.calls[i].index);
	}
	(void)printf("calls=%zu hash=%016llx\n", p.count,
		     (unsigned long long)plan_hash(&p));
	plan_fini(&p);
	return 0;
}

int feeder_print_daemon(const struct campaign *c)
{
	const struct campaign_platform *p = &c->platform;

	(void)printf("--workers=%lld\n", (long long)p->cpus);
	if (p->run_queues == 1)
		(void)printf("--run-queues=global\n");
	else if (p->run_queues == p->cpus)
		(void)printf("--run-queues=partitioned\n");
	else /* there, a number is workers per run queue */
		(void)printf("--run-queues=%lld\n",
			     (long long)campaign_cpus_per_rq(p));
	if (!p->admission)
		(void)printf("--no-admission\n");
	/* the daemon's own default is auto */
	if (p->max_age == CR_NEVER)
		(void)printf("--max-age=none\n");
	else if (p->max_age != CAMPAIGN_AGE_AUTO)
		(void)printf("--max-age=%lldus\n",
			     (long long)(p->max_age / CR_US));
	/* the daemon's own default is quiet */
	if (p->shed != SHED_QUIET)
		(void)printf("--shed=%s\n", shed_names[p->shed]);
	if (p->shed_wait)
		(void)printf("--shed-wait=%lldus\n",
			     (long long)(p->shed_wait / CR_US));
	if (p->convert_floor)
		(void)printf("--convert-floor=%lld\n",
			     (long long)p->convert_floor);
	return 0;
}

int feeder_print_schedulers(const struct campaign *c)
{
	for (unsigned i = 0; i < c->scheduler_count; i++)
		(void)printf("%s\n", c->schedulers[i]);
	return 0;
}

/* Flows whose load has still to become a count. */
static unsigned count_loads(const struct campaign *c, const uint64_t *counts)
{
	unsigned n = 0;

	for (unsigned f = 0; f < c->flow_count; f++)
		n += c->flows[f].load_ppm && !counts[f];
	return n;
}

int feeder_print_counts(const struct session_cfg *cfg, struct cr_err *e)
{
	const struct campaign *c = cfg->campaign;
	uint64_t *got;
	int rc;

	if (!count_loads(c, cfg->counts))
		return 0;
	got = calloc(c->flow_count, sizeof(*got));
	if (!got)
		return cr_fail(e, -ENOMEM, "out of memory");
	rc = session_counts(cfg, got, e);
	for (unsigned f = 0; !rc && f < c->flow_count; f++)
		if (c->flows[f].load_ppm && !cfg->counts[f])
			(void)printf("%s=%llu\n", campaign_title(&c->flows[f]),
				     (unsigned long long)got[f]);
	free(got);
	return rc;
}

int feeder_print_conversions(const struct campaign *c)
{
	(void)printf("%lld\n", (long long)c->conversions.count);
	return 0;
}

static bool expects(const struct campaign_expect *e)
{
	bool any = false;

	for (unsigned m = 0; m < NMETRICS; m++)
		any |= e[m].given;
	return any;
}

static json_t *seconds(cr_ns t)
{
	return t == CR_NEVER ? json_null() : json_real((double)t / 1e9);
}

/* As the command line has them: a count takes the place of a load. */
static json_t *flow_json(const struct session_cfg *cfg, unsigned i)
{
	const struct campaign_flow *f = &cfg->campaign->flows[i];
	double scale = (double)cfg->scale_ppm / CR_PPM;
	uint64_t count = cfg->counts[i];

	if (!count)
		count = (uint64_t)((double)f->count * scale + 0.5);
	return json_pack("{s:s,s:I,s:f,s:b,s:b,s:b,s:b,s:b,s:o,s:o}", "flow",
			 f->name, "count", (json_int_t)count, "load",
			 count ? 0.0 : (double)f->load_ppm / CR_PPM * scale,
			 "codecs", !f->synthetic, "like", f->like >= 0,
			 "conversation", campaign_converses(f), "poisson",
			 f->start.poisson.rates > 0, "exponential",
			 f->hold.exponential != 0, "at_s", seconds(f->start.at),
			 "hold_s", seconds(f->hold.mean));
}

int feeder_print_campaign(const struct session_cfg *cfg)
{
	const struct campaign *c = cfg->campaign;
	json_t *flows = json_array();
	bool judged = expects(c->expect) || expects(c->conversions.expect);
	json_t *j;

	for (unsigned i = 0; i < c->flow_count; i++) {
		judged |= expects(c->flows[i].expect);
		(void)json_array_append_new(flows, flow_json(cfg, i));
	}
	j = json_pack("{s:I,s:I,s:b,s:o}", "seed", (json_int_t)cfg->seed,
		      "conversions", (json_int_t)c->conversions.count,
		      "expects", judged, "flows", flows);
	(void)json_dumpf(j, stdout, JSON_COMPACT);
	(void)putchar('\n');
	json_decref(j);
	return 0;
}
