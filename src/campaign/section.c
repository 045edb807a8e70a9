/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sections: look-up, conversion by the tables of keys.c, messages; YAML into
 * sections, and settings.
 */
#include "campaign/section.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/assert.h"
#include "base/field.h"
#include "base/nearest.h"
#include "campaign/campaign.h"

/* Room for any spot_path(). */
#define SECTION_PATH 96u

/* An empty section at @at with what is below it; NULL when out of memory. */
static struct section *section_new(const struct campaign_file *file,
				   const struct spot *at)
{
	const struct field *keys = at->in ? at->key->members : campaign_keys;
	struct section *s;
	size_t n = 0;

	while (!field_is_end(&keys[n]))
		n++;
	s = calloc(1, sizeof(*s) + n * sizeof(s->values[0]));
	if (!s)
		return NULL;
	s->file = file;
	s->keys = keys;
	s->at = *at;
	for (size_t i = 0; i < n; i++) {
		if (keys[i].kind != FIELD_OBJECT)
			continue;
		s->values[i].below =
			section_new(file, &(struct spot){ s, &keys[i], -1 });
		if (!s->values[i].below) {
			section_free(s);
			return NULL;
		}
	}
	return s;
}

/* Free what is in @v, so that its key is absent. A section below is freed,
 * too: the caller puts an empty one in its place. */
static void section_free_value(struct value *v)
{
	for (unsigned i = 0; i < v->count; i++)
		section_free_value(&v->entries[i]);
	free(v->entries);
	free(v->texts);
	free(v->text);
	section_free(v->below);
	*v = (struct value){ 0 };
}

void section_free(struct section *s)
{
	if (!s)
		return;
	for (unsigned i = 0; s->keys[i].name; i++)
		section_free_value(&s->values[i]);
	free(s);
}

static const char *spot_path(const struct spot *at, char *buf)
{
	size_t n;

	buf[0] = '\0';
	if (!at->in)
		return buf;
	n = strlen(spot_path(&at->in->at, buf));
	n += (size_t)snprintf(buf + n, SECTION_PATH - n, "%s%s", n ? "." : "",
			      at->key->name);
	if (at->entry >= 0)
		(void)snprintf(buf + n, SECTION_PATH - n, "[%d]", at->entry);
	return buf;
}

/* "file:line: message", or "--set KEY=VALUE: message". */
__attribute__((format(printf, 3, 4))) static int campaign_fail(
	const struct campaign_file *f, unsigned line, const char *fmt, ...)
{
	char text[450];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (f->setting)
		return cr_fail(f->err, -EINVAL, "%s: %s", f->name, text);
	return cr_fail(f->err, -EINVAL, "%s:%u: %s", f->name, line, text);
}

static const struct field *find_section_row(const struct campaign_file *f,
					    unsigned line,
					    const struct section *s,
					    const char *name)
{
	const struct field *k = field_find(s->keys, name);
	char path[SECTION_PATH], hint[300];

	if (k)
		return k;
	(void)spot_path(&s->at, path);
	(void)campaign_fail(f, line, "%s%sunknown key '%.64s'; %s", path,
			    *path ? ": " : "", name,
			    field_hint(s->keys, 0, name, hint, sizeof(hint)));
	return NULL;
}

static const struct field *key_of(const struct section *s, const char *name)
{
	const struct field *k = field_find(s->keys, name);

	CR_ASSERT(k);
	return k;
}

const struct value *section_get(const struct section *s, const char *name)
{
	return &s->values[key_of(s, name) - s->keys];
}

bool section_has(const struct section *s, const char *name)
{
	return section_get(s, name)->line != 0;
}

const char *section_text(const struct section *s, const char *name)
{
	return section_get(s, name)->text;
}

bool section_any(const struct section *s)
{
	for (unsigned i = 0; s->keys[i].name; i++)
		if (s->keys[i].kind == FIELD_OBJECT
			    ? section_any(s->values[i].below)
			    : s->values[i].line != 0)
			return true;
	return false;
}

struct section *section_below(const struct section *s, const char *name)
{
	return section_get(s, name)->below;
}

int campaign_no_memory(const struct campaign_file *f)
{
	return cr_fail(f->err, -ENOMEM, "%s: out of memory", f->name);
}

