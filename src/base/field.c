/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows: found, walked, read from text and checked, in words. Numbers and their
 * units are units.c.
 */
#include "base/field.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/nearest.h"
#include "base/units.h"

#define MAX_TEXT 96u /* of one key or value of a policy */

enum { PATH_MAX_BYTES = 200 };

/* The word for what is to be given, what a refusal says of it, and what a
 * parameter of the protocol is. */
static const struct {
	const char *argument, *form, *param;
} kinds[] = {
	[FIELD_INT] = { "N", "a whole number", "whole number" },
	[FIELD_TIME] = { "TIME", "a time with its unit (ns, us, ms, s)",
			 "time, as \"20ms\"" },
	[FIELD_SHARE] = { "SHARE", "a share, such as 97% or 0.97,", "share" },
	[FIELD_BOOL] = { "yes|no", "yes or no", "true or false" },
	[FIELD_CHOICE] = { "NAME", "a name", "text" },
	[FIELD_RATE] = { "RATE", "a number per second, such as 5/s or 0.5/s,",
			 "rate, as \"50/s\"" },
	[FIELD_REAL] = { "X", "a number", "number" },
	[FIELD_TEXT] = { "TEXT", "a string", "text" },
	[FIELD_CODEC] = { "TEXT", "the name of a codec", "name of a codec" },
	[FIELD_MODE] = { "TEXT", "the name of a mode", "name of a mode" },
	[FIELD_ADDRESS] = { "TEXT",
			    "an address with a port, such as 127.0.0.1:5004 or "
			    "[::1]:5004",
			    "address with port" },
	[FIELD_TEXTS] = { "TEXT", "a string", "text" },
	[FIELD_OBJECT] = { "", "an object", "object" },
	[FIELD_INLINE] = { "", "", "text" },
	[FIELD_LIST] = { "", "a list", "list of objects" },
	[FIELD_MAP] = { "", "an object", "text" },
	[FIELD_FIXED] = { "", "", "refused" },
	[FIELD_HEADING] = { "", "", "" },
};

/* --- names --- */

const char *field_wire_name(const struct field *f, char *buf)
{
	if (!field_has_unit(f))
		return f->name;
	(void)snprintf(buf, FIELD_NAME_MAX, "%s_%s", f->name, f->unit);
	return buf;
}

const struct field *field_find(const struct field *table, const char *name)
{
	char buf[FIELD_NAME_MAX];

	for (const struct field *f = table; f && !field_is_end(f); f++) {
		const struct field *inner;

		if (f->kind == FIELD_INLINE) {
			inner = field_find(f->members, name);
			if (inner)
				return inner;
		} else if (f->name &&
			   (!strcmp(f->name, name) ||
			    !strcmp(field_wire_name(f, buf), name))) {
			return f;
		}
	}
	return NULL;
}

const struct field *field_find_path(const struct field *table, const char *path)
{
	const char *dot;
	char name[FIELD_NAME_MAX];

	while (table && (dot = strchr(path, '.'))) {
		const struct field *f;

		if (dot - path >= (long)sizeof(name))
			return NULL;
		memcpy(name, path, (size_t)(dot - path));
		name[dot - path] = '\0';
		f = field_find(table, name);
		table = f && f->kind == FIELD_OBJECT ? f->members : NULL;
		path = dot + 1;
	}
	return field_find(table, path);
}

static unsigned add_names(const struct field *f, unsigned flags,
			  const char **names, unsigned n)
{
	for (; !field_is_end(f) && n < FIELD_ROWS_MAX; f++)
		if (f->kind == FIELD_INLINE)
			n = add_names(f->members, flags, names, n);
		else if (f->name && !(f->flags & flags))
			names[n++] = f->name;
	return n;
}

