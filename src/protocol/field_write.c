/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structs into JSON.
 */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "base/assert.h"
#include "base/utf8.h"
#include "protocol/field_json.h"

/* Largest item of a list. */
enum { ITEM_MAX = 4096 };

static json_t *number(const struct field *f, const void *base)
{
	bool real = f->type == FIELD_REAL || f->type == FIELD_RATE ||
		    (f->type == FIELD_TIME && field_unit_ns(f->unit) > 1);

	if (real && f->flags & FIELD_ROUND)
		return f->type == FIELD_TIME
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
	size_t octets, left = copy ? strlen(copy) : 0;

	for (char *at = copy; left; at += octets, left -= octets) {
		octets = utf8_length(at, left);
		if (octets)
			continue;
		*at = '?';
		octets = 1;
	}
	if (copy)
		o = json_string(copy);
	free(copy);
	return o;
}

static json_t *text(const struct field *f, const void *base)
{
	const char *s = field_string(f, base);

	if (s)
		return string_of(s);
	return f->flags & FIELD_NULL ? json_null() : NULL;
}

static json_t *address(const struct field *f, const void *base)
{
	const struct sockaddr_storage *a = field_at_const(f, base);
	char buf[64];

	return json_string(address_text(a, buf, sizeof(buf)));
}

static json_t *object(const struct field *f, const void *base)
{
	const void *inner = field_at_const(f, base);

	if (f->store == FIELD_C_POINTER)
		inner = *(const void *const *)inner;
	return inner ? field_write(f->members, inner) : json_null();
}

static unsigned count_of(const struct field *f, const void *base)
{
	return *(const unsigned *)(const void *)((const unsigned char *)base +
						 f->count);
}

static const void *item(const struct field *f, const void *base, unsigned i)
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

static json_t *list(const struct field *f, const void *base)
{
	json_t *all;

	if (f->store == FIELD_C_EACH)
		return list_made(f, base);
	all = json_array();
	for (unsigned i = 0; i < count_of(f, base); i++)
		(void)json_array_append_new(
			all, field_write(f->members, item(f, base, i)));
	return all;
}

static json_t *map(const struct field *f, const void *base)
{
	const struct field *key = &f->members[0], *value = &f->members[1];
	json_t *o = json_object();
	char digits[24];

	for (unsigned i = 0; i < count_of(f, base); i++) {
		const void *pair = item(f, base, i);
		const char *k = digits;

		if (key->type == FIELD_TEXT)
			k = field_string(key, pair);
		else
			(void)snprintf(digits, sizeof(digits), "%" PRId64,
				       field_integer(key, pair));
		(void)json_object_set_new(o, k, number(value, pair));
	}
	return o;
}

static json_t *value_of(const struct field *f, const void *base)
{
	switch (f->type) {
	case FIELD_BOOL:
		return json_boolean(field_integer(f, base));
	case FIELD_INT:
	case FIELD_REAL:
	case FIELD_TIME:
	case FIELD_RATE:
		return number(f, base);
	case FIELD_TEXT:
	case FIELD_CODEC:
	case FIELD_MODE:
		return text(f, base);
	case FIELD_CHOICE:
		return json_string(f->choices[field_integer(f, base)]);
	case FIELD_ADDRESS:
		return address(f, base);
	case FIELD_OBJECT:
		return object(f, base);
	case FIELD_LIST:
		return list(f, base);
	case FIELD_MAP:
		return map(f, base);
	default:
		return NULL;
	}
}

static void write_members(json_t *o, const struct field *table,
			  const void *base)
{
	char name[FIELD_NAME_MAX];

	for (const struct field *f = table; f->name; f++) {
		json_t *v;

		if (f->type == FIELD_INLINE) {
			write_members(o, f->members, field_at_const(f, base));
			continue;
		}
		if (f->flags & FIELD_OMIT_ZERO && !field_integer(f, base))
			continue;
		v = value_of(f, base);
		if (v)
			(void)json_object_set_new(o, field_wire_name(f, name),
						  v);
	}
}

json_t *field_write(const struct field *table, const void *in)
{
	json_t *o = json_object();

	if (o)
		write_members(o, table, in);
	return o;
}
