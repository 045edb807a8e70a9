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

/* Room for any section_path(). */
#define SECTION_PATH 96u

static bool is_list(const struct section *s)
{
	return s->key && s->entry < 0 &&
	       (s->key->kind == FIELD_LIST || s->key->kind == FIELD_TEXTS);
}

/* Has it keys? */
static bool has_keys(const struct section *s)
{
	return !s->key || s->key->kind == FIELD_OBJECT ||
	       (s->key->kind == FIELD_LIST && s->entry >= 0);
}

const struct field *section_keys(const struct section *s)
{
	return s->key ? s->key->members : campaign_keys;
}

void section_fini(struct section *s)
{
	for (unsigned i = 0; i < s->count; i++)
		section_fini(&s->below[i]);
	free(s->below);
	free(s->texts);
	free(s->text);
	s->below = NULL;
	s->texts = NULL;
	s->text = NULL;
	s->count = s->line = 0;
}

/* Give @s, which has nothing below it, @count entries or keys. False: out of
 * memory. */
static bool make_below(struct section *s, unsigned count)
{
	bool keys = has_keys(s);

	s->below = calloc(count, sizeof(*s->below));
	if (!s->below)
		return false;
	s->count = count;
	for (unsigned i = 0; i < count; i++)
		s->below[i] = (struct section){
			.file = s->file,
			.in = s,
			.key = keys ? &section_keys(s)[i] : s->key,
			.entry = keys ? -1 : (int)i,
		};
	return true;
}

/* Give @s, which is empty, its keys, and those of the sections below. */
static bool add_keys(struct section *s)
{
	unsigned n = 0;

	if (!has_keys(s))
		return true;
	while (!field_is_end(&section_keys(s)[n]))
		n++;
	if (!make_below(s, n))
		return false;
	for (unsigned i = 0; i < n; i++)
		if (!add_keys(&s->below[i]))
			return false;
	return true;
}