const char *field_hint(const struct field *table, unsigned flags,
		       const char *name, char *buf, size_t size)
{
	const char *names[FIELD_ROWS_MAX + 1];

	names[add_names(table, flags, names, 0)] = NULL;
	buf[0] = '\0';
	return names[0] ? nearest_hint(name, names, buf, size) : buf;
}

int64_t field_unit_ns(const char *unit)
{
	if (!strcmp(unit, "ns"))
		return 1;
	if (!strcmp(unit, "us"))
		return CR_US;
	if (!strcmp(unit, "ms"))
		return CR_MS;
	CR_ASSERT(!strcmp(unit, "s"));
	return CR_SEC;
}

/* --- members --- */

void integer_put(void *at, size_t size, int64_t value)
{
	if (size == sizeof(int64_t))
		*(int64_t *)at = value;
	else if (size == sizeof(int))
		*(int *)at = (int)value;
	else if (size == sizeof(uint16_t))
		*(uint16_t *)at = (uint16_t)value;
	else
		*(uint8_t *)at = (uint8_t)value;
}

static int64_t integer_get(const struct field *f, const void *p)
{
	if (f->store == FIELD_C_DOUBLE)
		return (int64_t)(*(const double *)p);
	CR_ASSERT(f->store == FIELD_C_SIGNED || f->store == FIELD_C_UNSIGNED);
	if (f->size == sizeof(int64_t))
		return *(const int64_t *)p;
	if (f->size == sizeof(int) && f->store == FIELD_C_SIGNED)
		return *(const int *)p;
	if (f->size == sizeof(unsigned))
		return *(const unsigned *)p;
	return f->size == sizeof(uint16_t) ? *(const uint16_t *)p
					   : *(const uint8_t *)p;
}

int64_t field_integer(const struct field *f, const void *base)
{
	return integer_get(f, field_at_const(f, base)) -
	       !!(f->flags & FIELD_PLUS_ONE);
}

void field_set_integer(const struct field *f, void *base, int64_t value)
{
	void *p = field_at(f, base);

	if (f->store == FIELD_C_DOUBLE)
		*(double *)p = (double)value;
	else
		integer_put(p, f->size, value + !!(f->flags & FIELD_PLUS_ONE));
}

double field_number(const struct field *f, const void *base)
{
	double n = f->store == FIELD_C_DOUBLE
			   ? *(const double *)field_at_const(f, base)
			   : (double)field_integer(f, base);

	if (f->kind == FIELD_TIME)
		return n / (double)field_unit_ns(f->unit);
	return f->kind == FIELD_RATE ? n / 1e6 : n;
}

const char *field_string(const struct field *f, const void *base)
{
	const void *p = field_at_const(f, base);

	return f->store == FIELD_C_CHARS ? p : *(const char *const *)p;
}

/* Of an option or a key that has a member. */
static void put_numbers(const struct field *f, void *base, const int64_t v[2])
{
	if (f->flags & FIELD_RANGE)
		*(struct field_range *)field_at(f, base) =
			(struct field_range){ v[0], v[1] };
	else
		field_set_integer(f, base, f->flags & FIELD_OFF ? !*v : *v);
}

static void default_by_kind(const struct field *f, void *base)
{
	void *at = field_at(f, base);

	if (f->kind == FIELD_TEXTS)
		((struct field_texts *)at)->count = 0;
	else if (f->kind == FIELD_TEXT)
		*(const char **)at =
			f->without && *f->without ? f->without : NULL;
	else if (f->kind < FIELD_TEXT)
		put_numbers(f, base, (const int64_t[]){ f->dflt, f->dflt });
}

