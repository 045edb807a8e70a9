/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structs by their rows, read from JSON and written as JSON.
 */
#include "protocol/field_json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "base/assert.h"
#include "base/utf8.h"

enum { PATH_MAX_BYTES = 160 };

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

/* Refuse @v, which was given for @f as @name; @more: what else there is to
 * say. @plain: as of field_needs(). */
static int refuse_value(const struct field *f, const char *name,
			const json_t *v, bool plain, const char *more,
			const struct place *at)
{
	const char *text = json_string_value(v);
	char number[32], why[300];

	if (json_is_number(v)) {
		(void)snprintf(number, sizeof(number), "%.15g",
			       json_number_value(v));
		text = number;
	}
	(void)field_needs(f, text ? text : "", plain, why, sizeof(why));
	/* a value of the wrong type may be a secret, a list may be long */
	if (!text || f->kind == FIELD_TEXT)
		return wrong(at, name, "%s%s", why, more);
	return cr_fail(at->e, -EINVAL, "%s%.100s=%.64s: %s%s", at->path, name,
		       text, why, more);
}

/* --- names --- */

static int refuse_unknown_member(const struct field *table,
				 const json_t *object, const struct place *at)
{
	char hint[300];
	const char *key;
	json_t *value;

	json_object_foreach ((json_t *)(uintptr_t)object, key, value) {
		if (field_find(table, key))
			continue;
		if (!*field_hint(table, 0, key, hint, sizeof(hint)))
			return wrong(at, key, "unknown member; none is taken");
		return wrong(at, key, "unknown member; %s", hint);
	}
	return 0;
}

/* --- values --- */

static int read_field_text(const struct field *f, const json_t *v,
			   const struct place *at)
{
	const char *text = json_string_value(v);

	if (!text)
		return refuse_value(f, f->name, v, true, "", at);
	if (f->store == FIELD_C_TEXT)
		*(const char **)field_at(f, at->base) = text;
	else if (strlen(text) >= f->size)
		return wrong(at, f->name, "is longer than %zu octets",
			     f->size - 1);
	else
		memcpy(field_at(f, at->base), text, strlen(text) + 1);
	return 0;
}

static int read_field_address(const struct field *f, const json_t *v,
			      const struct place *at)
{
	const char *text = json_string_value(v);
	struct sockaddr_storage a;

	if (!text || address_parse(text, &a) || !address_port(&a))
		return refuse_value(f, f->name, v, true, "", at);
	*(struct sockaddr_storage *)field_at(f, at->base) = a;
	return 0;
}

/* A number in the row's unit as the struct has it. */
static bool scale_number(const struct field *f, const json_t *v, int64_t *out)
{
	double scale =
		f->kind == FIELD_TIME ? (double)field_unit_ns(f->unit) : 1e6;
	double x = json_number_value(v) * scale;

	if (!json_is_number(v) || !(x >= 0 && x < 9e18))
		return false;
	*out = (int64_t)(x + 0.5);
	return true;
}

/* The number in @v, whether or not it is within bounds. @plain: a quantity, by
 * the name that ends in the unit. */
static bool number_of(const struct field *f, const json_t *v, bool plain,
		      int64_t *out)
{
	switch (f->kind) {
	case FIELD_BOOL:
		*out = json_is_true(v);
		return json_is_boolean(v);
	case FIELD_INT:
		*out = json_integer_value(v);
		return json_is_integer(v);
	default:
		return plain ? scale_number(f, v, out)
			     : json_is_string(v) &&
				       field_read_number(
					       f, json_string_value(v), out);
	}
}

static int read_number(const struct field *f, const json_t *v, bool plain,
		       const struct place *at)
{
	char name[FIELD_NAME_MAX], number[FIELD_TEXT_MAX];
	char more[FIELD_TEXT_MAX + 100] = "";
	int64_t n;
	bool said = number_of(f, v, plain, &n);

	if (said && field_fits(f, n)) {
		field_set_integer(f, at->base, n);
		return 0;
	}
	if (!field_has_unit(f))
		return refuse_value(f, f->name, v, true, "", at);
	(void)field_wire_name(f, name);
	if (!plain && !said)
		(void)snprintf(
			more, sizeof(more), "; a %s goes under the name %s",
			field_text_result(f, number, sizeof(number)), name);
	return refuse_value(f, plain ? name : f->name, v, plain, more, at);
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
	if (refuse_unknown_member(f->members, v, &inner))
		return -EINVAL;
	return read_members(f->members, v, &inner);
}

