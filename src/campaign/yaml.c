/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recursive descent over libyaml's events, led by the tables of keys.c: depth
 * and width are bounded by them, whatever the file says.
 *
 * libcyaml, which loads structs from tables, is not for this: its messages name
 * no line but in its log, it knows neither units nor the nearest name, and a
 * value cannot bring a message of its own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "campaign/section.h"

#define MAX_ENTRIES 256u
#define MAX_BYTES 1024u /* of a text */

struct reader {
	const struct campaign_file *file;
	yaml_parser_t parser;
	yaml_event_t
		event; /* the current one; empty when type is YAML_NO_EVENT */
};

static unsigned line_of(const struct reader *r)
{
	return (unsigned)r->event.start_mark.line + 1;
}

/* "flows[0].in", "the file". */
static const char *path_of(const struct spot *at, char *buf)
{
	if (at->in)
		return spot_path(at, buf);
	(void)snprintf(buf, SECTION_PATH, "the file");
	return buf;
}

static int bad_yaml(const struct reader *r)
{
	const yaml_parser_t *p = &r->parser;

	if (p->error == YAML_MEMORY_ERROR)
		return campaign_no_memory(r->file);
	return campaign_fail(
		r->file, (unsigned)p->problem_mark.line + 1, "not YAML: %s%s%s",
		p->problem ? p->problem : "unreadable", p->context ? ", " : "",
		p->context ? p->context : "");
}

static int next_event(struct reader *r)
{
	yaml_event_delete(&r->event);
	memset(&r->event, 0, sizeof(r->event));
	if (!yaml_parser_parse(&r->parser, &r->event))
		return bad_yaml(r);
	if (r->event.type == YAML_ALIAS_EVENT)
		return campaign_fail(
			r->file, line_of(r),
			"aliases (*name) are not supported; write the "
			"values out");
	return 0;
}

static const char *kind_name(yaml_event_type_t type)
{
	if (type == YAML_MAPPING_START_EVENT)
		return "a mapping";
	return type == YAML_SEQUENCE_START_EVENT ? "a list" : "a single value";
}

/* Must the current event begin what is expected of @at? */
static int check_key_kind(const struct reader *r, const struct spot *at,
			  yaml_event_type_t needed)
{
	char path[SECTION_PATH];

	if (r->event.type == needed)
		return 0;
	return campaign_fail(
		r->file, line_of(r), "%s: needs %s%s, not %s",
		path_of(at, path), kind_name(needed),
		needed == YAML_MAPPING_START_EVENT ? " (key: value lines)" : "",
		kind_name(r->event.type));
}

/* Texts end at their NUL everywhere else. */
static int read_scalar(struct reader *r, const struct spot *at, struct value *v)
{
	const char *text = (const char *)r->event.data.scalar.value;
	size_t n = r->event.data.scalar.length;
	char path[SECTION_PATH];

	if (n > MAX_BYTES || memchr(text, '\0', n))
		return campaign_fail(r->file, line_of(r), "%s: unusable text",
				     path_of(at, path));
	v->text = strdup(text);
	return v->text ? 0 : campaign_no_memory(r->file);
}

static int read_section(struct reader *r, struct section *s);
static int read_sequence(struct reader *r, const struct spot *at,
			 struct value *v);

/* The current event begins the value of @at. */
static int read_key_value(struct reader *r, const struct spot *at,
			  struct value *v)
{
	bool sections = at->key->kind == OPTION_SECTIONS;
	bool list = (sections || at->key->kind == OPTION_LIST) && at->entry < 0;
	yaml_event_type_t needed = YAML_SCALAR_EVENT;
	int rc;

	if (list)
		needed = YAML_SEQUENCE_START_EVENT;
	else if (sections || at->key->kind == OPTION_SECTION)
		needed = YAML_MAPPING_START_EVENT;
	rc = check_key_kind(r, at, needed);
	if (rc)
		return rc;
	v->line = line_of(r);
	v->from = r->file;
	if (list)
		return read_sequence(r, at, v);
	return v->below ? read_section(r, v->below) : read_scalar(r, at, v);
}

static int add_entry(struct reader *r, const struct spot *at, struct value *v)
{
	struct value *grown =
		realloc(v->entries, (v->count + 1) * sizeof(*grown));

	if (!grown)
		return campaign_no_memory(r->file);
	v->entries = grown;
	grown += v->count++;
	memset(grown, 0, sizeof(*grown));
	if (at->key->kind == OPTION_SECTIONS)
		grown->below = section_new(r->file, at);
	return at->key->kind == OPTION_LIST || grown->below
		       ? 0
		       : campaign_no_memory(r->file);
}

