/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows in words.
 */
#include "protocol/field_text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"

enum { PATH_MAX_BYTES = 200 };

static const char *const types[] = {
	[FIELD_BOOL] = "true or false",
	[FIELD_INT] = "whole number",
	[FIELD_REAL] = "number",
	[FIELD_TEXT] = "text",
	[FIELD_CODEC] = "name of a codec",
	[FIELD_MODE] = "name of a mode",
	[FIELD_CHOICE] = "text",
	[FIELD_TIME] = "time, as \"20ms\"",
	[FIELD_RATE] = "rate, as \"50/s\"",
	[FIELD_ADDRESS] = "address with port",
	[FIELD_OBJECT] = "object",
	[FIELD_INLINE] = "text",
	[FIELD_LIST] = "list of objects",
	[FIELD_MAP] = "text",
	[FIELD_FIXED] = "refused",
};

static const char *put_field_text(char *buf, size_t size, const char *text)
{
	(void)snprintf(buf, size, "%s", text);
	return buf;
}

const char *field_text_param(const struct field *f, char *buf, size_t size)
{
	return put_field_text(buf, size, types[f->type]);
}

const char *field_text_result(const struct field *f, char *buf, size_t size)
{
	const char *type = types[f->type];

	if (f->type == FIELD_RATE)
		return put_field_text(buf, size, "number per second");
	if (f->type == FIELD_TIME)
		type = f->flags & FIELD_ROUND ? "whole number" : "number";
	if (f->type == FIELD_MAP)
		(void)snprintf(buf, size, "object: a whole number for each %s",
			       f->members[0].name);
	else if (f->unit && !strcmp(f->unit, "share"))
		(void)put_field_text(buf, size, "share, 0 to 1");
	else if (f->unit && (f->type == FIELD_INT || f->type == FIELD_REAL ||
			     f->type == FIELD_TIME))
		(void)snprintf(buf, size, "%s of %s", type, f->unit);
	else
		(void)put_field_text(buf, size, type);
	return buf;
}

static void choices_text(const struct field *f, char *buf, size_t size)
{
	for (unsigned i = 0; f->choices[i]; i++) {
		size_t used = strlen(buf);

		(void)snprintf(buf + used, size - used, "%s%s", i ? ", " : "",
			       f->choices[i]);
	}
}

const char *field_text_range(const struct field *f, char *buf, size_t size)
{
	double unit;

	buf[0] = '\0';
	if (f->type == FIELD_CHOICE)
		choices_text(f, buf, size);
	else if (f->type == FIELD_RATE)
		(void)snprintf(buf, size, "%g..%g per second",
			       (double)FIELD_RATE_MIN / 1e6,
			       (double)FIELD_RATE_MAX / 1e6);
	else if (f->type == FIELD_INT && f->max > f->min)
		(void)snprintf(buf, size, "%" PRId64 "..%" PRId64 "%s%s",
			       f->min, f->max, f->unit ? " " : "",
			       f->unit ? f->unit : "");
	else if (f->type == FIELD_TIME && f->max > f->min) {
		unit = (double)field_unit_ns(f->unit);
		(void)snprintf(buf, size, "%.10g..%.10g %s",
			       (double)f->min / unit, (double)f->max / unit,
			       f->unit);
	}
	return buf;
}

/* Of a number whose range has its default; else nothing is set. */
static void default_number(const struct field *f, char *buf, size_t size)
{
	if (f->dflt < f->min || f->dflt > f->max)
		(void)put_field_text(buf, size, "none");
	else if (f->type == FIELD_TIME)
		(void)snprintf(buf, size, "%.10g %s",
			       (double)f->dflt / (double)field_unit_ns(f->unit),
			       f->unit);
	else
		(void)snprintf(buf, size, "%" PRId64, f->dflt);
}

const char *field_text_default(const struct field *f, char *buf, size_t size)
{
	buf[0] = '\0';
	if (f->required)
		return put_field_text(buf, size, "required");
	if (f->without)
		return put_field_text(buf, size, f->without);
	switch (f->type) {
	case FIELD_BOOL:
		return put_field_text(buf, size, f->dflt ? "true" : "false");
	case FIELD_CHOICE:
		return put_field_text(
			buf, size, f->dflt < 0 ? "none" : f->choices[f->dflt]);
	case FIELD_INT:
	case FIELD_TIME:
		default_number(f, buf, size);
		return buf;
	case FIELD_OBJECT:
	case FIELD_INLINE:
	case FIELD_FIXED:
		return buf;
	default:
		return put_field_text(buf, size, "none");
	}
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

static void report_below(const struct field *table, const char *prefix,
			 field_reporter *report, void *arg)
{
	char path[PATH_MAX_BYTES], name[PATH_MAX_BYTES], wire[FIELD_NAME_MAX];
	char below[PATH_MAX_BYTES + 4];

	for (const struct field *f = table; f->name; f++) {
		bool inside = f->type == FIELD_INLINE;

		(void)snprintf(path, sizeof(path), "%s%s", prefix,
			       inside ? "" : f->name);
		(void)snprintf(name, sizeof(name), "%s%s", prefix,
			       inside ? "" : field_wire_name(f, wire));
		(void)snprintf(below, sizeof(below), "%s%s", path,
			       inside		       ? ""
			       : f->type == FIELD_LIST ? "[]."
						       : ".");
		if (report(arg, f, path, name) && f->members &&
		    f->type != FIELD_MAP)
			report_below(f->members, below, report, arg);
	}
}

void field_report(const struct field *table, field_reporter *report, void *arg)
{
	report_below(table, "", report, arg);
}