/* Where key @name of @s, or what is around it, is said: *@file and the line. */
static unsigned place_of(const struct section *s, const char *name,
			 const struct campaign_file **file)
{
	if (name && section_has(s, name)) {
		*file = section_get(s, name)->from;
		return section_get(s, name)->line;
	}
	while (!s->line && s->at.in)
		s = s->at.in;
	*file = s->file;
	return s->line;
}

unsigned section_line(const struct section *s, const char *name)
{
	const struct campaign_file *file;

	return place_of(s, name, &file);
}

int section_fail(const struct section *s, const char *name, const char *fmt,
		 ...)
{
	char path[SECTION_PATH], text[400];
	const struct campaign_file *file;
	unsigned line = place_of(s, name, &file);
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	(void)spot_path(&s->at, path);
	return campaign_fail(file, line, "%s%s%s", path, *path ? ": " : "",
			     text);
}

int section_fail_entry(struct section *s, const char *name, unsigned i,
		       const char *text)
{
	const struct value *v = &section_get(s, name)->entries[i];
	const struct spot at = { s, key_of(s, name), (int)i };
	char path[SECTION_PATH];

	return campaign_fail(v->from, v->line, "%s: %s", spot_path(&at, path),
			     text);
}

int section_check_complete(const struct section *s)
{
	for (unsigned i = 0; s->keys[i].name; i++)
		if (s->keys[i].required && !s->values[i].line)
			return section_fail(s, NULL, "'%s' is missing",
					    s->keys[i].name);
	return 0;
}

static int read_section_member(const struct section *s, const struct field *k,
			       const struct value *v, void *out)
{
	struct cr_err e;
	int rc = 0;

	if (v->line && k->with && !section_has(s, k->with))
		return section_fail(s, k->name, "%s needs %s", k->name,
				    k->with);
	field_default(k, out);
	if (v->text && k->read)
		rc = k->read(v->text, (unsigned char *)out + k->offset, &e);
	else if (v->text)
		rc = field_set(k, out, v->text, &e);
	return rc ? section_fail(s, k->name, "%.400s", e.text) : 0;
}

int section_values(struct section *s, void *out)
{
	int rc = 0;

	for (unsigned i = 0; s->keys[i].name && !rc; i++) {
		const struct field *k = &s->keys[i];
		struct value *v = &s->values[i];
		void *at = (unsigned char *)out + k->offset;

		if (k->kind <= FIELD_TEXT)
			rc = read_section_member(s, k, v, out);
		else if (k->kind == FIELD_OBJECT && k->size)
			rc = section_values(v->below, at);
		if (k->kind != FIELD_TEXTS || !k->size)
			continue;
		/* a conversation's is read twice: both of its directions have
		 * it */
		if (!v->texts)
			v->texts = calloc(v->count + 1, sizeof(*v->texts));
		if (!v->texts)
			return campaign_no_memory(s->file);
		for (unsigned n = 0; n < v->count; n++)
			v->texts[n] = v->entries[n].text;
		*(struct campaign_texts *)at =
			(struct campaign_texts){ v->texts, v->count };
	}
	return rc;
}

int section_check_model(const struct section *s, int64_t model,
			const char *what)
{
	const char *first = s->keys[0].name;
	char word[64];

	if (!what)
		(void)snprintf(word, sizeof(word), "%s=%s", first,
			       s->keys[0].names[model]);
	for (unsigned i = 0; s->keys[i].name; i++) {
		const struct field *k = &s->keys[i];
		bool has = k->kind == FIELD_OBJECT
				   ? section_any(s->values[i].below)
				   : s->values[i].line != 0;

		if (has && k->models && !(k->models >> model & 1))
			return section_fail(s, k->name,
					    "%s does not belong to %s", k->name,
					    what ? what : word);
		if (!has && k->needed_by >> model & 1)
			return section_fail(s, first, "%s needs '%s'",
					    what ? what : word, k->name);
	}
	return 0;
}

struct campaign_range section_range(const struct section *s, const char *name)
{
	const struct field *k = key_of(s, name);
	const char *text = section_text(s, name);
	int64_t v[2] = { k->dflt, k->dflt };
	int rc = text ? field_parse(k, text, v, NULL) : 0;

	CR_ASSERT(!rc);
	return (struct campaign_range){ v[0], v[1] };
}

