/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints JSON for people. ctl_show() does not know what the members mean; the
 * views of results that deserve more do.
 *
 * The policy's numbers have a unit each. A time of CR_NEVER is never; points on
 * the server's clock are shown as a distance from now.
 *
 * Pages on a terminal: from the upper left corner, each line cut to the width
 * and cleared to its end, so that nothing flickers or scrolls.
 */
#include "app/ctl/show.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cli.h"
#include "base/utf8.h"
#include "cr/time.h"
#include "protocol/field_text.h"

enum { COLUMNS = 80, LINES = 24 };

bool ctl_page_size(unsigned *lines, unsigned *columns)
{
	struct winsize w = { 0 };
	bool is = isatty(STDOUT_FILENO) == 1;

	*lines = LINES;
	*columns = COLUMNS;
	if (is && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) && w.ws_col &&
	    w.ws_row) {
		*lines = w.ws_row;
		*columns = w.ws_col;
	}
	return is;
}

static const char *look_of(char mark)
{
	static const char *const looks[] = { [CTL_HEAD] = "\033[7m",
					     [CTL_BAD] = "\033[31m",
					     [CTL_WARN] = "\033[33m" };
	const char *no_color = getenv("NO_COLOR");

	return no_color && *no_color ? "" : looks[(unsigned)mark];
}

static bool is_mark(char c)
{
	return c >= CTL_HEAD && c <= CTL_WARN;
}

static void to_terminal(const char *text, bool first)
{
	unsigned left, columns;

	(void)ctl_page_size(&left, &columns);
	(void)fputs(first ? "\033[2J\033[H" : "\033[H", stdout);
	while (*text && --left > 0) { /* the last line is the cursor's */
		const char *look = is_mark(*text) ? look_of(*text++) : "";
		int n = (int)strcspn(text, "\n");

		(void)printf("%s%.*s%s\033[K\n", look,
			     n < (int)columns ? n : (int)columns, text,
			     *look ? "\033[0m" : "");
		text += n;
		text += *text == '\n';
	}
	(void)fputs("\033[J", stdout);
}

static void to_file(const char *text, bool first)
{
	if (!first)
		(void)fputc('\n', stdout);
	for (; *text; text++)
		if (!is_mark(*text))
			(void)fputc(*text, stdout);
}

int ctl_page(const char *text, bool first)
{
	if (isatty(STDOUT_FILENO))
		to_terminal(text, first);
	else
		to_file(text, first);
	return cli_written();
}

enum { CELL_MAX = 96, COLUMNS_MAX = 24, PATH_MAX_BYTES = 256 };

static void cell(const json_t *v, char *buf, size_t size);

/* The names of an array's objects, or its scalars: "4.75, 5.15, 5.9". */
static void join(const json_t *array, char *buf, size_t size)
{
	size_t used = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < json_array_size(array) && used < size; i++) {
		const json_t *v = json_array_get(array, i);
		const json_t *name = json_object_get(v, "name");
		char one[CELL_MAX];
		int n;

		cell(name ? name : v, one, sizeof(one));
		n = snprintf(buf + used, size - used, i ? ", %s" : "%s", one);
		used += n > 0 ? (size_t)n : 0;
	}
	if (!used)
		(void)snprintf(buf, size, "-");
}

static void cell(const json_t *v, char *buf, size_t size)
{
	switch (v ? json_typeof(v) : JSON_NULL) {
	case JSON_STRING:
		(void)snprintf(buf, size, "%s", json_string_value(v));
		disarm(buf); /* a peer may have chosen it */
		break;
	case JSON_INTEGER:
		(void)snprintf(buf, size, "%" JSON_INTEGER_FORMAT,
			       json_integer_value(v));
		break;
	case JSON_REAL:
		(void)snprintf(buf, size, "%.6g", json_real_value(v));
		break;
	case JSON_TRUE:
		(void)snprintf(buf, size, "yes");
		break;
	case JSON_FALSE:
		(void)snprintf(buf, size, "no");
		break;
	case JSON_ARRAY:
		join(v, buf, size);
		break;
	default:
		(void)snprintf(buf, size, json_is_object(v) ? "{...}" : "-");
		break;
	}
}

static const json_t *at(const json_t *object, const char *path)
{
	char part[PATH_MAX_BYTES];
	const char *dot;

	while ((dot = strchr(path, '.'))) {
		(void)snprintf(part, sizeof(part), "%.*s", (int)(dot - path),
			       path);
		object = json_object_get(object, part);
		path = dot + 1;
	}
	return json_object_get(object, path);
}

