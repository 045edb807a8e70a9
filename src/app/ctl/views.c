/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results that deserve more than ctl_show().
 *
 * The policy's numbers come as key and integer. A key that ends in _ns is a
 * time, in _ppm a share. A time of CR_NEVER is never; deadlines, the ends of
 * windows and what ends in _at_ns are points on the server's clock, shown as a
 * distance from now.
 */
#include "app/ctl/views.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cr/time.h"

enum { HEAD = 12 }; /* width of the first column */

static const char *text(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "-";
}

static json_int_t number(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

/* --- one call --- */

static bool ends_in(const char *key, const char *end)
{
	size_t n = strlen(key), m = strlen(end);

	return n >= m && !strcmp(key + n - m, end);
}

static void print_time(json_int_t ns, FILE *out)
{
	double t = (double)ns;

	if (llabs(ns) < CR_US)
		(void)fprintf(out, "%lld ns", (long long)ns);
	else if (llabs(ns) < CR_MS)
		(void)fprintf(out, "%.3f us", t / 1e3);
	else if (llabs(ns) < CR_SEC)
		(void)fprintf(out, "%.3f ms", t / 1e6);
	else
		(void)fprintf(out, "%.3f s", t / 1e9);
}

static void print_instant(json_int_t at, json_int_t now, FILE *out)
{
	if (at >= now)
		(void)fputs("in ", out);
	print_time(llabs(at - now), out);
	if (at < now)
		(void)fputs(" ago", out);
}

static bool is_instant(const char *key)
{
	static const char *const ends[] = {
		"deadline_ns",	   "deadline_found_ns",
		"window_begin_ns", "window_end_ns",
		"_at_ns",	   NULL
	};
	const char *const *e = ends;

	while (*e && !ends_in(key, *e))
		e++;
	return *e;
}

static void print_policy_number(const char *key, json_int_t v, json_int_t now,
				FILE *out)
{
	bool time = ends_in(key, "_ns"), share = ends_in(key, "_ppm");
	size_t n = strlen(key) - (time ? 3 : share ? 4 : 0);

	(void)fputs("  ", out);
	for (size_t i = 0; i < n; i++)
		(void)fputc(key[i] == '_' ? ' ' : key[i], out);
	(void)fprintf(out, "%*s", n < 20 ? (int)(20 - n) : 1, "");
	if (time && v == CR_NEVER)
		(void)fputs("never", out);
	else if (time && is_instant(key) && v == 0)
		(void)fputs("none yet", out);
	else if (time && is_instant(key))
		print_instant(v, now, out);
	else if (time)
		print_time(v, out);
	else if (share)
		(void)fprintf(out, "%.4f %%", (double)v / 1e4);
	else
		(void)fprintf(out, "%lld", (long long)v);
	(void)fputc('\n', out);
}

static void print_policy(const json_t *call, FILE *out)
{
	json_t *policy = json_object_get(call, "policy"), *v;
	const char *key;

	(void)fprintf(out, "%-*s %s\n", HEAD, "scheduler",
		      text(call, "scheduler"));
	if (!json_object_size(policy))
		(void)fputs("  has no numbers of its own for a call\n", out);
	json_object_foreach (policy, key, v)
		print_policy_number(key, json_integer_value(v),
				    number(call, "now_ns"), out);
}

static void print_side(const json_t *call, const char *side, const char *ssrc,
		       const char *word, const char *address, FILE *out)
{
	const json_t *s = json_object_get(call, side);

	(void)fprintf(out, "%-*s %s %s, PT %lld, SSRC %lld, %s %s\n", HEAD,
		      side, text(s, "codec"), text(s, "mode"),
		      (long long)number(s, "pt"), (long long)number(call, ssrc),
		      word, text(call, address));
}

static void print_counters(const json_t *count, const char *head,
			   const char *const *names, FILE *out)
{
	(void)fprintf(out, "%-*s", HEAD, head);
	for (; *names; names++)
		(void)fprintf(out, " %lld %s%s",
			      (long long)number(count, *names), *names,
			      names[1] ? "," : "");
	(void)fputc('\n', out);
}

static void print_times(const json_t *count, FILE *out)
{
	json_int_t done = number(count, "done");

	(void)fprintf(out, "%-*s ", HEAD, "times");
	if (done) {
		print_time(number(count, "codec_ns") / done, out);
		(void)fputs(" a frame in the codecs, ", out);
	}
	print_time(number(count, "delay_max_ns"), out);
	(void)fputs(" the longest delay\n", out);
}

/* What the server promises; older ones say nothing of it. */
static void print_bound(const json_t *call, FILE *out)
{
	const json_t *b = json_object_get(call, "bound");

	if (json_is_null(b))
		(void)fprintf(out, "%-*s none: %s\n", HEAD, "bound",
			      text(call, "bound_why"));
	if (!json_is_object(b))
		return;
	(void)fprintf(out, "%-*s late by %.3f ms, play-out buffer %.3f ms\n",
		      HEAD, "bound",
		      json_number_value(json_object_get(b, "lateness_ms")),
		      json_number_value(json_object_get(b, "buffer_ms")));
	(void)fprintf(out, "%*s %s\n", HEAD, "", text(b, "rule"));
}

/* "mean_us" and 70 as "mean 70 us". */
static void print_quantity(const char *key, const json_t *v, FILE *out)
{
	double x = json_number_value(v);
	int n = (int)strlen(key);

	if (ends_in(key, "_us"))
		(void)fprintf(out, "%.*s %g us", n - 3, key, x);
	else if (ends_in(key, "_per_s"))
		(void)fprintf(out, "%.*s %g/s", n - 6, key, x);
	else
		(void)fprintf(out, "%s %g", key, x);
}

/* What it promised, and how often it broke that. */
static void print_contract(const json_t *call, FILE *out)
{
	json_t *contract = json_object_get(call, "contract"), *v;
	const json_t *count = json_object_get(call, "count");
	const char *key, *comma = "";

	(void)fprintf(out, "%-*s ", HEAD, "contract");
	json_object_foreach (contract, key, v) {
		(void)fputs(comma, out);
		print_quantity(key, v, out);
		comma = ", ";
	}
	(void)fprintf(out, "%s, %lld frames beyond it\n", *comma ? "" : "none",
		      (long long)number(count, "violations"));
}

static void print_admitted(const json_t *call, FILE *out)
{
	const json_t *a = json_object_get(call, "admitted");
	const json_t *age = json_object_get(call, "max_age_ms");
	char max_age[32] = "none";

	if (age)
		(void)snprintf(max_age, sizeof(max_age), "%g ms",
			       json_number_value(age));
	(void)fprintf(out,
		      "%-*s %.4f of a CPU, %.1f us a frame, deadline %g ms, "
		      "max-age %s, weight %lld, nice %lld\n",
		      HEAD, "admitted",
		      json_number_value(json_object_get(a, "load")),
		      json_number_value(json_object_get(a, "cost_us")),
		      json_number_value(json_object_get(call, "deadline_ms")),
		      max_age, (long long)number(call, "weight"),
		      (long long)number(call, "nice"));
}

static double real(const json_t *o, const char *key)
{
	return json_number_value(json_object_get(o, key));
}

/* What RTCP says of who is heard, and of who listens. */
static void print_rtcp(const json_t *call, FILE *out)
{
	const json_t *rtcp = json_object_get(call, "rtcp");
	const json_t *far = json_object_get(rtcp, "far");

	if (!json_is_object(rtcp))
		return;
	(void)fprintf(out, "%-*s %lld received, %lld lost, jitter %.3f ms\n",
		      HEAD, "rtcp in", (long long)number(rtcp, "received"),
		      (long long)number(rtcp, "lost"),
		      real(rtcp, "jitter_us") / 1e3);
	if (!number(far, "reports")) {
		(void)fprintf(out, "%-*s no report yet\n", HEAD, "rtcp out");
		return;
	}
	(void)fprintf(out,
		      "%-*s %.2f %% lost, jitter %.3f ms, round trip %.3f ms, "
		      "by %lld reports\n",
		      HEAD, "rtcp out", real(far, "lost_mean") * 100,
		      real(far, "jitter_us") / 1e3,
		      real(far, "rtt_mean_us") / 1e3,
		      (long long)number(far, "reports"));
}

void ctl_view_call(const json_t *call, FILE *out)
{
	static const char *const frames[] = { "done", "late", "packets_in",
					      "packets_out", NULL };
	static const char *const lost[] = { "overwritten", "expired",
					    "shed",	   "concealed",
					    "malformed",   "send_failed",
					    NULL };
	const json_t *count = json_object_get(call, "count");

	(void)fprintf(out, "%-*s %lld, %s, %s, up %.1f s\n", HEAD, "call",
		      (long long)number(call, "call"), text(call, "class"),
		      text(call, "transcoding"),
		      json_number_value(json_object_get(call, "age_s")));
	print_side(call, "in", "ssrc", "at", "rtp", out);
	print_side(call, "out", "out_ssrc", "to", "to", out);
	print_contract(call, out);
	print_admitted(call, out);
	print_counters(count, "frames", frames, out);
	print_counters(count, "lost", lost, out);
	print_times(count, out);
	print_rtcp(call, out);
	(void)fprintf(out, "%-*s %lld frames\n", HEAD, "waiting",
		      (long long)number(call, "waiting"));
	print_bound(call, out);
	print_policy(call, out);
}

/* --- schedulers --- */

static void print_scheduler(const json_t *s, FILE *out)
{
	const json_t *o;
	size_t i;

	(void)fprintf(out, "%-*s %s\n", HEAD, text(s, "name"), text(s, "help"));
	json_array_foreach (json_object_get(s, "options"), i, o)
		(void)fprintf(out, "%*s %s\n", HEAD, "", text(o, "help"));
	if (json_object_get(s, "admission"))
		(void)fprintf(out, "%*s admits by: %s\n", HEAD, "",
			      text(s, "admission"));
}

void ctl_view_schedulers(const json_t *result, FILE *out)
{
	const json_t *s;
	size_t i;

	(void)fprintf(out, "in use: %s\n\n", text(result, "scheduler"));
	json_array_foreach (json_object_get(result, "schedulers"), i, s)
		print_scheduler(s, out);
}

void ctl_view_scheduler(const json_t *result, FILE *out)
{
	const char *spec = text(result, "scheduler");
	size_t n = strcspn(spec, ","), i;
	const json_t *s;

	(void)fprintf(out, "scheduler: %s\n", spec);
	json_array_foreach (json_object_get(result, "schedulers"), i, s)
		if (strlen(text(s, "name")) == n &&
		    !strncmp(text(s, "name"), spec, n))
			print_scheduler(s, out);
}