/* "flows[0].in", in @buf of SECTION_PATH; "" of the file. */
static const char *section_path(const struct section *s, char *buf)
{
	size_t n;

	buf[0] = '\0';
	if (!s->in)
		return buf;
	n = strlen(section_path(s->in, buf));
	if (s->entry >= 0)
		(void)snprintf(buf + n, SECTION_PATH - n, "[%d]", s->entry);
	else
		(void)snprintf(buf + n, SECTION_PATH - n, "%s%s", n ? "." : "",
			       s->key->name);
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

/* The same, with the place of @s. */
__attribute__((format(printf, 4, 5))) static int fail_within(
	const struct section *s, const struct campaign_file *f, unsigned line,
	const char *fmt, ...)
{
	char path[SECTION_PATH], text[400];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	(void)section_path(s, path);
	return campaign_fail(f, line, "%s%s%s", path, *path ? ": " : "", text);
}

/* Key @name of @s, or NULL with the error. */
static struct section *find_section_key(const struct campaign_file *f,
					unsigned line, const struct section *s,
					const char *name)
{
	const struct field *keys = section_keys(s);
	const struct field *k = field_find(keys, name);
	char hint[300];

	if (k)
		return &s->below[k - keys];
	(void)fail_within(s, f, line, "unknown key '%.64s'; %s", name,
			  field_hint(keys, 0, name, hint, sizeof(hint)));
	return NULL;
}

struct section *section_get(const struct section *s, const char *name)
{
	const struct field *k = field_find(section_keys(s), name);

	CR_ASSERT(k);
	return &s->below[k - section_keys(s)];
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
	if (!has_keys(s))
		return s->line != 0;
	for (unsigned i = 0; i < s->count; i++)
		if (section_any(&s->below[i]))
			return true;
	return false;
}

int campaign_no_memory(const struct campaign_file *f)
{
	return cr_fail(f->err, -ENOMEM, "%s: out of memory", f->name);
}

/* @s, or what is around it and is there. */
static const struct section *nearest_there(const struct section *s)
{
	while (!s->line && s->in)
		s = s->in;
	return s;
}

unsigned section_line(const struct section *s, const char *name)
{
	return nearest_there(name ? section_get(s, name) : s)->line;
}

int section_fail(const struct section *s, const char *name, const char *fmt,
		 ...)
{
	const struct section *at =
		nearest_there(name ? section_get(s, name) : s);
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return fail_within(s, at->file, at->line, "%s", text);
}

int section_check_complete(const struct section *s)
{
	for (unsigned i = 0; i < s->count; i++)
		if (s->below[i].key->required && !s->below[i].line)
			return section_fail(s, NULL, "'%s' is missing",
					    s->below[i].key->name);
	return 0;
}

static int read_section_member(const struct section *v, void *out)
{
	const struct field *k = v->key;
	struct cr_err e;
	int rc = 0;

	if (v->line && k->with && !section_has(v->in, k->with))
		return section_fail(v->in, k->name, "%s needs %s", k->name,
				    k->with);
	field_default(k, out);
	if (v->text && k->read)
		rc = k->read(v->text, field_at(k, out), &e);
	else if (v->text)
		rc = field_set(k, out, v->text, &e);
	return rc ? section_fail(v->in, k->name, "%.400s", e.text) : 0;
}

static int read_section_texts(struct section *v, struct campaign_texts *out)
{
	/* a two-way flow's is read twice: for each direction */
	if (!v->texts)
		v->texts = calloc(v->count + 1, sizeof(*v->texts));
	if (!v->texts)
		return campaign_no_memory(v->file);
	for (unsigned n = 0; n < v->count; n++)
		v->texts[n] = v->below[n].text;
	*out = (struct campaign_texts){ v->texts, v->count };
	return 0;
}

int section_values(struct section *s, void *out)
{
	int rc = 0;

	for (unsigned i = 0; i < s->count && !rc; i++) {
		struct section *v = &s->below[i];
		const struct field *k = v->key;

		if (k->kind <= FIELD_TEXT)
			rc = read_section_member(v, out);
		else if (k->kind == FIELD_OBJECT && k->size)
			rc = section_values(v, field_at(k, out));
		else if (k->kind == FIELD_TEXTS && k->size)
			rc = read_section_texts(v, field_at(k, out));
	}
	return rc;
}

int section_check_model(const struct section *s, int64_t model,
			const char *what)
{
	const struct field *first = section_keys(s);
	char word[64];

	if (!what)
		(void)snprintf(word, sizeof(word), "%s=%s", first->name,
			       first->names[model]);
	for (unsigned i = 0; i < s->count; i++) {
		const struct field *k = s->below[i].key;
		bool has = section_any(&s->below[i]);

		if (has && k->models && !(k->models >> model & 1))
			return section_fail(s, k->name,
					    "%s does not belong to %s", k->name,
					    what ? what : word);
		if (!has && k->needed_by >> model & 1)
			return section_fail(s, first->name, "%s needs '%s'",
					    what ? what : word, k->name);
	}
	return 0;
}

struct field_range section_range(const struct section *s, const char *name)
{
	const struct section *at = section_get(s, name);
	int64_t v[2] = { at->key->dflt, at->key->dflt };
	int rc = at->text ? field_parse(at->key, at->text, v, NULL) : 0;

	CR_ASSERT(!rc);
	return (struct field_range){ v[0], v[1] };
}

/*
 * --- YAML ---
 *
 * libyaml's nodes, visited as the tables of keys.c lead: depth and width are
 * bounded by them, whatever the file says.
 *
 * libcyaml, which loads structs from tables, is not for this: its messages name
 * no line but in its log, it knows neither units nor the nearest name, and a
 * value cannot bring a message of its own.
 */

#define MAX_ENTRIES 256u
#define MAX_BYTES 1024u /* of a text */

struct reader {
	const struct campaign_file *file;
	yaml_document_t doc;
	int last;      /* node that was visited last: they are numbered in the
			  order of the file, but an alias is what it stands for */
	unsigned line; /* of that */
};

static const char *const node_kinds[] = {
	[YAML_SCALAR_NODE] = "a single value",
	[YAML_SEQUENCE_NODE] = "a list",
	[YAML_MAPPING_NODE] = "a mapping",
};

static int refuse_alias(const struct campaign_file *f, unsigned line)
{
	return campaign_fail(f, line,
			     "aliases (*name) are not supported; write the "
			     "values out");
}

/* Node @id, the next one; NULL with the error. */
static const yaml_node_t *visit_node(struct reader *r, int id)
{
	const yaml_node_t *y = yaml_document_get_node(&r->doc, id);

	if (id <= r->last) {
		(void)refuse_alias(r->file, r->line);
		return NULL;
	}
	r->last = id;
	r->line = (unsigned)y->start_mark.line + 1;
	return y;
}

static int read_node(struct reader *r, int id, struct section *s);

/* Texts end at their NUL everywhere else. */
static int read_scalar(struct reader *r, const yaml_node_t *y,
		       struct section *s)
{
	const char *text = (const char *)y->data.scalar.value;
	size_t n = y->data.scalar.length;

	if (n > MAX_BYTES || memchr(text, '\0', n))
		return fail_within(s, r->file, r->line, "unusable text");
	s->text = strdup(text);
	return s->text ? 0 : campaign_no_memory(r->file);
}

static int read_sequence(struct reader *r, const yaml_node_t *y,
			 struct section *s)
{
	const yaml_node_item_t *item = y->data.sequence.items.start;
	size_t n = (size_t)(y->data.sequence.items.top - item);

	if (!n)
		return fail_within(s, r->file, s->line, "needs at least 1");
	if (n > MAX_ENTRIES)
		return fail_within(s, r->file, s->line, "more than %u entries",
				   MAX_ENTRIES);
	if (!make_below(s, (unsigned)n))
		return campaign_no_memory(r->file);
	for (size_t i = 0; i < n; i++) {
		int rc = add_keys(&s->below[i])
				 ? read_node(r, item[i], &s->below[i])
				 : campaign_no_memory(r->file);

		if (rc)
			return rc;
	}
	return 0;
}

static int read_mapping(struct reader *r, const yaml_node_t *y,
			struct section *s)
{
	const yaml_node_pair_t *end = y->data.mapping.pairs.top;

	for (const yaml_node_pair_t *p = y->data.mapping.pairs.start; p < end;
	     p++) {
		const yaml_node_t *key = visit_node(r, p->key);
		struct section *v;
		const char *name;
		int rc;

		if (!key)
			return -EINVAL;
		if (key->type != YAML_SCALAR_NODE)
			return fail_within(s, r->file, r->line,
					   "a key must be a word");
		name = (const char *)key->data.scalar.value;
		v = find_section_key(r->file, r->line, s, name);
		if (!v)
			return -EINVAL;
		if (v->line)
			return fail_within(s, r->file, r->line,
					   "'%s' given twice", name);
		rc = read_node(r, p->value, v);
		if (rc)
			return rc;
	}
	return section_check_complete(s);
}

/* Node @id into @s, which is empty. */
static int read_node(struct reader *r, int id, struct section *s)
{
	const yaml_node_t *y = visit_node(r, id);
	yaml_node_type_t needed = YAML_SCALAR_NODE;
	char path[SECTION_PATH];

	if (!y)
		return -EINVAL;
	if (is_list(s))
		needed = YAML_SEQUENCE_NODE;
	else if (has_keys(s))
		needed = YAML_MAPPING_NODE;
	if (y->type != needed)
		return campaign_fail(r->file, r->line, "%s: needs %s%s, not %s",
				     s->in ? section_path(s, path) : "the file",
				     node_kinds[needed],
				     needed == YAML_MAPPING_NODE
					     ? " (key: value lines)"
					     : "",
				     node_kinds[y->type]);
	s->file = r->file;
	s->line = r->line;
	if (needed == YAML_SEQUENCE_NODE)
		return read_sequence(r, y, s);
	return needed == YAML_MAPPING_NODE ? read_mapping(r, y, s)
					   : read_scalar(r, y, s);
}

/* The next document of @p, which may have no node any more. */
static int load_document(yaml_parser_t *p, struct reader *r)
{
	if (yaml_parser_load(p, &r->doc))
		return 0;
	memset(&r->doc, 0, sizeof(r->doc));
	if (p->error == YAML_MEMORY_ERROR)
		return campaign_no_memory(r->file);
	if (p->error == YAML_COMPOSER_ERROR)
		return refuse_alias(r->file,
				    (unsigned)p->problem_mark.line + 1);
	return campaign_fail(
		r->file, (unsigned)p->problem_mark.line + 1, "not YAML: %s%s%s",
		p->problem ? p->problem : "unreadable", p->context ? ", " : "",
		p->context ? p->context : "");
}

/* Read the one document of @text into @s, which is empty. */
static int read_document(const struct campaign_file *f, const char *text,
			 size_t bytes, struct section *s)
{
	struct reader r = { .file = f };
	yaml_parser_t parser;
	int rc;

	if (!yaml_parser_initialize(&parser))
		return campaign_no_memory(f);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text,
				     bytes);
	rc = load_document(&parser, &r);
	if (!rc && !yaml_document_get_root_node(&r.doc))
		rc = campaign_fail(f, 1,
				   s->in ? "no value" : "the file is empty");
	if (!rc)
		rc = read_node(&r, 1, s);
	yaml_document_delete(&r.doc);
	if (!rc)
		rc = load_document(&parser, &r);
	if (!rc && yaml_document_get_root_node(&r.doc))
		rc = campaign_fail(f, (unsigned)r.doc.start_mark.line + 1,
				   "a second document; a %s",
				   s->in ? "setting has one value"
					 : "file has one campaign");
	yaml_document_delete(&r.doc);
	yaml_parser_delete(&parser);
	return rc;
}