/*
 * --- YAML ---
 *
 * Recursive descent over libyaml's events, led by the tables of keys.c: depth
 * and width are bounded by them, whatever the file says.
 *
 * libcyaml, which loads structs from tables, is not for this: its messages name
 * no line but in its log, it knows neither units nor the nearest name, and a
 * value cannot bring a message of its own.
 */

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

static int next_event(struct reader *r)
{
	yaml_parser_t *p = &r->parser;

	yaml_event_delete(&r->event);
	memset(&r->event, 0, sizeof(r->event));
	if (!yaml_parser_parse(p, &r->event)) {
		if (p->error == YAML_MEMORY_ERROR)
			return campaign_no_memory(r->file);
		return campaign_fail(
			r->file, (unsigned)p->problem_mark.line + 1,
			"not YAML: %s%s%s",
			p->problem ? p->problem : "unreadable",
			p->context ? ", " : "", p->context ? p->context : "");
	}
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

static int read_section(struct reader *r, struct section *s);
static int read_sequence(struct reader *r, const struct spot *at,
			 struct value *v);

/* The current event begins the value of @at. */
static int read_key_value(struct reader *r, const struct spot *at,
			  struct value *v)
{
	bool sections = at->key->kind == FIELD_LIST;
	bool list = (sections || at->key->kind == FIELD_TEXTS) && at->entry < 0;
	yaml_event_type_t needed = YAML_SCALAR_EVENT;
	char path[SECTION_PATH];
	const char *text;
	size_t n;
	int rc;

	if (list)
		needed = YAML_SEQUENCE_START_EVENT;
	else if (sections || at->key->kind == FIELD_OBJECT)
		needed = YAML_MAPPING_START_EVENT;
	rc = check_key_kind(r, at, needed);
	if (rc)
		return rc;
	v->line = line_of(r);
	v->from = r->file;
	if (list)
		return read_sequence(r, at, v);
	if (v->below)
		return read_section(r, v->below);
	/* texts end at their NUL everywhere else */
	text = (const char *)r->event.data.scalar.value;
	n = r->event.data.scalar.length;
	if (n > MAX_BYTES || memchr(text, '\0', n))
		return campaign_fail(r->file, line_of(r), "%s: unusable text",
				     path_of(at, path));
	v->text = strdup(text);
	return v->text ? 0 : campaign_no_memory(r->file);
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
	if (at->key->kind == FIELD_LIST)
		grown->below = section_new(r->file, at);
	return at->key->kind == FIELD_TEXTS || grown->below
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
static const struct field *find_section_key(const struct reader *r,
					    const struct section *s)
{
	const char *name = (const char *)r->event.data.scalar.value;
	bool word = r->event.type == YAML_SCALAR_EVENT;
	const struct field *k;
	char path[SECTION_PATH];

	k = word ? find_section_row(r->file, line_of(r), s, name) : NULL;
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
		at.key = find_section_key(r, s);
		rc = at.key ? next_event(r) : -EINVAL;
		if (!rc)
			rc = read_key_value(r, &at,
					    &s->values[at.key - s->keys]);
		if (rc)
			return rc;
	}
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
		rc = next_event(&r); /* document end */
	if (!rc)
		rc = next_event(&r);
	if (!rc && r.event.type != YAML_STREAM_END_EVENT)
		rc = campaign_fail(f, line_of(&r), "a second document; a %s",
				   at->in ? "setting has one value"
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

/*
 * --- settings ---
 *
 * One value of a campaign, in the place of what its file says. Only
 * what was written is changed, before anybody reads it: what it may be is
 * judged where the file's own values are.
 */

/* Where a setting stands. */
struct walk {
	const struct campaign_file *file; /* the setting's */
	const char *path;		  /* what is left of it */
	struct spot at;
	struct value *value;
};

/* The path begins with a key of @w->at.in; step on it. */
static int step_to_key(struct walk *w)
{
	size_t n = strcspn(w->path, ".[");
	char name[65];

	(void)snprintf(name, sizeof(name), "%.*s", (int)n, w->path);
	w->at.key = find_section_row(w->file, 0, w->at.in, name);
	if (!w->at.key)
		return -EINVAL;
	w->value = &w->at.in->values[w->at.key - w->at.in->keys];
	w->at.entry = -1;
	w->path += n;
	return 0;
}

/* "[2]" of a list. */
static int step_by_number(struct walk *w)
{
	const char *name = w->at.key->name;
	char *end;
	unsigned long i = strtoul(w->path + 1, &end, 10);

	if (end == w->path + 1 || *end != ']')
		return campaign_fail(w->file, 0,
				     "%s[: needs a number from 0, as in %s[0]",
				     name, name);
	if (i >= w->value->count)
		return campaign_fail(
			w->file, 0,
			"%s: has %u, counted from 0; there is no [%lu]", name,
			w->value->count, i);
	w->at.entry = (int)i;
	w->path = end + 1;
	return 0;
}

/* ".speech" of a list of sections, as reports name them. Names may have dots:
 * the longest that fits. */
static int step_by_name(struct walk *w)
{
	char made[MAX_ENTRIES][CAMPAIGN_NAME_MAX], name[65], hint[300];
	const char *names[MAX_ENTRIES + 1] = { NULL };
	size_t longest = 0;

	for (unsigned i = 0; i < w->value->count && i < MAX_ENTRIES; i++) {
		const char *given =
			section_text(w->value->entries[i].below, "name");
		size_t n;

		(void)snprintf(made[i], sizeof(made[i]), "flow%u", i + 1);
		names[i] = given ? given : made[i];
		n = strlen(names[i]);
		if (n <= longest || strncmp(w->path + 1, names[i], n) != 0 ||
		    (w->path[1 + n] && w->path[1 + n] != '.'))
			continue;
		longest = n;
		w->at.entry = (int)i;
	}
	if (!longest) {
		(void)snprintf(name, sizeof(name), "%.*s",
			       (int)strcspn(w->path + 1, "."), w->path + 1);
		return campaign_fail(
			w->file, 0, "%s: there is no '%s'; %s", w->at.key->name,
			name, nearest_hint(name, names, hint, sizeof(hint)));
	}
	w->path += 1 + longest;
	return 0;
}

static int step_to_entry(struct walk *w)
{
	int rc;

	if (*w->path == '[')
		rc = step_by_number(w);
	else if (w->at.key->kind == FIELD_LIST)
		rc = step_by_name(w);
	else
		rc = campaign_fail(
			w->file, 0,
			"%s: is a list of values; there is nothing below it",
			w->at.key->name);
	if (!rc)
		w->value = &w->value->entries[w->at.entry];
	return rc;
}

/* To the end of the path. Sections that the file does not have begin here. */
static int walk_along(struct walk *w)
{
	int rc = step_to_key(w);

	while (!rc && *w->path) {
		struct section *below = w->value->below;

		if (w->at.entry < 0 && (w->at.key->kind == FIELD_LIST ||
					w->at.key->kind == FIELD_TEXTS)) {
			rc = step_to_entry(w);
			continue;
		}
		if (!below || *w->path != '.')
			return campaign_fail(
				w->file, 0,
				"%s: there is nothing below it, such as "
				"'%.64s'",
				w->at.key->name, w->path);
		if (!below->line) {
			below->file = w->file;
			below->line = 1;
		}
		w->at.in = below;
		w->path++;
		rc = step_to_key(w);
	}
	return rc;
}

static int put_set_value(const struct walk *w, const char *text)
{
	struct value *v = w->value;
	bool section = v->below != NULL;

	if (!*text && w->at.entry >= 0)
		return campaign_fail(
			w->file, 0,
			"an entry of a list cannot be taken away; write "
			"the whole list");
	section_free_value(v);
	if (section) {
		v->below = section_new(w->file, &w->at);
		if (!v->below)
			return campaign_no_memory(w->file);
	}
	return *text ? read_document(w->file, text, strlen(text), &w->at, v)
		     : 0;
}

int section_set(struct section *top, const struct campaign_file *f,
		const char *setting)
{
	const char *equals = strchr(setting, '=');
	struct walk w = { .file = f, .at = { .in = top } };
	char *path;
	int rc;

	if (!equals || equals == setting)
		return campaign_fail(f, 0,
				     "needs KEY=VALUE, such as "
				     "flows.speech.load=110%%");
	path = strndup(setting, (size_t)(equals - setting));
	if (!path)
		return campaign_no_memory(f);
	w.path = path;
	rc = walk_along(&w);
	if (!rc)
		rc = put_set_value(&w, equals + 1);
	free(path);
	return rc;
}
