/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Option text <-> values, by a table. Numbers and their units are units.c.
 */
#include "base/options.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/nearest.h"
#include "base/units.h"

#define MAX_ROWS 128u /* of one table */
#define MAX_TEXT 96u  /* of one key or value of a policy */

static const struct {
	const char *argument, *form;
} kinds[] = {
	[CR_OPT_INT] = { "N", "a whole number" },
	[CR_OPT_TIME] = { "TIME", "a time with its unit (ns, us, ms, s)" },
	[CR_OPT_PPM] = { "SHARE", "a share, such as 97% or 0.97," },
	[CR_OPT_BOOL] = { "yes|no", "yes or no" },
	[CR_OPT_ENUM] = { "NAME", "a name" },
	[OPTION_RATE] = { "RATE",
			  "a number per second, such as 5/s or 0.5/s," },
	[OPTION_TEXT] = { "TEXT", "a text" },
	[OPTION_LIST] = { "TEXT", "a text" },
};

const struct option_row *option_find(const struct option_row *rows,
				     const char *name)
{
	for (; !option_is_end(rows); rows++)
		if (rows->name && !strcmp(rows->name, name))
			return rows;
	return NULL;
}

const char *option_hint(const struct option_row *rows, unsigned flags,
			const char *name, char *buf, size_t size)
{
	const char *names[MAX_ROWS + 1];
	unsigned n = 0;

	for (; !option_is_end(rows) && n < MAX_ROWS; rows++)
		if (rows->name && !(rows->flags & flags))
			names[n++] = rows->name;
	names[n] = NULL;
	return nearest_hint(name, names, buf, size);
}

/* --- one value --- */

static int index_of_name(const char *text, const char *const *names)
{
	for (int i = 0; names[i]; i++)
		if (!strcmp(text, names[i]))
			return i;
	return -1;
}

static bool is_bounded(const struct option_row *row)
{
	return row->kind != CR_OPT_BOOL && row->kind != CR_OPT_ENUM &&
	       (row->min || row->max);
}

/* What @text says, whether or not it is within bounds. */
static bool read_option_number(const struct option_row *row, const char *text,
			       int64_t *out)
{
	static const char *const bools[] = { "no", "yes",   "off",
					     "on", "false", "true",
					     "0",  "1",	    NULL };
	int at;

	switch (row->kind) {
	case CR_OPT_INT:
		return !units_parse_int(text, out);
	case CR_OPT_PPM:
		return (strpbrk(text, "%p") || !(row->flags & OPTION_UNIT)) &&
		       !units_parse_ppm(text, out);
	case OPTION_RATE:
		return !units_parse_rate(text, out);
	case CR_OPT_TIME:
		if (strcmp(text, "never") != 0)
			return !units_parse_time(text, out);
		*out = CR_NEVER;
		return true;
	case CR_OPT_BOOL:
		at = index_of_name(text, bools);
		*out = at % 2;
		return at >= 0;
	default:
		at = index_of_name(text, row->names);
		*out = at;
		return at >= 0;
	}
}

/* "needs auto, or a time with its unit (ns, us, ms, s) from 1ms to 1s". */
static int refuse_number(const struct option_row *row, const char *text,
			 struct cr_err *e)
{
	char words[128] = "", bounds[2 * MAX_TEXT + 16] = "", hint[256];
	char lo[MAX_TEXT], hi[MAX_TEXT];

	if (row->kind == CR_OPT_ENUM)
		return cr_fail(
			e, -EINVAL, "%s=%.64s: no such name; %s", row->name,
			text,
			nearest_hint(text, row->names, hint, sizeof(hint)));
	for (const struct option_word *w = row->words; w && w->name; w++) {
		size_t n = strlen(words);

		(void)snprintf(words + n, sizeof(words) - n, "%s%s", w->name,
			       w[1].name ? ", " : " or ");
	}
	if (is_bounded(row)) {
		option_format(&row->opt, row->min, lo, sizeof(lo));
		option_format(&row->opt, row->max, hi, sizeof(hi));
		(void)snprintf(bounds, sizeof(bounds), " from %s to %s", lo,
			       hi);
	}
	return cr_fail(e, -EINVAL, "%s=%.64s: needs %s%s%s%s%s", row->name,
		       text, words, row->flags & OPTION_ZERO ? "0, or " : "",
		       kinds[row->kind].form,
		       row->flags & OPTION_RANGE ? " or two, A..B," : "",
		       bounds);
}