static int read_sequence(struct reader *r, const struct spot *at,
			 struct value *v)
{
	struct spot entry = *at;
	char path[SECTION_PATH];
	int rc;

	for (;;) {
		rc = next_event(r);
		if (rc)
			return rc;
		if (r->event.type == YAML_SEQUENCE_END_EVENT)
			break;
		if (v->count >= MAX_ENTRIES)
			return campaign_fail(r->file, line_of(r),
					     "%s: more than %u entries",
					     path_of(at, path), MAX_ENTRIES);
		entry.entry = (int)v->count;
		rc = add_entry(r, &entry, v);
		if (!rc)
			rc = read_key_value(r, &entry,
					    &v->entries[entry.entry]);
		if (rc)
			return rc;
	}
	if (!v->count)
		return campaign_fail(r->file, v->line, "%s: needs at least 1",
				     path_of(at, path));
	return 0;
}

/* The current event is a key; its row, or NULL with the error. */
static const struct option_row *find_key(const struct reader *r,
					 const struct section *s)
{
	const char *name = (const char *)r->event.data.scalar.value;
	bool word = r->event.type == YAML_SCALAR_EVENT;
	const struct option_row *k;
	char path[SECTION_PATH];

	k = word ? section_find(r->file, line_of(r), s, name) : NULL;
	if (word && (!k || !s->values[k - s->keys].line))
		return k;
	(void)spot_path(&s->at, path);
	if (word)
		(void)campaign_fail(r->file, line_of(r), "%s%s'%s' given twice",
				    path, *path ? ": " : "", name);
	else
		(void)campaign_fail(r->file, line_of(r),
				    "%s%sa key must be a word", path,
				    *path ? ": " : "");
	return NULL;
}

/* The current event begins the mapping of @s. */
static int read_section(struct reader *r, struct section *s)
{
	struct spot at = { .in = s, .entry = -1 };
	int rc;

	s->line = line_of(r);
	s->file = r->file;
	for (;;) {
		rc = next_event(r);
		if (rc)
			return rc;
		if (r->event.type == YAML_MAPPING_END_EVENT)
			return section_check_complete(s);
		at.key = find_key(r, s);
		rc = at.key ? next_event(r) : -EINVAL;
		if (!rc)
			rc = read_key_value(r, &at,
					    &s->values[at.key - s->keys]);
		if (rc)
			return rc;
	}
}

/* The end of the one document. */
static int read_end(struct reader *r, const char *what)
{
	int rc = next_event(r); /* document end */

	if (!rc)
		rc = next_event(r);
	if (!rc && r->event.type != YAML_STREAM_END_EVENT)
		return campaign_fail(r->file, line_of(r),
				     "a second document; a %s", what);
	return rc;
}

/* Read the one document of @text, which is a value as read_key_value() takes
 * it, or (no @at->in) the file: the section @v->below. */
static int read_document(const struct campaign_file *f, const char *text,
			 size_t bytes, const struct spot *at, struct value *v)
{
	struct reader r = { .file = f };
	int rc;

	if (!yaml_parser_initialize(&r.parser))
		return campaign_no_memory(f);
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)text,
				     bytes);
	rc = next_event(&r); /* stream start */
	if (!rc)
		rc = next_event(&r); /* document start, or the end */
	if (!rc && r.event.type == YAML_STREAM_END_EVENT)
		rc = campaign_fail(f, 1,
				   at->in ? "no value" : "the file is empty");
	if (!rc)
		rc = next_event(&r);
	if (!rc && !at->in)
		rc = check_key_kind(&r, at, YAML_MAPPING_START_EVENT);
	if (!rc)
		rc = at->in ? read_key_value(&r, at, v)
			    : read_section(&r, v->below);
	if (!rc)
		rc = read_end(&r, at->in ? "setting has one value"
					 : "file has one campaign");
	yaml_event_delete(&r.event);
	yaml_parser_delete(&r.parser);
	return rc;
}

int section_parse(const struct campaign_file *f, const char *text, size_t bytes,
		  struct section **top)
{
	static const struct spot file = { .entry = -1 };
	struct value v = { .below = section_new(f, &file) };
	int rc = v.below ? read_document(f, text, bytes, &file, &v)
			 : campaign_no_memory(f);

	if (rc)
		section_free(v.below);
	else
		*top = v.below;
	return rc;
}

int section_parse_value(const struct campaign_file *f, const char *text,
			const struct spot *at, struct value *v)
{
	return read_document(f, text, strlen(text), at, v);
}
