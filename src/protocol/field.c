/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of tables and the structs they describe. Knows no JSON.
 */
#include "protocol/field.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"

enum { PATH_MAX_BYTES = 160 };

bool field_has_unit(const struct field *f)
{
	return f->type == FIELD_TIME || f->type == FIELD_RATE;
}

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

	for (const struct field *f = table; f && f->name; f++) {
		const struct field *inner;

		if (f->type == FIELD_INLINE) {
			inner = field_find(f->members, name);
			if (inner)
				return inner;
		} else if (!strcmp(f->name, name) ||
			   !strcmp(field_wire_name(f, buf), name)) {
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
		table = f && f->type == FIELD_OBJECT ? f->members : NULL;
		path = dot + 1;
	}
	return field_find(table, path);
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

int64_t field_integer(const struct field *f, const void *base)
{
	const void *p = field_at_const(f, base);

	switch (f->store) {
	case FIELD_C_BOOL:
		return *(const bool *)p;
	case FIELD_C_U8:
		return *(const uint8_t *)p;
	case FIELD_C_U16:
		return *(const uint16_t *)p;
	case FIELD_C_U32:
		return *(const uint32_t *)p;
	case FIELD_C_I32:
		return *(const int *)p;
	case FIELD_C_U64:
		return (int64_t)(*(const uint64_t *)p);
	case FIELD_C_I64:
		return *(const int64_t *)p;
	default:
		CR_ASSERT(f->store == FIELD_C_DOUBLE);
		return (int64_t)(*(const double *)p);
	}
}

void field_set_integer(const struct field *f, void *base, int64_t value)
{
	void *p = field_at(f, base);

	switch (f->store) {
	case FIELD_C_BOOL:
		*(bool *)p = value != 0;
		break;
	case FIELD_C_U8:
		*(uint8_t *)p = (uint8_t)value;
		break;
	case FIELD_C_U16:
		*(uint16_t *)p = (uint16_t)value;
		break;
	case FIELD_C_U32:
		*(uint32_t *)p = (uint32_t)value;
		break;
	case FIELD_C_I32:
		*(int *)p = (int)value;
		break;
	case FIELD_C_U64:
		*(uint64_t *)p = (uint64_t)value;
		break;
	case FIELD_C_I64:
		*(int64_t *)p = value;
		break;
	default:
		CR_ASSERT(f->store == FIELD_C_DOUBLE);
		*(double *)p = (double)value;
	}
}

double field_number(const struct field *f, const void *base)
{
	double n = f->store == FIELD_C_DOUBLE
			   ? *(const double *)field_at_const(f, base)
			   : (double)field_integer(f, base);

	if (f->type == FIELD_TIME)
		return n / (double)field_unit_ns(f->unit);
	return f->type == FIELD_RATE ? n / 1e6 : n;
}

const char *field_string(const struct field *f, const void *base)
{
	const void *p = field_at_const(f, base);

	return f->store == FIELD_C_CHARS ? p : *(const char *const *)p;
}

void field_default(const struct field *f, void *base)
{
	switch (f->store) {
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
	case FIELD_NOWHERE:
	case FIELD_C_POINTER:
	case FIELD_C_EACH:
		break; /* of results only */
	default:
		field_set_integer(f, base, f->dflt);
	}
}

void field_defaults(const struct field *table, void *base)
{
	for (const struct field *f = table; f->name; f++)
		field_default(f, base);
}

/* The struct that OBJECT or INLINE @f leads to; NULL: none. */
static const void *inner_of(const struct field *f, const void *base)
{
	if (!base)
		return NULL;
	return f->store == FIELD_C_POINTER
		       ? *(const void *const *)field_at_const(f, base)
		       : field_at_const(f, base);
}

static void walk(const struct field *table, const void *base,
		 const char *prefix, field_visit *visit, void *arg)
{
	char path[PATH_MAX_BYTES], name[FIELD_NAME_MAX];

	for (const struct field *f = table; f->name; f++) {
		if (f->type == FIELD_INLINE) {
			walk(f->members, inner_of(f, base), prefix, visit, arg);
			continue;
		}
		(void)snprintf(path, sizeof(path), "%s%s%s", prefix,
			       field_wire_name(f, name),
			       f->type == FIELD_OBJECT ? "." : "");
		if (f->type == FIELD_OBJECT)
			walk(f->members, inner_of(f, base), path, visit, arg);
		else
			visit(arg, path, f, base);
	}
}

void field_walk(const struct field *table, const void *base, field_visit *visit,
		void *arg)
{
	walk(table, base, "", visit, arg);
}
