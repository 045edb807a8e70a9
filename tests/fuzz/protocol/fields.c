/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any JSON as the parameters of any method, the first octet says which, by its
 * table: what is taken is within its bounds, what is refused has a reason, and
 * nothing is written behind the struct.
 */
#include <stdint.h>
#include <string.h>

#include "base/assert.h"
#include "protocol/field_json.h"
#include "protocol/tables/method.h"

enum { STRUCT_MAX = 4096, GUARD = 0xa5 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct method *method_at(unsigned i)
{
	unsigned n = 0;

	while (methods[n].name)
		n++;
	return &methods[i % n];
}

/* Where the struct of @table ends, as far as rows tell. */
static size_t end_of(const struct field *table)
{
	size_t end = 0;

	for (const struct field *f = table; f->name; f++)
		if (f->offset + f->size > end)
			end = f->offset + f->size;
	return end;
}

static void check_number(const struct field *f, const void *base)
{
	int64_t v = field_integer(f, base);

	CR_ASSERT(v == f->dflt || (v >= f->min && v <= f->max));
}

static void check_text(const struct field *f, const void *base)
{
	const char *text = field_string(f, base);

	CR_ASSERT(!text || strlen(text) < SIZE_MAX);
	CR_ASSERT(f->store != FIELD_C_CHARS || strlen(text) < f->size);
}

static bool check_member(void *arg, const struct field *f, const char *path,
			 const char *name, const void *base)
{
	(void)arg;
	CR_ASSERT(f->kind == FIELD_INLINE || (*path && *name));
	switch (f->kind) {
	case FIELD_INT:
	case FIELD_TIME:
		check_number(f, base);
		break;
	case FIELD_TEXT:
	case FIELD_CODEC:
	case FIELD_MODE:
		check_text(f, base);
		break;
	default:
		break;
	}
	return f->kind != FIELD_LIST;
}

static void try_params(const struct method *m, const json_t *params)
{
	static _Alignas(max_align_t) unsigned char room[STRUCT_MAX];
	struct cr_err e = { "" };
	size_t end = end_of(m->params);

	CR_ASSERT(end < sizeof(room));
	memset(room, GUARD, sizeof(room));
	field_defaults(m->params, room);
	if (field_read(m->params, params, room, &e) ||
	    field_complete(m->params, room, &e))
		CR_ASSERT(e.text[0]);
	else
		field_walk(m->params, room, check_member, NULL);
	for (size_t i = end; i < sizeof(room); i++)
		CR_ASSERT(room[i] == GUARD);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *params;

	if (!size)
		return 0;
	params = json_loadb((const char *)data + 1, size - 1,
			    JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
	if (params)
		try_params(method_at(data[0]), params);
	json_decref(params);
	return 0;
}