static bool number_fits(const struct option_row *row, const char *text,
			int64_t *out)
{
	if (!read_option_number(row, text, out))
		return false;
	return !is_bounded(row) || (*out >= row->min && *out <= row->max) ||
	       (!*out && row->flags & OPTION_ZERO);
}

unsigned option_series(const struct option_row *row, const char *text,
		       int64_t *out, unsigned most)
{
	for (unsigned n = 0; n < most; n++) {
		const char *dots = strstr(text, "..");
		size_t length = dots ? (size_t)(dots - text) : strlen(text);
		char one[UNITS_TEXT];

		if (length >= sizeof(one))
			return 0;
		memcpy(one, text, length);
		one[length] = '\0';
		if (!number_fits(row, one, &out[n]))
			return 0;
		if (!dots)
			return n + 1;
		text = dots + 2;
	}
	return 0;
}

int option_parse(const struct option_row *row, const char *text, int64_t *out,
		 struct cr_err *e)
{
	int64_t v[2];
	unsigned n;

	for (const struct option_word *w = row->words; w && w->name; w++)
		if (!strcmp(text, w->name)) {
			*out = w->value;
			return 0;
		}
	if (row->flags & OPTION_RANGE) {
		n = option_series(row, text, v, 2);
		if (!n || v[n - 1] < v[0])
			return refuse_number(row, text, e);
		out[0] = v[0];
		out[1] = v[n - 1];
		return 0;
	}
	if (!number_fits(row, text, v))
		return refuse_number(row, text, e);
	*out = v[0];
	return 0;
}

int64_t integer_get(const void *at, size_t bytes, bool with_sign)
{
	if (bytes == sizeof(int64_t))
		return *(const int64_t *)at;
	if (bytes == sizeof(int) && with_sign)
		return *(const int *)at;
	if (bytes == sizeof(unsigned))
		return *(const unsigned *)at;
	return bytes == sizeof(uint16_t) ? *(const uint16_t *)at
					 : *(const uint8_t *)at;
}

void integer_put(void *at, size_t bytes, int64_t value)
{
	if (bytes == sizeof(int64_t))
		*(int64_t *)at = value;
	else if (bytes == sizeof(int))
		*(int *)at = (int)value;
	else if (bytes == sizeof(uint16_t))
		*(uint16_t *)at = (uint16_t)value;
	else
		*(uint8_t *)at = (uint8_t)value;
}

/* The member of @row in the struct at @base; NULL: it has none. */
static void *member_of(const struct option_row *row, void *base)
{
	return row->bytes ? (unsigned char *)base + row->offset : NULL;
}

static void put_numbers(const struct option_row *row, void *base,
			const int64_t v[2])
{
	void *at = member_of(row, base);

	if (at && row->flags & OPTION_RANGE)
		memcpy(at, v, 2 * sizeof(*v));
	else if (at)
		integer_put(at, row->bytes, row->flags & OPTION_OFF ? !*v : *v);
}

int option_set(const struct option_row *row, void *base, const char *text,
	       struct cr_err *e)
{
	void *at = member_of(row, base);
	struct option_list *list = at;
	int64_t v[2] = { 0, 0 };

	if (row->kind == OPTION_TEXT) {
		if (at)
			*(const char **)at = text;
	} else if (row->kind == OPTION_LIST) {
		if (at && list->count < OPTION_LIST_MAX)
			list->item[list->count++] = text;
	} else {
		if (option_parse(row, text, v, e))
			return -EINVAL;
		put_numbers(row, base, v);
	}
	return 0;
}