int section_parse(const struct campaign_file *f, const char *text, size_t bytes,
		  struct section *top)
{
	*top = (struct section){ .file = f, .entry = -1 };
	return add_keys(top) ? read_document(f, text, bytes, top)
			     : campaign_no_memory(f);
}

/*
 * --- settings ---
 *
 * One value of a campaign, in the place of what its file says. Only
 * what was written is changed, before anybody reads it: what it may be is
 * judged where the file's own values are.
 */

/* The key that @*path begins with; step over it. NULL with the error. */
static struct section *step_to_key(const struct campaign_file *f,
				   const struct section *s, const char **path)
{
	size_t n = strcspn(*path, ".[");
	char name[65];

	(void)snprintf(name, sizeof(name), "%.*s", (int)n, *path);
	*path += n;
	return find_section_key(f, 0, s, name);
}

/* "[2]" of a list. */
static struct section *step_by_number(const struct campaign_file *f,
				      const struct section *list,
				      const char **path)
{
	const char *name = list->key->name;
	char *end;
	unsigned long i = strtoul(*path + 1, &end, 10);

	if (end == *path + 1 || *end != ']') {
		(void)campaign_fail(f, 0,
				    "%s[: needs a number from 0, as in %s[0]",
				    name, name);
		return NULL;
	}
	if (i >= list->count) {
		(void)campaign_fail(
			f, 0, "%s: has %u, counted from 0; there is no [%lu]",
			name, list->count, i);
		return NULL;
	}
	*path = end + 1;
	return &list->below[i];
}