void field_default(const struct field *f, void *base)
{
	switch (f->store) {
	case FIELD_C_BY_KIND:
		if (f->size)
			default_by_kind(f, base);
		break;
	case FIELD_C_TEXT:
		*(const char **)field_at(f, base) = NULL;
		break;
	case FIELD_C_CHARS:
		*(char *)field_at(f, base) = '\0';
		break;
	case FIELD_C_ADDRESS:
		memset(field_at(f, base), 0, sizeof(struct sockaddr_storage));
		break;
	case FIELD_C_STRUCT:
		field_defaults(f->members, field_at(f, base));
		break;
	case FIELD_C_ARRAY:
		*(unsigned *)(void *)((unsigned char *)base + f->count) = 0;
		break;
	case FIELD_C_POINTER:
	case FIELD_C_EACH:
		break; /* of results only */
	default:
		field_set_integer(f, base, f->dflt);
	}
}

void field_defaults(const struct field *table, void *base)
{
	for (const struct field *f = table; !field_is_end(f); f++)
		field_default(f, base);
}

/* The struct that OBJECT or INLINE @f leads to; NULL: none. */
static const void *inner_of(const struct field *f, const void *base)
{
	if (!base || f->kind == FIELD_LIST)
		return NULL;
	return f->store == FIELD_C_POINTER
		       ? *(const void *const *)field_at_const(f, base)
		       : field_at_const(f, base);
}

static void walk_fields(const struct field *table, const void *base,
			const char *prefix, field_visit *visit, void *arg)
{
	char path[PATH_MAX_BYTES], name[PATH_MAX_BYTES], wire[FIELD_NAME_MAX];
	char below[PATH_MAX_BYTES + 4];

	for (const struct field *f = table; f->name; f++) {
		bool inside = f->kind == FIELD_INLINE;

		(void)snprintf(path, sizeof(path), "%s%s", prefix,
			       inside ? "" : f->name);
		(void)snprintf(name, sizeof(name), "%s%s", prefix,
			       inside ? "" : field_wire_name(f, wire));
		(void)snprintf(below, sizeof(below), "%s%s", path,
			       inside		       ? ""
			       : f->kind == FIELD_LIST ? "[]."
						       : ".");
		if (visit(arg, f, path, name, base) && f->members &&
		    f->kind != FIELD_MAP)
			walk_fields(f->members, inner_of(f, base), below, visit,
				    arg);
	}
}

void field_walk(const struct field *table, const void *base, field_visit *visit,
		void *arg)
{
	walk_fields(table, base, "", visit, arg);
}

/* --- values, as texts --- */

static int index_of_name(const char *text, const char *const *names)
{
	for (int i = 0; names[i]; i++)
		if (!strcmp(text, names[i]))
			return i;
	return -1;
}

bool field_read_number(const struct field *f, const char *text, int64_t *out)
{
	static const char *const bools[] = { "no", "yes",   "off",
					     "on", "false", "true",
					     "0",  "1",	    NULL };
	int at;

	switch (f->kind) {
	case FIELD_INT:
		return !units_parse_int(text, out);
	case FIELD_SHARE:
		return (strpbrk(text, "%p") || !(f->flags & FIELD_UNIT)) &&
		       !units_parse_ppm(text, out);
	case FIELD_RATE:
		return !units_parse_rate(text, out);
	case FIELD_TIME:
		if (strcmp(text, "never") != 0)
			return !units_parse_time(text, out);
		*out = CR_NEVER;
		return true;
	case FIELD_BOOL:
		at = index_of_name(text, bools);
		*out = at % 2;
		return at >= 0;
	case FIELD_CHOICE:
		at = index_of_name(text, f->names);
		*out = at;
		return at >= 0;
	default: /* no number */
		CR_ASSERT(false);
	}
}

static bool is_bounded(const struct field *f)
{
	return f->kind != FIELD_BOOL && f->kind != FIELD_CHOICE &&
	       (f->min || f->max);
}

bool field_fits(const struct field *f, int64_t v)
{
	if (f->kind == FIELD_CHOICE)
		return v >= 0;
	return !is_bounded(f) || (v >= f->min && v <= f->max) ||
	       (!v && f->flags & FIELD_ZERO);
}