void option_reset(const struct option_row *row, void *base)
{
	void *at = member_of(row, base);

	if (row->kind == OPTION_LIST && at)
		((struct option_list *)at)->count = 0;
	else if (row->kind == OPTION_TEXT && at)
		*(const char **)at =
			row->without && *row->without ? row->without : NULL;
	else if (row->kind < OPTION_TEXT)
		put_numbers(row, base,
			    (const int64_t[]){ row->dflt, row->dflt });
}

void options_reset(const struct option_row *rows, void *base)
{
	for (; !option_is_end(rows); rows++)
		option_reset(rows, base);
}

/* --- as text --- */

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
	else if ((int)row->kind == OPTION_RATE)
		(void)units_format_rate(value, buf, size);
	else
		(void)snprintf(buf, size, "%" PRId64, value);
}

const char *option_text(const struct option_row *row, const char *text,
			char *buf, size_t size)
{
	int64_t v;

	if (row->kind >= OPTION_TEXT || row->words ||
	    row->flags & OPTION_RANGE || option_parse(row, text, &v, NULL))
		return text;
	option_format(&row->opt, v, buf, size);
	return buf;
}

const char *option_default(const struct option_row *row, char *buf, size_t size)
{
	buf[0] = '\0';
	if (row->without)
		(void)snprintf(buf, size, "%s", row->without);
	else if (row->kind < OPTION_TEXT)
		option_format(&row->opt, row->dflt, buf, size);
	return buf;
}

const char *option_argument(const struct option_row *row, char *buf,
			    size_t size)
{
	size_t len = 0;

	if (row->arg || row->kind != CR_OPT_ENUM) {
		(void)snprintf(buf, size, "%s",
			       row->arg ? row->arg : kinds[row->kind].argument);
		return buf;
	}
	for (size_t i = 0; row->names[i] && len < size; i++)
		len += (size_t)snprintf(buf + len, size - len, "%s%s",
					i ? "|" : "", row->names[i]);
	return buf;
}

void option_describe(const struct cr_opt *opt, char *buf, size_t size)
{
	const struct option_row row = { .opt = *opt };
	char bounds[256] = "", dflt[MAX_TEXT], lo[MAX_TEXT], hi[MAX_TEXT];

	if (is_bounded(&row)) {
		option_format(opt, opt->min, lo, sizeof(lo));
		option_format(opt, opt->max, hi, sizeof(hi));
		(void)snprintf(bounds, sizeof(bounds), "%s..%s", lo, hi);
	} else if (opt->kind == CR_OPT_ENUM) {
		(void)option_argument(&row, bounds, sizeof(bounds));
	}
	(void)snprintf(buf, size, "%s=%s  %s (%s%s%s)", opt->name,
		       kinds[opt->kind].argument, opt->help, bounds,
		       *bounds ? ", " : "",
		       option_default(&row, dflt, sizeof(dflt)));
}

/* --- tables of policies --- */

int64_t option_get(const struct cr_opt *row, const void *vals)
{
	return *(const int64_t *)(const void *)((const unsigned char *)vals +
						row->offset);
}

static void put_option(const struct cr_opt *opt, void *vals, int64_t value)
{
	integer_put((unsigned char *)vals + opt->offset, sizeof(value), value);
}

void options_defaults(const struct cr_opt *table, void *vals)
{
	for (; table && table->name; table++)
		put_option(table, vals, table->dflt);
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
static int split_pair(const char **text, char *key, char *value,
		      struct cr_err *e)
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
	bool seen[MAX_ROWS] = { false };
	int64_t v;
	int rc;

	while (*text) {
		const struct cr_opt *opt = table;

		rc = split_pair(&text, key, value, e);
		if (rc)
			return rc;
		while (opt && opt->name && strcmp(opt->name, key) != 0)
			opt++;
		if (!opt || !opt->name)
			return unknown(table, key, e);
		if (seen[opt - table])
			return cr_fail(e, -EINVAL, "%s is given twice", key);
		seen[opt - table] = true;
		rc = option_parse(&(struct option_row){ .opt = *opt }, value,
				  &v, e);
		if (rc)
			return rc;
		if (write)
			put_option(opt, vals, v);
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
