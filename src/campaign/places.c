/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recursive descent over libyaml's event stream, led by the libcyaml schema:
 * depth and width are bounded by the schema, whatever the file says.
 */
#include "campaign/places.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/nearest.h"

#define MAX_KEYS 32u /* of one mapping of the schema */

struct walker {
	struct places *places;
	yaml_parser_t parser;
	yaml_event_t event; /* the current one; empty when type is NO_EVENT */
	struct cr_err *err;
};

/* Where the walk is: what the schema says and the way there. */
struct spot {
	const cyaml_schema_value_t *schema;
	char path[PLACE_MAX];
};

static unsigned line_of(const struct walker *w)
{
	return (unsigned)w->event.start_mark.line + 1;
}

static int bad_yaml(struct walker *w)
{
	const yaml_parser_t *p = &w->parser;

	if (p->error == YAML_MEMORY_ERROR)
		return cr_fail(w->err, -ENOMEM, "%s: out of memory",
			       w->places->file);
	return cr_fail(w->err, -EINVAL, "%s:%zu: not YAML: %s%s%s",
		       w->places->file, p->problem_mark.line + 1,
		       p->problem ? p->problem : "unreadable",
		       p->context ? ", " : "", p->context ? p->context : "");
}

static int next(struct walker *w)
{
	yaml_event_delete(&w->event);
	memset(&w->event, 0, sizeof(w->event));
	if (!yaml_parser_parse(&w->parser, &w->event))
		return bad_yaml(w);
	if (w->event.type == YAML_ALIAS_EVENT)
		return cr_fail(w->err, -EINVAL,
			       "%s:%u: aliases (*name) are not supported; "
			       "write the values out",
			       w->places->file, line_of(w));
	return 0;
}

static int remember(struct walker *w, const char *path)
{
	struct places *p = w->places;
	struct place *grown;
	size_t room = p->room ? 2 * p->room : 64;

	if (p->count == p->room) {
		grown = realloc(p->items, room * sizeof(*grown));
		if (!grown)
			return cr_fail(w->err, -ENOMEM, "%s: out of memory",
				       p->file);
		p->items = grown;
		p->room = room;
	}
	(void)snprintf(p->items[p->count].path, PLACE_MAX, "%s", path);
	p->items[p->count++].line = line_of(w);
	return 0;
}

static const char *kind_name(const cyaml_schema_value_t *schema)
{
	if (schema->type == CYAML_MAPPING)
		return "a mapping (key: value lines)";
	return schema->type == CYAML_SEQUENCE ? "a list" : "a single value";
}

static const char *event_name(yaml_event_type_t type)
{
	if (type == YAML_MAPPING_START_EVENT)
		return "a mapping";
	return type == YAML_SEQUENCE_START_EVENT ? "a list" : "a single value";
}

static int wrong_kind(struct walker *w, const struct spot *at)
{
	return cr_fail(w->err, -EINVAL, "%s:%u: %s: needs %s, not %s",
		       w->places->file, line_of(w),
		       at->path[0] ? at->path : "the file",
		       kind_name(at->schema), event_name(w->event.type));
}

static int walk_value(struct walker *w, const struct spot *at);

static int walk_list(struct walker *w, const struct spot *at)
{
	unsigned line = line_of(w), n = 0;
	struct spot entry = { .schema = at->schema->sequence.entry };
	int rc;

	for (;; n++) {
		rc = next(w);
		if (rc)
			return rc;
		if (w->event.type == YAML_SEQUENCE_END_EVENT)
			break;
		if (n >= at->schema->sequence.max)
			return cr_fail(w->err, -EINVAL,
				       "%s:%u: %s: more than %u entries",
				       w->places->file, line_of(w), at->path,
				       at->schema->sequence.max);
		(void)snprintf(entry.path, sizeof(entry.path), "%.70s[%u]",
			       at->path, n);
		rc = walk_value(w, &entry);
		if (rc)
			return rc;
	}
	if (n < at->schema->sequence.min)
		return cr_fail(w->err, -EINVAL, "%s:%u: %s: needs at least %u",
			       w->places->file, line, at->path,
			       at->schema->sequence.min);
	return 0;
}

static int unknown_key(struct walker *w, const struct spot *at, const char *key)
{
	const struct cyaml_schema_field *f = at->schema->mapping.fields;
	const char *names[MAX_KEYS + 1] = { NULL };
	char hint[300];

	for (unsigned n = 0; f->key && n < MAX_KEYS; f++)
		names[n++] = f->key;
	return cr_fail(w->err, -EINVAL, "%s:%u: %s%sunknown key '%.64s'; %s",
		       w->places->file, line_of(w), at->path,
		       at->path[0] ? ": " : "", key,
		       nearest_hint(key, names, hint, sizeof(hint)));
}

/* The current event is a key: find its field and mark it as seen. */
static int find_key(struct walker *w, const struct spot *at, uint64_t *seen,
		    struct spot *below)
{
	const struct cyaml_schema_field *f = at->schema->mapping.fields;
	const struct cyaml_schema_field *first = f;
	const char *key = (const char *)w->event.data.scalar.value;