const char *field_needs(const struct field *f, const char *text, bool plain,
			char *buf, size_t size)
{
	char words[128] = "", bounds[2 * MAX_TEXT + 16] = "", hint[256];
	char lo[MAX_TEXT], hi[MAX_TEXT], number[MAX_TEXT], one[MAX_TEXT + 2];
	const char *form = kinds[f->kind].form;

	if (f->kind == FIELD_CHOICE) {
		(void)snprintf(
			buf, size, "no such name; %s",
			nearest_hint(text, f->names, hint, sizeof(hint)));
		return buf;
	}
	for (const struct field_word *w = f->words; w && w->name; w++) {
		size_t n = strlen(words);

		(void)snprintf(words + n, sizeof(words) - n, "%s%s", w->name,
			       w[1].name ? ", " : " or ");
	}
	if (plain && f->kind == FIELD_BOOL)
		form = kinds[f->kind].param;
	if (plain && field_has_unit(f)) {
		(void)field_text_result(f, number, sizeof(number));
		(void)snprintf(one, sizeof(one), "a %s", number);
		form = one;
	}
	if (f->kind < FIELD_REAL && is_bounded(f))
		(void)snprintf(bounds, sizeof(bounds), " from %s to %s",
			       field_format(f, f->min, lo, sizeof(lo)),
			       field_format(f, f->max, hi, sizeof(hi)));
	(void)snprintf(buf, size, "needs %s%s%s%s%s", words,
		       f->flags & FIELD_ZERO ? "0, or " : "", form,
		       f->flags & FIELD_RANGE ? " or two, A..B," : "", bounds);
	return buf;
}

static bool read_fitting(const struct field *f, const char *text, int64_t *out)
{
	return field_read_number(f, text, out) && field_fits(f, *out);
}

unsigned field_series(const struct field *f, const char *text, int64_t *out,
		      unsigned most)
{
	for (unsigned n = 0; n < most; n++) {
		const char *dots = strstr(text, "..");
		size_t length = dots ? (size_t)(dots - text) : strlen(text);
		char one[UNITS_TEXT];

		if (length >= sizeof(one))
			return 0;
		memcpy(one, text, length);
		one[length] = '\0';
		if (!read_fitting(f, one, &out[n]))
			return 0;
		if (!dots)
			return n + 1;
		text = dots + 2;
	}
	return 0;
}

int field_parse(const struct field *f, const char *text, int64_t *out,
		struct cr_err *e)
{
	char why[400];
	int64_t v[2];
	unsigned n;

	for (const struct field_word *w = f->words; w && w->name; w++)
		if (!strcmp(text, w->name)) {
			*out = w->value;
			return 0;
		}
	n = f->flags & FIELD_RANGE ? field_series(f, text, v, 2)
				   : read_fitting(f, text, v);
	if (!n || v[n - 1] < v[0])
		return cr_fail(e, -EINVAL, "%s=%.64s: %s", f->name, text,
			       field_needs(f, text, false, why, sizeof(why)));
	out[0] = v[0];
	if (f->flags & FIELD_RANGE)
		out[1] = v[n - 1];
	return 0;
}

int field_set(const struct field *f, void *base, const char *text,
	      struct cr_err *e)
{
	void *at = f->size ? field_at(f, base) : NULL;
	struct field_texts *list = at;
	int64_t v[2] = { 0, 0 };

	if (f->kind == FIELD_TEXT) {
		if (at)
			*(const char **)at = text;
	} else if (f->kind == FIELD_TEXTS) {
		if (at && list->count < FIELD_TEXTS_MAX)
			list->item[list->count++] = text;
	} else {
		if (field_parse(f, text, v, e))
			return -EINVAL;
		if (at)
			put_numbers(f, base, v);
	}
	return 0;
}