/* ".speech" of a list of sections, as reports name them. Names may have dots:
 * the longest that fits. */
static struct section *step_by_name(const struct campaign_file *f,
				    const struct section *list,
				    const char **path)
{
	char made[MAX_ENTRIES][CAMPAIGN_NAME_MAX], name[65], hint[300];
	const char *names[MAX_ENTRIES + 1] = { NULL }, *at = *path + 1;
	struct section *found = NULL;
	size_t longest = 0;

	for (unsigned i = 0; i < list->count; i++) {
		const char *given = section_text(&list->below[i], "name");
		size_t n;

		(void)snprintf(made[i], sizeof(made[i]), "flow%u", i + 1);
		names[i] = given ? given : made[i];
		n = strlen(names[i]);
		if (n <= longest || strncmp(at, names[i], n) != 0 ||
		    (at[n] && at[n] != '.'))
			continue;
		longest = n;
		found = &list->below[i];
	}
	*path = at + longest;
	if (found)
		return found;
	(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, "."), at);
	(void)campaign_fail(f, 0, "%s: there is no '%s'; %s", list->key->name,
			    name,
			    nearest_hint(name, names, hint, sizeof(hint)));
	return NULL;
}

/* Walk along @path from @s; NULL with the error. Sections that the file does
 * not have are made here. */
static struct section *walk_along(const struct campaign_file *f,
				  struct section *s, const char *path)
{
	s = step_to_key(f, s, &path);
	while (s && *path) {
		if (is_list(s) && *path == '[') {
			s = step_by_number(f, s, &path);
		} else if (is_list(s) && s->key->kind == FIELD_LIST) {
			s = step_by_name(f, s, &path);
		} else if (is_list(s)) {
			(void)campaign_fail(f, 0,
					    "%s: is a list of values; there is "
					    "nothing below it",
					    s->key->name);
			return NULL;
		} else if (!has_keys(s) || *path != '.') {
			(void)campaign_fail(f, 0,
					    "%s: there is nothing below it, "
					    "such as '%.64s'",
					    s->key->name, path);
			return NULL;
		} else {
			if (!s->line) {
				s->file = f;
				s->line = 1;
			}
			path++;
			s = step_to_key(f, s, &path);
		}
	}
	return s;
}

int section_set(struct section *top, const struct campaign_file *f,
		const char *setting)
{
	const char *equals = strchr(setting, '='), *text;
	struct section *s;
	char *path;

	if (!equals || equals == setting)
		return campaign_fail(f, 0,
				     "needs KEY=VALUE, such as "
				     "flows.speech.load=110%%");
	path = strndup(setting, (size_t)(equals - setting));
	if (!path)
		return campaign_no_memory(f);
	s = walk_along(f, top, path);
	free(path);
	text = equals + 1;
	if (!s)
		return -EINVAL;
	if (!*text && s->entry >= 0)
		return campaign_fail(
			f, 0,
			"an entry of a list cannot be taken away; write "
			"the whole list");
	section_fini(s);
	s->file = f;
	if (!add_keys(s))
		return campaign_no_memory(f);
	return *text ? read_document(f, text, strlen(text), s) : 0;
}
