/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON into structs.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/address.h"
#include "base/nearest.h"
#include "base/units.h"
#include "protocol/field_json.h"

enum { NAMES_MAX = 64, PATH_MAX_BYTES = 160 };

/* One object being read. */
struct place {
	const char *path; /* "", "in.", "contract." */
	void *base;
	struct cr_err *e;
};

static int read_members(const struct field *table, const json_t *object,
			const struct place *at);

__attribute__((format(printf, 3, 4))) static int wrong(const struct place *at,
						       const char *name,
						       const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return cr_fail(at->e, -EINVAL, "%s%.100s: %s", at->path, name, text);
}

/* --- names --- */

static unsigned add_names(const struct field *table, const char **names,
			  unsigned n)
{
	for (const struct field *f = table; f->name && n < NAMES_MAX; f++)
		if (f->type == FIELD_INLINE)
			n = add_names(f->members, names, n);
		else
			names[n++] = f->name;
	return n;
}

static int refuse_unknown(const struct field *table, const json_t *object,
			  const struct place *at)
{
	const char *names[NAMES_MAX + 1], *key;
	char hint[300];
	json_t *value;

	json_object_foreach ((json_t *)(uintptr_t)object, key, value) {
		if (field_find(table, key))
			continue;
		names[add_names(table, names, 0)] = NULL;
		if (!names[0])
			return wrong(at, key, "unknown member; none is taken");
		return wrong(at, key, "unknown member; %s",
			     nearest_hint(key, names, hint, sizeof(hint)));
	}
	return 0;
}

/* --- values --- */

static int read_bool(const struct field *f, const json_t *v,
		     const struct place *at)
{
	if (!json_is_boolean(v))
		return wrong(at, f->name, "must be true or false");
	field_set_integer(f, at->base, json_is_true(v));
	return 0;
}

static int read_int(const struct field *f, const json_t *v,
		    const struct place *at)
{
	int64_t n;

	if (!json_is_integer(v))
		return wrong(at, f->name, "must be a whole number");
	n = json_integer_value(v);
	if (n < f->min || n > f->max)
		return wrong(at, f->name,
			     "%" PRId64 " is not within %" PRId64 "..%" PRId64,
			     n, f->min, f->max);
	field_set_integer(f, at->base, n);
	return 0;
}

static int read_choice(const struct field *f, const json_t *v,
		       const struct place *at)
{
	const char *text = json_string_value(v);
	char hint[200];

	if (!text)
		return wrong(at, f->name, "must be a string");
	for (int i = 0; f->choices[i]; i++)
		if (!strcmp(f->choices[i], text)) {
			field_set_integer(f, at->base, i);
			return 0;
		}
	return wrong(at, f->name, "unknown '%.100s'; %s", text,
		     nearest_hint(text, f->choices, hint, sizeof(hint)));
}

static int read_text(const struct field *f, const json_t *v,
		     const struct place *at)
{
	const char *text = json_string_value(v);

	if (!text)
		return wrong(at, f->name, "must be a string");
	if (f->store == FIELD_C_TEXT)
		*(const char **)field_at(f, at->base) = text;
	else if (strlen(text) >= f->size)
		return wrong(at, f->name, "is longer than %zu octets",
			     f->size - 1);
	else
		memcpy(field_at(f, at->base), text, strlen(text) + 1);
	return 0;
}

static int read_address(const struct field *f, const json_t *v,
			const struct place *at)
{
	const char *text = json_string_value(v);
	struct sockaddr_storage a;

	if (!text)
		return wrong(at, f->name, "must be a string");
	if (address_parse(text, &a) || !address_port(&a))
		return wrong(at, f->name,
			     "'%.100s' is not an address with a port, such as "
			     "127.0.0.1:5004 or [::1]:5004",
			     text);
	*(struct sockaddr_storage *)field_at(f, at->base) = a;
	return 0;
}

/* --- quantities --- */

/* A number in the row's unit as the struct has it. */
static int scaled(const struct field *f, const json_t *v, int64_t *out)
{
	double scale =
		f->type == FIELD_TIME ? (double)field_unit_ns(f->unit) : 1e6;
	double x;

	if (!json_is_number(v))
		return -EINVAL;
	x = json_number_value(v) * scale;
	if (!(x >= 0 && x < 9e18))
		return -ERANGE;
	*out = (int64_t)(x + 0.5);
	return 0;
}

static int refuse_time(const struct field *f, bool number,
		       const struct place *at)
{
	char name[FIELD_NAME_MAX];

	(void)field_wire_name(f, name);
	if (number)
		return wrong(at, name, "must be a number of %s", f->unit);
	return wrong(at, f->name,
		     "must be a time with its unit, such as \"20ms\" or "
		     "\"1.5s\"; a number of %s goes under the name %s",
		     f->unit, name);
}

static int read_time(const struct field *f, const json_t *v, bool number,
		     const struct place *at)
{
	double unit = (double)field_unit_ns(f->unit);
	int64_t t;

	if (number ? scaled(f, v, &t)
		   : !json_is_string(v) ||
			     units_parse_time(json_string_value(v), &t))
		return refuse_time(f, number, at);
	if (t < f->min || t > f->max)
		return wrong(at, f->name, "%g %s is not within %g..%g %s",
			     (double)t / unit, f->unit, (double)f->min / unit,
			     (double)f->max / unit, f->unit);
	field_set_integer(f, at->base, t);
	return 0;
}