const char *field_format(const struct field *f, int64_t value, char *buf,
			 size_t size)
{
	switch (f->kind) {
	case FIELD_BOOL:
		(void)snprintf(buf, size, "%s", value ? "yes" : "no");
		return buf;
	case FIELD_CHOICE:
		(void)snprintf(buf, size, "%s", f->names[value]);
		return buf;
	case FIELD_TIME:
		return units_format_time(value, buf, size);
	case FIELD_SHARE:
		return units_format_ppm(value, buf, size);
	case FIELD_RATE:
		return units_format_rate(value, buf, size);
	default:
		(void)snprintf(buf, size, "%" PRId64, value);
		return buf;
	}
}

const char *field_shortest(const struct field *f, const char *text, char *buf,
			   size_t size)
{
	int64_t v;

	if (f->kind >= FIELD_TEXT || f->words || f->flags & FIELD_RANGE ||
	    field_parse(f, text, &v, NULL))
		return text;
	return field_format(f, v, buf, size);
}

/* --- rows in words --- */

static const char *put_field_text(char *buf, size_t size, const char *text)
{
	(void)snprintf(buf, size, "%s", text);
	return buf;
}

static const char *join_names(const struct field *f, const char *between,
			      char *buf, size_t size)
{
	size_t len = 0;

	for (size_t i = 0; f->names[i] && len < size; i++)
		len += (size_t)snprintf(buf + len, size - len, "%s%s",
					i ? between : "", f->names[i]);
	return buf;
}

const char *field_text_default(const struct field *f, char *buf, size_t size)
{
	buf[0] = '\0';
	if (f->without)
		return put_field_text(buf, size, f->without);
	return f->kind < FIELD_REAL && field_fits(f, f->dflt)
		       ? field_format(f, f->dflt, buf, size)
		       : buf;
}

const char *field_text_range(const struct field *f, char *buf, size_t size)
{
	char lo[MAX_TEXT], hi[MAX_TEXT];

	buf[0] = '\0';
	if (f->kind == FIELD_CHOICE)
		return join_names(f, ", ", buf, size);
	if (f->kind < FIELD_REAL && is_bounded(f))
		(void)snprintf(buf, size, "%s..%s%s%s",
			       field_format(f, f->min, lo, sizeof(lo)),
			       field_format(f, f->max, hi, sizeof(hi)),
			       f->kind == FIELD_INT && f->unit ? " " : "",
			       f->kind == FIELD_INT && f->unit ? f->unit : "");
	return buf;
}

const char *field_text_argument(const struct field *f, char *buf, size_t size)
{
	if (!f->label && f->kind == FIELD_CHOICE)
		return join_names(f, "|", buf, size);
	return put_field_text(buf, size,
			      f->label ? f->label : kinds[f->kind].argument);
}

const char *field_text_param(const struct field *f, char *buf, size_t size)
{
	return put_field_text(buf, size, kinds[f->kind].param);
}

const char *field_text_result(const struct field *f, char *buf, size_t size)
{
	const char *type = kinds[f->kind].param;

	if (f->kind == FIELD_RATE)
		return put_field_text(buf, size, "number per second");
	if (f->kind == FIELD_TIME)
		type = f->flags & FIELD_ROUND ? "whole number" : "number";
	if (f->kind == FIELD_MAP)
		(void)snprintf(buf, size, "object: a whole number for each %s",
			       f->members[0].name);
	else if (f->unit && !strcmp(f->unit, "share"))
		(void)put_field_text(buf, size, "share, 0 to 1");
	else if (f->unit && (f->kind == FIELD_INT || f->kind == FIELD_REAL ||
			     f->kind == FIELD_TIME))
		(void)snprintf(buf, size, "%s of %s", type, f->unit);
	else
		(void)put_field_text(buf, size, type);
	return buf;
}

static void add_upper(char *buf, size_t size, const char *text)
{
	size_t used = strlen(buf);

	if (used && used + 1 < size)
		buf[used++] = '_';
	for (; *text && used + 1 < size; text++)
		buf[used++] = (char)toupper((unsigned char)*text);
	buf[used] = '\0';
}