	while (f->key && strcmp(f->key, key) != 0)
		f++;
	if (!f->key)
		return unknown_key(w, at, key);
	if (*seen >> (f - first) & 1)
		return cr_fail(w->err, -EINVAL, "%s:%u: %s%s'%s' given twice",
			       w->places->file, line_of(w), at->path,
			       at->path[0] ? ": " : "", key);
	*seen |= UINT64_C(1) << (f - first);
	below->schema = &f->value;
	(void)snprintf(below->path, sizeof(below->path), "%.60s%s%.30s",
		       at->path, at->path[0] ? "." : "", key);
	return 0;
}

static int missing_keys(struct walker *w, const struct spot *at, unsigned line,
			uint64_t seen)
{
	const struct cyaml_schema_field *f = at->schema->mapping.fields;

	for (unsigned i = 0; f[i].key; i++)
		if (!(seen >> i & 1) &&
		    !(f[i].value.flags & CYAML_FLAG_OPTIONAL))
			return cr_fail(w->err, -EINVAL,
				       "%s:%u: %s%s'%s' is missing",
				       w->places->file, line, at->path,
				       at->path[0] ? ": " : "", f[i].key);
	return 0;
}

static int walk_mapping(struct walker *w, const struct spot *at)
{
	unsigned line = line_of(w);
	struct spot below;
	uint64_t seen = 0;
	int rc;

	for (;;) {
		rc = next(w);
		if (rc)
			return rc;
		if (w->event.type == YAML_MAPPING_END_EVENT)
			return missing_keys(w, at, line, seen);
		if (w->event.type != YAML_SCALAR_EVENT)
			return cr_fail(w->err, -EINVAL,
				       "%s:%u: %s: a key must be a word",
				       w->places->file, line_of(w), at->path);
		rc = find_key(w, at, &seen, &below);
		if (!rc)
			rc = remember(w, below.path);
		if (!rc)
			rc = next(w);
		if (!rc)
			rc = walk_value(w, &below);
		if (rc)
			return rc;
	}
}

/* A scalar must be free of NUL: libcyaml would cut it there. */
static int walk_scalar(struct walker *w, const struct spot *at)
{
	size_t n = w->event.data.scalar.length;

	if (n > at->schema->string.max ||
	    memchr(w->event.data.scalar.value, '\0', n))
		return cr_fail(w->err, -EINVAL, "%s:%u: %s: unusable text",
			       w->places->file, line_of(w), at->path);
	return 0;
}

/* The current event begins a value. */
static int walk_value(struct walker *w, const struct spot *at)
{
	yaml_event_type_t type = w->event.type;
	int rc = remember(w, at->path);

	if (rc)
		return rc;
	if (at->schema->type == CYAML_STRING && type == YAML_SCALAR_EVENT)
		return walk_scalar(w, at);
	if (at->schema->type == CYAML_MAPPING &&
	    type == YAML_MAPPING_START_EVENT)
		return walk_mapping(w, at);
	if (at->schema->type == CYAML_SEQUENCE &&
	    type == YAML_SEQUENCE_START_EVENT)
		return walk_list(w, at);
	return wrong_kind(w, at);
}

static int walk_file(struct walker *w, const cyaml_schema_value_t *schema)
{
	struct spot top = { .schema = schema };
	int rc = next(w); /* stream start */

	if (!rc)
		rc = next(w); /* document start, or the end */
	if (!rc && w->event.type == YAML_STREAM_END_EVENT)
		return cr_fail(w->err, -EINVAL, "%s:1: the file is empty",
			       w->places->file);
	if (!rc)
		rc = next(w);
	if (!rc)
		rc = walk_value(w, &top);
	if (!rc)
		rc = next(w); /* document end */
	if (!rc)
		rc = next(w);
	if (!rc && w->event.type != YAML_STREAM_END_EVENT)
		return cr_fail(w->err, -EINVAL,
			       "%s:%u: a second document; one campaign a file",
			       w->places->file, line_of(w));
	return rc;
}

int places_read(struct places *p, const struct place_text *t,
		const cyaml_schema_value_t *schema, struct cr_err *e)
{
	struct walker w = { .places = p, .err = e };
	int rc;

	p->file = t->file;
	if (!yaml_parser_initialize(&w.parser))
		return cr_fail(e, -ENOMEM, "%s: out of memory", t->file);
	yaml_parser_set_input_string(&w.parser, (const unsigned char *)t->text,
				     t->bytes);
	rc = walk_file(&w, schema);
	yaml_event_delete(&w.event);
	yaml_parser_delete(&w.parser);
	return rc;
}

void places_fini(struct places *p)
{
	free(p->items);
	memset(p, 0, sizeof(*p));
}

/* "a.b" is around "a.b.c" and "a.b[1]"; "" around everything. */
static bool is_around(const char *outer, const char *path)
{
	size_t n = strlen(outer);

	return n == 0 ||
	       (strncmp(outer, path, n) == 0 &&
		(path[n] == '\0' || path[n] == '.' || path[n] == '['));
}

unsigned places_line(const struct places *p, const char *path)
{
	size_t best = 0;
	unsigned line = 1;

	for (size_t i = 0; i < p->count; i++) {
		size_t n = strlen(p->items[i].path);

		if (n < best || !is_around(p->items[i].path, path))
			continue;
		best = n;
		line = p->items[i].line;
	}
	return line;
}
