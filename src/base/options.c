/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Option text <-> values. Decimals are exact integers throughout: 5.12s is
 * 5120000000 ns, and a digit finer than the unit of storage is refused.
 */
#include "base/options.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/nearest.h"
#include "cr/time.h"

#define MAX_ROWS 64u /* of one table: the set of keys already seen */
#define MAX_TEXT 96u /* of one key or value */

struct unit {
	const char *suffix;
	int64_t size;
};

static const struct unit int_units[] = { { "", 1 }, { NULL, 0 } };
static const struct unit time_units[] = { { "s", CR_SEC },
					  { "ms", CR_MS },
					  { "us", CR_US },
					  { "ns", 1 },
					  { NULL, 0 } };
static const struct unit ppm_units[] = { { "%", 10000 },
					 { "", 1000000 },
					 { NULL, 0 } };

static const struct unit percent[] = { { "%", 10000 }, { NULL, 0 } };

static const struct {
	const char *name;
	const struct unit *units;
	const char *form;
} kinds[] = {
	[CR_OPT_INT] = { "INT", int_units, "a whole number" },
	[CR_OPT_TIME] = { "TIME", time_units,
			  "a time with its unit (ns, us, ms, s)" },
	[CR_OPT_PPM] = { "SHARE", ppm_units, "a share, such as 97% or 0.97" },
	[CR_OPT_BOOL] = { "yes|no", NULL, "yes or no" },
	[CR_OPT_ENUM] = { "NAME", NULL, "a name" },
};

static int64_t *slot(const struct cr_opt *row, void *vals)
{
	return (int64_t *)(void *)((unsigned char *)vals + row->offset);
}

int64_t option_get(const struct cr_opt *row, const void *vals)
{
	return *(const int64_t *)(const void *)((const unsigned char *)vals +
						row->offset);
}

static bool add_digit(int64_t *sum, int64_t weight, char digit)
{
	int64_t part;

	return !__builtin_mul_overflow(weight, (int64_t)(digit - '0'), &part) &&
	       !__builtin_add_overflow(*sum, part, sum);
}

/* "-12.5" in units of @unit; the text ends at @end. */
static bool decimal(const char *s, const char *end, int64_t unit, int64_t *out)
{
	bool negative = *s == '-';
	int64_t whole = 0, frac = 0, sum;
	const char *p = s + negative;

	if (p == end || *p == '.' || end[-1] == '.')
		return false;
	for (; p < end && *p != '.'; p++)
		if (__builtin_mul_overflow(whole, 10, &whole) ||
		    !add_digit(&whole, 1, *p))
			return false;
	if (__builtin_mul_overflow(whole, unit, &sum))
		return false;
	if (p < end)
		p++;
	for (; p < end; p++) {
		if (*p == '.' || unit % 10)
			return false;
		unit /= 10;
		if (!add_digit(&frac, unit, *p))
			return false;
	}
	if (__builtin_add_overflow(sum, frac, &sum))
		return false;
	*out = negative ? -sum : sum;
	return true;
}

static bool number(const struct unit *units, const char *text, int64_t *out)
{
	size_t n = strspn(text, "-0123456789.");

	if (!n || strrchr(text, '-') > text)
		return false;
	for (; units->suffix; units++)
		if (strcmp(text + n, units->suffix) == 0)
			return decimal(text, text + n, units->size, out);
	return false;
}

static bool time_value(const char *text, int64_t *out)
{
	if (strcmp(text, "never") == 0) {
		*out = CR_NEVER;
		return true;
	}
	if (strcmp(text, "0") == 0) {
		*out = 0;
		return true;
	}
	return number(time_units, text, out);
}

static bool bool_value(const char *text, int64_t *out)
{
	static const char *const words[] = { "no",    "yes",  "off", "on",
					     "false", "true", "0",   "1" };

	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(text, words[i]) == 0) {
			*out = i % 2;
			return true;
		}
	return false;
}

static int enum_value(const struct cr_opt *row, const char *text, int64_t *out,
		      struct cr_err *e)
{
	char hint[256];

	for (int64_t i = 0; row->names[i]; i++)
		if (strcmp(text, row->names[i]) == 0) {
			*out = i;
			return 0;
		}
	return cr_fail(e, -EINVAL, "%s=%s: no such name; %s", row->name, text,
		       nearest_hint(text, row->names, hint, sizeof(hint)));
}

static bool has_bounds(const struct cr_opt *row)
{
	return row->kind != CR_OPT_BOOL && row->kind != CR_OPT_ENUM;
}

int option_parse(const struct cr_opt *row, const char *text, int64_t *out,
		 struct cr_err *e)
{
	char lo[MAX_TEXT], hi[MAX_TEXT];
	int64_t v = 0;
	bool ok;

	if (row->kind == CR_OPT_ENUM)
		return enum_value(row, text, out, e);
	if (row->kind == CR_OPT_BOOL)
		ok = bool_value(text, &v);
	else if (row->kind == CR_OPT_TIME)
		ok = time_value(text, &v);
	else
		ok = number(kinds[row->kind].units, text, &v);
	if (!has_bounds(row)) {
		if (!ok)
			return cr_fail(e, -EINVAL, "%s=%s: needs %s", row->name,
				       text, kinds[row->kind].form);
	} else if (!ok || v < row->min || v > row->max) {
		option_format(row, row->min, lo, sizeof(lo));
		option_format(row, row->max, hi, sizeof(hi));
		return cr_fail(e, -EINVAL, "%s=%s: needs %s from %s to %s",
			       row->name, text, kinds[row->kind].form, lo, hi);
	}
	*out = v;
	return 0;
}

