/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The summary for people.
 */
#include <inttypes.h>

#include "base/units.h"
#include "feeder/output.h"

static void delays(FILE *f, const struct tally *t)
{
	static const enum campaign_metric all[] = {
		METRIC_P50_DELAY, METRIC_P99_DELAY, METRIC_P999_DELAY,
		METRIC_MAX_DELAY, METRIC_P99_JITTER
	};

	/* of conversations none are known: RTP does not tell them */
	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (histogram_count(&t->delay))
			(void)fprintf(f, " %8.2f",
				      (double)tally_metric(t, all[i]) / 1e6);
		else
			(void)fprintf(f, " %8s", "-");
	(void)fputc('\n', f);
}

static void line(FILE *f, const char *name, const struct tally *t)
{
	char loss[UNITS_TEXT], late[UNITS_TEXT];

	(void)fprintf(f,
		      "%-14s %6" PRIu64 " %6" PRIu64 " %9" PRIu64 " %9" PRIu64
		      " %8s %8s",
		      name, t->admitted, t->refused, t->sent, t->received,
		      units_format_ppm(tally_metric(t, METRIC_LOSS), loss,
				       sizeof(loss)),
		      units_format_ppm(tally_metric(t, METRIC_LATE), late,
				       sizeof(late)));
	delays(f, t);
}

static double seconds(cr_ns t)
{
	return (double)t / 1e9;
}

static void conversions(const struct conversions *v, FILE *f)
{
	struct conversions_sum s;

	conversions_sum(v, &s);
	(void)fprintf(f,
		      "conversions    %lld of %lld done, turnaround mean %.2f "
		      "s, p50 %.2f s, max %.2f s; %.1f x real time",
		      (long long)s.done, (long long)s.count, seconds(s.mean),
		      seconds(s.p50), seconds(s.max), conversions_speed(&s));
	if (s.unfinished)
		(void)fprintf(f, "; %lld unfinished", (long long)s.unfinished);
	if (s.failed + s.refused)
		(void)fprintf(f, "; %lld failed, %lld refused: %s",
			      (long long)s.failed, (long long)s.refused, s.why);
	(void)fputc('\n', f);
}

/* Things that spoil a measurement, and whose fault they are. */
static void warnings(const struct session_result *r, FILE *f)
{
	if (r->refusal[0])
		(void)fprintf(f, "refused: %s\n", r->refusal);
	if (r->total->missed)
		(void)fprintf(f,
			      "%" PRIu64 " frames not sent: the daemon took "
			      "more than a second to start their calls\n",
			      r->total->missed);
	if (r->receiver.misdirected)
		(void)fprintf(f,
			      "%" PRIu64 " packets came to the port of another "
			      "call\n",
			      r->receiver.misdirected);
	if (r->drops)
		(void)fprintf(f,
			      "%" PRIu64 " packets dropped in the feeder's own "
			      "sockets; raise net.core.rmem_max\n",
			      r->drops);
	if (r->pacer.failed)
		(void)fprintf(f,
			      "%" PRIu64 " packets refused by the feeder's own "
			      "socket\n",
			      r->pacer.failed);
}

void output_table(const struct output *o, FILE *f)
{
	const struct session_result *r = o->result;
	const struct campaign *c = o->cfg->campaign;

	(void)fprintf(f, "%-14s %6s %6s %9s %9s %8s %8s %8s %8s %8s %8s %8s\n",
		      "flow", "calls", "refus.", "sent", "received", "lost",
		      "late", "p50 ms", "p99 ms", "p99.9", "max ms",
		      "jit. p99");
	for (unsigned i = 0; i < c->flow_count; i++)
		line(f, c->flows[i].name, &r->flows[i]);
	if (c->flow_count > 1)
		line(f, "all", r->total);
	if (r->conversions)
		conversions(r->conversions, f);
	output_talks_print(o, f);
	verdicts_print(&o->verdicts, c->path, f);
	warnings(r, f);
}