const char *field_text_label(const struct field *table, const char *path,
			     char *buf, size_t size)
{
	const char *dot = path;

	buf[0] = '\0';
	do {
		char part[PATH_MAX_BYTES];
		const struct field *f;

		dot = strchr(dot, '.');
		(void)snprintf(part, sizeof(part), "%.*s",
			       dot ? (int)(dot - path) : (int)strlen(path),
			       path);
		f = field_find_path(table, part);
		CR_ASSERT(f);
		if (f->label || !dot)
			add_upper(buf, size, f->label ? f->label : f->name);
	} while (dot && *++dot);
	return buf;
}

/* --- tables of policies --- */

static struct field row_of_option(const struct cr_opt *o)
{
	return (struct field){
		.name = o->name,
		.help = o->help,
		.kind = (enum field_kind)o->kind,
		.store = FIELD_C_SIGNED,
		.offset = o->offset,
		.size = sizeof(int64_t),
		.min = o->min,
		.max = o->max,
		.dflt = o->dflt,
		.names = o->names,
	};
}

void option_format(const struct cr_opt *row, int64_t value, char *buf,
		   size_t size)
{
	const struct field f = row_of_option(row);

	(void)field_format(&f, value, buf, size);
}

void option_describe(const struct cr_opt *row, char *buf, size_t size)
{
	const struct field f = row_of_option(row);
	char bounds[256], dflt[MAX_TEXT];

	if (f.kind == FIELD_CHOICE)
		(void)field_text_argument(&f, bounds, sizeof(bounds));
	else
		(void)field_text_range(&f, bounds, sizeof(bounds));
	(void)snprintf(buf, size, "%s=%s  %s (%s%s%s)", f.name,
		       kinds[f.kind].argument, f.help, bounds,
		       *bounds ? ", " : "",
		       field_text_default(&f, dflt, sizeof(dflt)));
}

void options_defaults(const struct cr_opt *table, void *vals)
{
	for (; table && table->name; table++) {
		const struct field f = row_of_option(table);

		field_default(&f, vals);
	}
}

static int refuse_unknown_option(const struct cr_opt *table, const char *key,
				 struct cr_err *e)
{
	const char *names[FIELD_ROWS_MAX + 1] = { NULL };
	char hint[256];
	unsigned n = 0;

	for (; table && table->name && n < FIELD_ROWS_MAX; table++)
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
static int read_pairs(const struct cr_opt *table, void *vals, const char *text,
		      bool write, struct cr_err *e)
{
	char key[MAX_TEXT], value[MAX_TEXT];
	bool seen[FIELD_ROWS_MAX] = { false };
	int64_t v;
	int rc;

	while (*text) {
		const struct cr_opt *opt = table;
		struct field f;

		rc = split_pair(&text, key, value, e);
		if (rc)
			return rc;
		while (opt && opt->name && strcmp(opt->name, key) != 0)
			opt++;
		if (!opt || !opt->name)
			return refuse_unknown_option(table, key, e);
		if (seen[opt - table])
			return cr_fail(e, -EINVAL, "%s is given twice", key);
		seen[opt - table] = true;
		f = row_of_option(opt);
		rc = field_parse(&f, value, &v, e);
		if (rc)
			return rc;
		if (write)
			field_set_integer(&f, vals, v);
	}
	return 0;
}

int options_parse(const struct cr_opt *table, void *vals, const char *text,
		  struct cr_err *e)
{
	int rc;

	if (!text)
		return 0;
	rc = read_pairs(table, vals, text, false, e);
	if (!rc)
		(void)read_pairs(table, vals, text, true, NULL);
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
		const struct field f = row_of_option(row);

		n = strlen(buf);
		(void)snprintf(buf + n, size - n, "%s%s=%s",
			       row == table ? "" : ",", row->name,
			       field_format(&f, field_integer(&f, vals), value,
					    sizeof(value)));
	}
}