static int read_rate(const struct field *f, const json_t *v, bool number,
		     const struct place *at)
{
	int64_t rate;

	if (!(number ? scaled(f, v, &rate)
		     : !json_is_string(v) ||
			       units_parse_rate(json_string_value(v), &rate)) &&
	    rate >= FIELD_RATE_MIN && rate <= FIELD_RATE_MAX) {
		field_set_integer(f, at->base, rate);
		return 0;
	}
	return wrong(at, f->name,
		     "must be a rate, such as \"50/s\" or \"0.5/s\", from "
		     "0.001/s to 100000/s; a number per second goes under the "
		     "name %s_per_s",
		     f->name);
}

/* --- members --- */

static int read_object(const struct field *f, const json_t *v,
		       const struct place *at)
{
	char path[PATH_MAX_BYTES];
	const struct place inner = { path, field_at(f, at->base), at->e };

	if (!json_is_object(v))
		return wrong(at, f->name, "must be an object");
	(void)snprintf(path, sizeof(path), "%s%s.", at->path, f->name);
	if (refuse_unknown(f->members, v, &inner))
		return -EINVAL;
	return read_members(f->members, v, &inner);
}

/* Up to as many as the row has room for. */
static int read_list(const struct field *f, const json_t *v,
		     const struct place *at)
{
	char path[PATH_MAX_BYTES];
	struct place inner = { path, field_at(f, at->base), at->e };
	unsigned *count = (void *)((unsigned char *)at->base + f->count);
	size_t i;
	json_t *item;

	if (!json_is_array(v))
		return wrong(at, f->name, "must be a list");
	if (json_array_size(v) > (size_t)f->max)
		return wrong(at, f->name, "has more than %" PRId64 " members",
			     f->max);
	json_array_foreach ((json_t *)(uintptr_t)v, i, item) {
		(void)snprintf(path, sizeof(path), "%s%s[%zu].", at->path,
			       f->name, i);
		if (!json_is_object(item))
			return wrong(&inner, "", "must be an object");
		field_defaults(f->members, inner.base);
		if (refuse_unknown(f->members, item, &inner) ||
		    read_members(f->members, item, &inner))
			return -EINVAL;
		inner.base = (unsigned char *)inner.base + f->size;
	}
	*count = (unsigned)json_array_size(v);
	return 0;
}

/* @number: @v is there by the name that ends in the unit. */
static int read_value(const struct field *f, const json_t *v, bool number,
		      const struct place *at)
{
	switch (f->type) {
	case FIELD_BOOL:
		return read_bool(f, v, at);
	case FIELD_INT:
		return read_int(f, v, at);
	case FIELD_CHOICE:
		return read_choice(f, v, at);
	case FIELD_TIME:
		return read_time(f, v, number, at);
	case FIELD_RATE:
		return read_rate(f, v, number, at);
	case FIELD_ADDRESS:
		return read_address(f, v, at);
	case FIELD_OBJECT:
		return read_object(f, v, at);
	case FIELD_LIST:
		return read_list(f, v, at);
	case FIELD_FIXED:
		return wrong(at, f->name, "%s", f->help);
	default:
		return read_text(f, v, at);
	}
}

static int read_member(const struct field *f, const json_t *object,
		       const struct place *at)
{
	char wire[FIELD_NAME_MAX];
	const json_t *v = json_object_get(object, f->name), *number = NULL;

	if (field_has_unit(f))
		number = json_object_get(object, field_wire_name(f, wire));
	if (v && number)
		return wrong(at, f->name, "is there as %s, too: give one",
			     wire);
	if (!v && !number)
		return 0;
	if (json_is_null(v ? v : number)) {
		field_default(f, at->base);
		return 0;
	}
	return read_value(f, v ? v : number, number != NULL, at);
}

static int read_members(const struct field *table, const json_t *object,
			const struct place *at)
{
	for (const struct field *f = table; f->name; f++) {
		const struct place inner = { at->path, field_at(f, at->base),
					     at->e };
		int err = f->type == FIELD_INLINE
				  ? read_members(f->members, object, &inner)
				  : read_member(f, object, at);

		if (err)
			return err;
	}
	return 0;
}

int field_read(const struct field *table, const json_t *object, void *out,
	       struct cr_err *e)
{
	const struct place at = { "", out, e };

	if (!object || json_is_null(object))
		return 0;
	if (!json_is_object(object))
		return wrong(&at, "params", "must be an object");
	if (refuse_unknown(table, object, &at))
		return -EINVAL;
	return read_members(table, object, &at);
}

/* --- what is missing --- */

static bool is_there(const struct field *f, const void *base)
{
	const struct sockaddr_storage *a;
	const char *text;

	switch (f->store) {
	case FIELD_C_TEXT:
	case FIELD_C_CHARS:
		text = field_string(f, base);
		return text && (*text || f->store == FIELD_C_TEXT);
	case FIELD_C_ADDRESS:
		a = field_at_const(f, base);
		return a->ss_family != 0;
	default:
		return field_integer(f, base) != f->dflt;
	}
}

/* Whoever asked for a list looks at what is in it. */

static int complete(const struct field *table, const void *base,
		    const char *path, struct cr_err *e)
{
	for (const struct field *f = table; f->name; f++) {
		const void *inner = field_at_const(f, base);
		char deeper[PATH_MAX_BYTES];
		int err = 0;

		(void)snprintf(deeper, sizeof(deeper), "%s%s.", path, f->name);
		if (f->type == FIELD_LIST)
			continue;
		if (f->type == FIELD_INLINE)
			err = complete(f->members, inner, path, e);
		else if (f->type == FIELD_OBJECT)
			err = complete(f->members, inner, deeper, e);
		else if (f->required && !is_there(f, base))
			err = cr_fail(e, -EINVAL, "%s%s: is missing%s%s", path,
				      f->name, *f->required ? ": " : "",
				      f->required);
		if (err)
			return err;
	}
	return 0;
}

int field_complete(const struct field *table, const void *in, struct cr_err *e)
{
	return complete(table, in, "", e);
}
