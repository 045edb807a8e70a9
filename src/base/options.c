/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Option text <-> values, by a table. Numbers and their units are units.c.
 */
#include "base/options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/nearest.h"
#include "base/units.h"

#define MAX_ROWS 64u /* of one table: the set of keys already seen */
#define MAX_TEXT 96u /* of one key or value */

static const struct {
	const char *name;
	const char *form;
} kinds[] = {
	[CR_OPT_INT] = { "INT", "a whole number" },
	[CR_OPT_TIME] = { "TIME", "a time with its unit (ns, us, ms, s)" },
	[CR_OPT_PPM] = { "SHARE", "a share, such as 97% or 0.97" },
	[CR_OPT_BOOL] = { "yes|no", "yes or no" },
	[CR_OPT_ENUM] = { "NAME", "a name" },
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

static bool time_value(const char *text, int64_t *out)
{
	if (strcmp(text, "never") == 0) {
		*out = CR_NEVER;
		return true;
	}
	return !units_parse_time(text, out);
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
	else if (row->kind == CR_OPT_PPM)
		ok = !units_parse_ppm(text, &v);
	else
		ok = !units_parse_int(text, &v);
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

void option_format(const struct cr_opt *row, int64_t value, char *buf,
		   size_t size)
{
	if (row->kind == CR_OPT_BOOL)
		(void)snprintf(buf, size, "%s", value ? "yes" : "no");
	else if (row->kind == CR_OPT_ENUM)
		(void)snprintf(buf, size, "%s", row->names[value]);
	else if (row->kind == CR_OPT_TIME)
		(void)units_format_time(value, buf, size);
	else if (row->kind == CR_OPT_PPM)
		(void)units_format_ppm(value, buf, size);
	else
		(void)snprintf(buf, size, "%" PRId64, value);
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

/* What @row takes beyond what its kind says: "10us..1s, ", "edf|rm, ", "". */
static void bounds_of(const struct cr_opt *row, char *buf, size_t size)
{
	char lo[MAX_TEXT], hi[MAX_TEXT];

	buf[0] = '\0';
	if (has_bounds(row)) {
		option_format(row, row->min, lo, sizeof(lo));
		option_format(row, row->max, hi, sizeof(hi));
		(void)snprintf(buf, size, "%s..%s, ", lo, hi);
	} else if (row->kind == CR_OPT_ENUM) {
		for (const char *const *name = row->names; *name; name++) {
			size_t n = strlen(buf);

			(void)snprintf(buf + n, size - n, "%s%s", *name,
				       name[1] ? "|" : ", ");
		}
	}
}

void option_describe(const struct cr_opt *row, char *buf, size_t size)
{
	char bounds[256], dflt[MAX_TEXT];

	bounds_of(row, bounds, sizeof(bounds));
	option_format(row, row->dflt, dflt, sizeof(dflt));
	(void)snprintf(buf, size, "%s=%s  %s (%s%s)", row->name,
		       kinds[row->kind].name, row->help, bounds, dflt);
}