/* Up to as many as the row has room for. */
static int read_field_list(const struct field *f, const json_t *v,
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
		if (refuse_unknown_member(f->members, item, &inner) ||
		    read_members(f->members, item, &inner))
			return -EINVAL;
		inner.base = (unsigned char *)inner.base + f->size;
	}
	*count = (unsigned)json_array_size(v);
	return 0;
}

/* @plain: @v is there by the name that ends in the unit. */
static int read_field_value(const struct field *f, const json_t *v, bool plain,
			    const struct place *at)
{
	switch (f->kind) {
	case FIELD_BOOL:
	case FIELD_INT:
	case FIELD_CHOICE:
	case FIELD_TIME:
	case FIELD_RATE:
		return read_number(f, v, plain, at);
	case FIELD_ADDRESS:
		return read_field_address(f, v, at);
	case FIELD_OBJECT:
		return read_object(f, v, at);
	case FIELD_LIST:
		return read_field_list(f, v, at);
	case FIELD_FIXED:
		return wrong(at, f->name, "%s", f->help);
	default:
		return read_field_text(f, v, at);
	}
}

static int read_field_member(const struct field *f, const json_t *object,
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
	return read_field_value(f, v ? v : number, number != NULL, at);
}

static int read_members(const struct field *table, const json_t *object,
			const struct place *at)
{
	for (const struct field *f = table; f->name; f++) {
		const struct place inner = { at->path, field_at(f, at->base),
					     at->e };
		int err = f->kind == FIELD_INLINE
				  ? read_members(f->members, object, &inner)
				  : read_field_member(f, object, at);

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
	if (refuse_unknown_member(table, object, &at))
		return -EINVAL;
	return read_members(table, object, &at);
}

/* --- what is missing --- */

static bool is_field_there(const struct field *f, const void *base)
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

static int complete(const struct field *table, const void *base,
		    const char *path, struct cr_err *e)
{
	for (const struct field *f = table; f->name; f++) {
		const void *inner = field_at_const(f, base);
		char deeper[PATH_MAX_BYTES];
		int err = 0;

		(void)snprintf(deeper, sizeof(deeper), "%s%s.", path, f->name);
		if (f->kind == FIELD_LIST) /* the method checks its items */
			continue;
		if (f->kind == FIELD_INLINE)
			err = complete(f->members, inner, path, e);
		else if (f->kind == FIELD_OBJECT)
			err = complete(f->members, inner, deeper, e);
		else if (f->required && !is_field_there(f, base))
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

/* Largest item of a list. */
enum { ITEM_MAX = 4096 };

static json_t *number_json(const struct field *f, const void *base)
{
	bool real = f->kind == FIELD_REAL || f->kind == FIELD_RATE ||
		    (f->kind == FIELD_TIME && field_unit_ns(f->unit) > 1);

	if (real && f->flags & FIELD_ROUND)
		return f->kind == FIELD_TIME
			       ? json_integer((json_int_t)round(
					 field_number(f, base)))
			       : json_real(round(field_number(f, base) * 1e4) /
					   1e4);
	if (real)
		return json_real(field_number(f, base));
	return json_integer((json_int_t)field_integer(f, base));
}

/* With "?" for what is not UTF-8: proxies name calls as their callers do. */
static json_t *string_of(const char *s)
{
	json_t *o = json_string(s);
	char *copy = o ? NULL : strdup(s);

	if (copy) {
		utf8_mark(copy);
		o = json_string(copy);
	}
	free(copy);
	return o;
}

/* The struct of an object, or of a part of one; NULL: there is none. */
static const void *struct_of(const struct field *f, const void *base)
{
	const void *inner = field_at_const(f, base);

	return f->store == FIELD_C_POINTER ? *(const void *const *)inner
					   : inner;
}

static unsigned list_count(const struct field *f, const void *base)
{
	return *(const unsigned *)(const void *)((const unsigned char *)base +
						 f->count);
}

static const void *item_at(const struct field *f, const void *base, unsigned i)
{
	return (const unsigned char *)field_at_const(f, base) + i * f->size;
}

static json_t *list_made(const struct field *f, const void *base)
{
	const struct field_each *each = field_at_const(f, base);
	json_t *list = json_array();
	union {
		max_align_t aligned;
		unsigned char bytes[ITEM_MAX];
	} one;

	CR_ASSERT(f->size <= sizeof(one));
	for (unsigned i = 0; each->at && each->at(each->arg, i, &one); i++)
		(void)json_array_append_new(list,
					    field_write(f->members, &one));
	return list;
}

static json_t *list_json(const struct field *f, const void *base)
{
	json_t *all;

	if (f->store == FIELD_C_EACH)
		return list_made(f, base);
	all = json_array();
	for (unsigned i = 0; i < list_count(f, base); i++)
		(void)json_array_append_new(
			all, field_write(f->members, item_at(f, base, i)));
	return all;
}

static json_t *map_json(const struct field *f, const void *base)
{
	const struct field *key = &f->members[0], *value = &f->members[1];
	json_t *o = json_object();
	char digits[24];

	for (unsigned i = 0; i < list_count(f, base); i++) {
		const void *pair = item_at(f, base, i);
		const char *k = digits;

		if (key->kind == FIELD_TEXT)
			k = field_string(key, pair);
		else
			(void)snprintf(digits, sizeof(digits), "%" PRId64,
				       field_integer(key, pair));
		(void)json_object_set_new(o, k, number_json(value, pair));
	}
	return o;
}

static json_t *field_json(const struct field *f, const void *base)
{
	const struct sockaddr_storage *at;
	const void *inner;
	const char *s;
	char buf[64];

	switch (f->kind) {
	case FIELD_BOOL:
		return json_boolean(field_integer(f, base));
	case FIELD_INT:
	case FIELD_REAL:
	case FIELD_TIME:
	case FIELD_RATE:
		return number_json(f, base);
	case FIELD_TEXT:
	case FIELD_CODEC:
	case FIELD_MODE:
		s = field_string(f, base);
		return s		       ? string_of(s)
		       : f->flags & FIELD_NULL ? json_null()
					       : NULL;
	case FIELD_CHOICE:
		return json_string(f->names[field_integer(f, base)]);
	case FIELD_ADDRESS:
		at = field_at_const(f, base);
		return !at->ss_family && f->flags & FIELD_NULL
			       ? json_null()
			       : json_string(
					 address_text(at, buf, sizeof(buf)));
	case FIELD_OBJECT:
		inner = struct_of(f, base);
		return inner ? field_write(f->members, inner) : json_null();
	case FIELD_LIST:
		return list_json(f, base);
	case FIELD_MAP:
		return map_json(f, base);
	default:
		return NULL;
	}
}

static json_t *write_struct(const struct field *table, const void *in,
			    bool given);

/* @given: without what is as field_defaults() has it. */
static void write_members(json_t *o, const struct field *table,
			  const void *base, bool given)
{
	char name[FIELD_NAME_MAX];

	for (const struct field *f = table; f->name; f++) {
		bool one = f->kind != FIELD_OBJECT && f->kind != FIELD_LIST &&
			   f->kind != FIELD_FIXED;
		json_t *v;

		if (f->kind == FIELD_INLINE) {
			if (struct_of(f, base))
				write_members(o, f->members, struct_of(f, base),
					      given);
			continue;
		}
		if (f->flags & FIELD_OMIT_ZERO && !field_integer(f, base))
			continue;
		if (given && one && !is_field_there(f, base))
			continue;
		v = given && f->kind == FIELD_OBJECT
			    ? write_struct(f->members, field_at_const(f, base),
					   true)
			    : field_json(f, base);
		if (given && !one && !json_object_size(v) &&
		    !json_array_size(v))
			json_decref(v);
		else if (v)
			(void)json_object_set_new(o, field_wire_name(f, name),
						  v);
	}
}

static json_t *write_struct(const struct field *table, const void *in,
			    bool given)
{
	json_t *o = json_object();

	if (o)
		write_members(o, table, in, given);
	return o;
}

json_t *field_write(const struct field *table, const void *in)
{
	return write_struct(table, in, false);
}

json_t *field_write_request(const struct field *table, const void *in)
{
	return write_struct(table, in, true);
}
