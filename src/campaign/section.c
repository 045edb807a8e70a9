/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sections: look-up, conversion by the tables of keys.c, messages; and
 * settings.
 */
#include "campaign/section.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/nearest.h"
#include "base/options.h"
#include "campaign/campaign.h"

struct section *section_new(const struct campaign_file *file,
			    const struct spot *at)
{
	const struct option_row *keys = at->in ? at->key->below : campaign_keys;
	struct section *s;
	size_t n = 0;

	while (!option_is_end(&keys[n]))
		n++;
	s = calloc(1, sizeof(*s) + n * sizeof(s->values[0]));
	if (!s)
		return NULL;
	s->file = file;
	s->keys = keys;
	s->at = *at;
	for (size_t i = 0; i < n; i++) {
		if (keys[i].kind != OPTION_SECTION)
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

const char *spot_path(const struct spot *at, char *buf)
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

const struct option_row *section_find(const struct campaign_file *f,
				      unsigned line, const struct section *s,
				      const char *name)
{
	const struct option_row *k = option_find(s->keys, name);
	char path[SECTION_PATH], hint[300];

	if (k)
		return k;
	(void)spot_path(&s->at, path);
	(void)campaign_fail(f, line, "%s%sunknown key '%.64s'; %s", path,
			    *path ? ": " : "", name,
			    option_hint(s->keys, 0, name, hint, sizeof(hint)));
	return NULL;
}

static const struct option_row *key_of(const struct section *s,
				       const char *name)
{
	const struct option_row *k = option_find(s->keys, name);

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
		if (s->keys[i].kind == OPTION_SECTION
			    ? section_any(s->values[i].below)
			    : s->values[i].line != 0)
			return true;
	return false;
}

struct section *section_below(const struct section *s, const char *name)
{
	return section_get(s, name)->below;
}

int campaign_fail(const struct campaign_file *f, unsigned line, const char *fmt,
		  ...)
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
		if (s->keys[i].flags & OPTION_NEEDED && !s->values[i].line)
			return section_fail(s, NULL, "'%s' is missing",
					    s->keys[i].name);
	return 0;
}

static int read_member(const struct section *s, const struct option_row *k,
		       const struct value *v, void *out)
{
	struct cr_err e;
	int rc = 0;

	if (v->line && k->with && !section_has(s, k->with))
		return section_fail(s, k->name, "%s needs %s", k->name,
				    k->with);
	option_reset(k, out);
	if (v->text && k->read)
		rc = k->read(v->text, (unsigned char *)out + k->offset, &e);
	else if (v->text)
		rc = option_set(k, out, v->text, &e);
	return rc ? section_fail(s, k->name, "%.400s", e.text) : 0;
}

static int read_list(const struct section *s, struct value *v,
		     struct campaign_texts *out)
{
	free(v->texts);
	v->texts = calloc(v->count + 1, sizeof(*v->texts));
	if (!v->texts)
		return campaign_no_memory(s->file);
	for (unsigned i = 0; i < v->count; i++)
		v->texts[i] = v->entries[i].text;
	*out = (struct campaign_texts){ v->texts, v->count };
	return 0;
}

int section_values(struct section *s, void *out)
{
	int rc = 0;

	for (unsigned i = 0; s->keys[i].name && !rc; i++) {
		const struct option_row *k = &s->keys[i];
		struct value *v = &s->values[i];
		void *at = (unsigned char *)out + k->offset;

		if (k->kind <= OPTION_TEXT)
			rc = read_member(s, k, v, out);
		else if (k->kind == OPTION_SECTION && k->bytes)
			rc = section_values(v->below, at);
		else if (k->kind == OPTION_LIST && k->bytes)
			rc = read_list(s, v, at);
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
		const struct option_row *k = &s->keys[i];
		bool has = k->kind == OPTION_SECTION
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
	const struct option_row *k = key_of(s, name);
	const char *text = section_text(s, name);
	int64_t v[2] = { k->dflt, k->dflt };
	int rc = text ? option_parse(k, text, v, NULL) : 0;

	CR_ASSERT(!rc);
	return (struct campaign_range){ v[0], v[1] };
}

int section_number_as(const struct section *s, const struct option_row *row,
		      int64_t *out)
{
	const char *text = section_text(s, row->name);
	struct cr_err e;

	if (!text || !option_parse(row, text, out, &e))
		return 0;
	return section_fail(s, row->name, "%.350s", e.text);
}

/*
 * --- settings ---
 *
 * One value of a campaign, in the place of what its file says. Only
 * what was written is changed, before anybody reads it: what it may be is
 * judged where the file's own values are.
 */

#define MAX_NAMES 256u /* of a list: as yaml.c has it */

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
	w->at.key = section_find(w->file, 0, w->at.in, name);
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
	char made[MAX_NAMES][CAMPAIGN_NAME_MAX], name[65], hint[300];
	const char *names[MAX_NAMES + 1] = { NULL };
	size_t longest = 0;

	for (unsigned i = 0; i < w->value->count && i < MAX_NAMES; i++) {
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
	else if (w->at.key->kind == OPTION_SECTIONS)
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

		if (w->at.entry < 0 && (w->at.key->kind == OPTION_SECTIONS ||
					w->at.key->kind == OPTION_LIST)) {
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
	return *text ? section_parse_value(w->file, text, &w->at, v) : 0;
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