void options_defaults(const struct cr_opt *table, void *vals)
{
	for (; table && table->name; table++)
		*slot(table, vals) = table->dflt;
}

static int unknown(const struct cr_opt *table, const char *key,
		   struct cr_err *e)
{
	const char *names[MAX_ROWS + 1] = { NULL };
	char hint[256];
	unsigned n = 0;

	for (; table && table->name && n < MAX_ROWS; table++)
		names[n++] = table->name;
	if (!n)
		return cr_fail(e, -EINVAL, "'%s': there are no options here",
			       key);
	return cr_fail(e, -EINVAL, "no option '%s'; %s", key,
		       nearest_hint(key, names, hint, sizeof(hint)));
}

/* Copy the next "key=value" of *@text out and step over it and its comma. */
static int split(const char **text, char *key, char *value, struct cr_err *e)
{
	size_t len = strcspn(*text, ","), k = strcspn(*text, "=,");

	if (k == len || k == 0)
		return cr_fail(e, -EINVAL, "'%.*s': write key=value", (int)len,
			       *text);
	if (k >= MAX_TEXT || len - k > MAX_TEXT)
		return cr_fail(e, -EINVAL, "'%.20s...': too long", *text);
	(void)snprintf(key, MAX_TEXT, "%.*s", (int)k, *text);
	(void)snprintf(value, MAX_TEXT, "%.*s", (int)(len - k - 1),
		       *text + k + 1);
	*text += len;
	if (**text == ',')
		(*text)++;
	return 0;
}

/* One pass; writes only when @write, so that a first pass can check it all. */
static int walk(const struct cr_opt *table, void *vals, const char *text,
		bool write, struct cr_err *e)
{
	char key[MAX_TEXT], value[MAX_TEXT];
	uint64_t seen = 0;
	int64_t v;
	int rc;

	while (*text) {
		const struct cr_opt *row = table;

		rc = split(&text, key, value, e);
		if (rc)
			return rc;
		while (row && row->name && strcmp(row->name, key) != 0)
			row++;
		if (!row || !row->name)
			return unknown(table, key, e);
		if (seen >> (row - table) & 1)
			return cr_fail(e, -EINVAL, "%s is given twice", key);
		seen |= UINT64_C(1) << (row - table);
		rc = option_parse(row, value, &v, e);
		if (rc)
			return rc;
		if (write)
			*slot(row, vals) = v;
	}
	return 0;
}

int options_parse(const struct cr_opt *table, void *vals, const char *text,
		  struct cr_err *e)
{
	int rc;

	if (!text)
		return 0;
	rc = walk(table, vals, text, false, e);
	if (!rc)
		(void)walk(table, vals, text, true, NULL);
	return rc;
}

/* The largest unit that is not above @value, with as few decimals as needed. */
static void format_number(const struct unit *u, int64_t value, char *buf,
			  size_t size)
{
	uint64_t mag = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
	uint64_t unit, frac;
	size_t n;

	while (u[1].suffix && (uint64_t)u->size > mag)
		u++;
	unit = (uint64_t)u->size;
	frac = mag % unit;
	(void)snprintf(buf, size, "%s%llu%s", value < 0 ? "-" : "",
		       (unsigned long long)(mag / unit), frac ? "." : "");
	while (frac) {
		unit /= 10;
		n = strlen(buf);
		(void)snprintf(buf + n, size - n, "%llu",
			       (unsigned long long)(frac / unit));
		frac %= unit;
	}
	n = strlen(buf);
	(void)snprintf(buf + n, size - n, "%s", u->suffix);
}

void option_format(const struct cr_opt *row, int64_t value, char *buf,
		   size_t size)
{
	if (row->kind == CR_OPT_BOOL)
		(void)snprintf(buf, size, "%s", value ? "yes" : "no");
	else if (row->kind == CR_OPT_ENUM)
		(void)snprintf(buf, size, "%s", row->names[value]);
	else if (row->kind == CR_OPT_TIME && value == CR_NEVER)
		(void)snprintf(buf, size, "never");
	else if (row->kind == CR_OPT_TIME && value == 0)
		(void)snprintf(buf, size, "0");
	else if (row->kind == CR_OPT_PPM) /* always in percent */
		format_number(percent, value, buf, size);
	else
		format_number(kinds[row->kind].units, value, buf, size);
}

void options_format(const struct cr_opt *table, const void *vals, char *buf,
		    size_t size)
{
	char value[MAX_TEXT];
	size_t n;

	if (size)
		buf[0] = '\0';
	for (const struct cr_opt *row = table; row && row->name; row++) {
		option_format(row, option_get(row, vals), value, sizeof(value));
		n = strlen(buf);
		(void)snprintf(buf + n, size - n, "%s%s=%s",
			       row == table ? "" : ",", row->name, value);
	}
}

void option_describe(const struct cr_opt *row, char *buf, size_t size)
{
	char lo[MAX_TEXT], hi[MAX_TEXT], dflt[MAX_TEXT];

	option_format(row, row->dflt, dflt, sizeof(dflt));
	if (!has_bounds(row)) {
		(void)snprintf(buf, size, "%s=%s  %s (%s)", row->name,
			       kinds[row->kind].name, row->help, dflt);
		return;
	}
	option_format(row, row->min, lo, sizeof(lo));
	option_format(row, row->max, hi, sizeof(hi));
	(void)snprintf(buf, size, "%s=%s  %s (%s..%s, %s)", row->name,
		       kinds[row->kind].name, row->help, lo, hi, dflt);
}