static bool numeric(const json_t *rows, const char *path)
{
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *v = at(json_array_get(rows, i), path);

		if (v && !json_is_number(v))
			return false;
	}
	return true;
}

static void print_cell(const char *text, int width, bool right, bool last,
		       FILE *out)
{
	if (last && !right)
		(void)fprintf(out, "%s\n", text);
	else
		(void)fprintf(out, right ? "%*s%s" : "%-*s%s", width, text,
			      last ? "\n" : "  ");
}

static const char *head_of(const struct ctl_column *c, char *buf, size_t size)
{
	size_t used;

	if (c->head)
		return c->head;
	(void)field_text_label(c->table, c->member ? c->member : c->path, buf,
			       size);
	used = strlen(buf);
	(void)snprintf(buf + used, size - used, "%s",
		       c->suffix ? c->suffix : "");
	return buf;
}

void ctl_table(const json_t *rows, const struct ctl_column *columns, FILE *out)
{
	size_t width[COLUMNS_MAX] = { 0 };
	bool right[COLUMNS_MAX];
	char text[CELL_MAX];
	unsigned n = 0;

	for (; columns[n].path && n < COLUMNS_MAX; n++) {
		width[n] = strlen(head_of(&columns[n], text, sizeof(text)));
		right[n] = numeric(rows, columns[n].path);
		for (size_t i = 0; i < json_array_size(rows); i++) {
			cell(at(json_array_get(rows, i), columns[n].path), text,
			     sizeof(text));
			if (strlen(text) > width[n])
				width[n] = strlen(text);
		}
	}
	for (unsigned c = 0; c < n; c++)
		print_cell(head_of(&columns[c], text, sizeof(text)),
			   (int)width[c], right[c], c + 1 == n, out);
	for (size_t i = 0; i < json_array_size(rows); i++) {
		for (unsigned c = 0; c < n; c++) {
			cell(at(json_array_get(rows, i), columns[c].path), text,
			     sizeof(text));
			print_cell(text, (int)width[c], right[c], c + 1 == n,
				   out);
		}
	}
}

/* One column for each member of the first row that fits into a cell. */
static void table_of(const char *title, const json_t *rows, bool first_line,
		     FILE *out)
{
	struct ctl_column columns[COLUMNS_MAX + 1] = { 0 };
	json_t *first = json_array_get(rows, 0), *v;
	const char *key;
	unsigned n = 0;

	json_object_foreach (first, key, v) {
		if (!json_is_object(v) && n < COLUMNS_MAX)
			columns[n++] =
				(struct ctl_column){ .path = key, .head = key };
	}
	(void)fprintf(out, first_line ? "%s\n" : "\n%s\n", title);
	ctl_table(rows, columns, out);
}

static bool is_table(const json_t *v)
{
	return json_is_object(json_array_get(v, 0));
}

/* What lines() is for: find the width of keys, print them, print tables. */
enum pass { PASS_WIDTH, PASS_LINES, PASS_TABLES };

static void lines(const json_t *object, const char *prefix, enum pass pass,
		  int *width, FILE *out)
{
	const char *key;
	json_t *v;

	json_object_foreach ((json_t *)(uintptr_t)object, key, v) {
		char path[PATH_MAX_BYTES], text[1024];

		(void)snprintf(path, sizeof(path), "%s%s", prefix, key);
		if (json_is_object(v)) {
			(void)strncat(path, ".",
				      sizeof(path) - strlen(path) - 1);
			lines(v, path, pass, width, out);
		} else if (is_table(v)) {
			if (pass == PASS_TABLES)
				table_of(path, v, !*width, out);
		} else if (pass == PASS_WIDTH) {
			if ((int)strlen(path) > *width)
				*width = (int)strlen(path);
		} else if (pass == PASS_LINES) {
			cell(v, text, sizeof(text));
			(void)fprintf(out, "%s:%*s %s\n", path,
				      *width - (int)strlen(path), "", text);
		}
	}
}

void ctl_show(const json_t *result, FILE *out)
{
	char text[1024];
	int width = 0;

	if (!json_is_object(result)) {
		cell(result, text, sizeof(text));
		(void)fprintf(out, "%s\n", text);
		return;
	}
	lines(result, "", PASS_WIDTH, &width, out);
	lines(result, "", PASS_LINES, &width, out);
	lines(result, "", PASS_TABLES, &width, out);
}

enum { HEAD = 12 }; /* width of the first column */

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

/* A figure of a policy in its unit, see enum cr_kv_unit. */
static void print_policy_number(const json_t *figure, json_int_t now, FILE *out)
{
	const char *unit = ctl_text(figure, "unit");
	const char *name = ctl_text(figure, "name");
	json_int_t v = number(figure, "value");
	bool clock = !strcmp(unit, "clock_ns");
	int n = (int)strlen(name);

	(void)fputs("  ", out);
	for (int i = 0; i < n; i++)
		(void)fputc(name[i] == '_' ? ' ' : name[i], out);
	(void)fprintf(out, "%*s", n < 20 ? 20 - n : 1, "");
	if (v == CR_NEVER && (clock || !strcmp(unit, "ns")))
		(void)fputs("never", out);
	else if (clock && v == 0)
		(void)fputs("none yet", out);
	else if (clock)
		print_instant(v, now, out);
	else if (!strcmp(unit, "ns"))
		print_time(v, out);
	else if (!strcmp(unit, "ppm"))
		(void)fprintf(out, "%.4f %%", (double)v / 1e4);
	else
		(void)fprintf(out, "%lld", (long long)v);
	(void)fputc('\n', out);
}

static void print_policy(const json_t *call, FILE *out)
{
	const json_t *policy = json_object_get(call, "policy"), *v;
	size_t i;

	(void)fprintf(out, "%-*s %s\n", HEAD, "scheduler",
		      ctl_text(call, "scheduler"));
	if (!json_array_size(policy))
		(void)fputs("  has no numbers of its own for a call\n", out);
	json_array_foreach (policy, i, v)
		print_policy_number(v, number(call, "now_ns"), out);
}

static void print_side(const json_t *call, const char *side, const char *ssrc,
		       const char *word, const char *address, FILE *out)
{
	const json_t *s = json_object_get(call, side);

	(void)fprintf(out, "%-*s %s %s, PT %lld, SSRC %lld, %s %s\n", HEAD,
		      side, ctl_text(s, "codec"), ctl_text(s, "mode"),
		      (long long)number(s, "pt"), (long long)number(call, ssrc),
		      word, ctl_text(call, address));
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
			      ctl_text(call, "bound_why"));
	if (!json_is_object(b))
		return;
	(void)fprintf(out, "%-*s late by %.3f ms, play-out buffer %.3f ms\n",
		      HEAD, "bound",
		      json_number_value(json_object_get(b, "lateness_ms")),
		      json_number_value(json_object_get(b, "buffer_ms")));
	(void)fprintf(out, "%*s %s\n", HEAD, "", ctl_text(b, "rule"));
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
		      ctl_real(rtcp, "jitter_us") / 1e3);
	if (!number(far, "reports")) {
		(void)fprintf(out, "%-*s no report yet\n", HEAD, "rtcp out");
		return;
	}
	(void)fprintf(out,
		      "%-*s %.2f %% lost, jitter %.3f ms, round trip %.3f ms, "
		      "by %lld reports\n",
		      HEAD, "rtcp out", ctl_real(far, "lost_mean") * 100,
		      ctl_real(far, "jitter_us") / 1e3,
		      ctl_real(far, "rtt_mean_us") / 1e3,
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
		      (long long)number(call, "call"), ctl_text(call, "class"),
		      ctl_text(call, "transcoding"),
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

	(void)fprintf(out, "%-*s %s\n", HEAD, ctl_text(s, "name"),
		      ctl_text(s, "help"));
	json_array_foreach (json_object_get(s, "options"), i, o)
		(void)fprintf(out, "%*s %s\n", HEAD, "", ctl_text(o, "help"));
	if (json_object_get(s, "admission"))
		(void)fprintf(out, "%*s admits by: %s\n", HEAD, "",
			      ctl_text(s, "admission"));
}

void ctl_view_schedulers(const json_t *result, FILE *out)
{
	const json_t *s;
	size_t i;

	(void)fprintf(out, "in use: %s\n\n", ctl_text(result, "scheduler"));
	json_array_foreach (json_object_get(result, "schedulers"), i, s)
		print_scheduler(s, out);
}

void ctl_view_scheduler(const json_t *result, FILE *out)
{
	const char *spec = ctl_text(result, "scheduler");
	size_t n = strcspn(spec, ","), i;
	const json_t *s;

	(void)fprintf(out, "scheduler: %s\n", spec);
	json_array_foreach (json_object_get(result, "schedulers"), i, s)
		if (strlen(ctl_text(s, "name")) == n &&
		    !strncmp(ctl_text(s, "name"), spec, n))
			print_scheduler(s, out);
}
