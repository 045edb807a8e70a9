/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sections: look-up, conversion by the tables of keys.c, messages.
 */
#include "campaign/section.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/nearest.h"
#include "base/options.h"

#define MAX_KEYS 32u /* of one section */

struct section *section_new(const struct campaign_file *file,
			    const struct section *around, const struct key *key,
			    int entry)
{
	const struct key *keys = key ? key->below : campaign_keys;
	struct section *s;
	size_t n = 0;

	while (keys[n].opt.name)
		n++;
	s = calloc(1, sizeof(*s) + n * sizeof(s->values[0]));
	if (!s)
		return NULL;
	s->file = file;
	s->around = around;
	s->keys = keys;
	s->key = key;
	s->entry = entry;
	for (size_t i = 0; i < n; i++) {
		if (keys[i].kind != KEY_SECTION)
			continue;
		s->values[i].below = section_new(file, s, &keys[i], -1);
		if (!s->values[i].below) {
			section_free(s);
			return NULL;
		}
	}
	return s;
}

void section_free_value(struct value *v)
{
	for (unsigned i = 0; i < v->count; i++)
		section_free_value(&v->entries[i]);
	free(v->entries);
	free(v->text);
	section_free(v->below);
	*v = (struct value){ 0 };
}

void section_free(struct section *s)
{
	if (!s)
		return;
	for (unsigned i = 0; s->keys[i].opt.name; i++)
		section_free_value(&s->values[i]);
	free(s);
}

const char *section_path(const struct section *s, char *buf)
{
	size_t n;

	buf[0] = '\0';
	if (!s->around)
		return buf;
	n = strlen(section_path(s->around, buf));
	n += (size_t)snprintf(buf + n, SECTION_PATH - n, "%s%s", n ? "." : "",
			      s->key->opt.name);
	if (s->entry >= 0)
		(void)snprintf(buf + n, SECTION_PATH - n, "[%d]", s->entry);
	return buf;
}

static unsigned index_of(const struct section *s, const char *name)
{
	unsigned i = 0;

	while (s->keys[i].opt.name && strcmp(s->keys[i].opt.name, name) != 0)
		i++;
	CR_ASSERT(s->keys[i].opt.name);
	return i;
}

const struct value *section_get(const struct section *s, const char *name)
{
	return &s->values[index_of(s, name)];
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
	for (unsigned i = 0; s->keys[i].opt.name; i++)
		if (s->keys[i].kind == KEY_SECTION
			    ? section_any(s->values[i].below)
			    : s->values[i].line != 0)
			return true;
	return false;
}

const struct section *section_below(const struct section *s, const char *name)
{
	return section_get(s, name)->below;
}

/* Where something is said. */
struct place {
	const struct campaign_file *file;
	unsigned line;
};

static struct place place_of(const struct section *s, const char *name)
{
	if (name && section_has(s, name)) {
		const struct value *v = section_get(s, name);

		return (struct place){ v->from, v->line };
	}
	while (!s->line && s->around)
		s = s->around;
	return (struct place){ s->file, s->line };
}

static int fail_at(struct place at, const char *path, const char *text)
{
	const char *colon = *path ? ": " : "";

	if (at.file->setting)
		return cr_fail(at.file->err, -EINVAL, "%s: %s%s%s",
			       at.file->name, path, colon, text);
	return cr_fail(at.file->err, -EINVAL, "%s:%u: %s%s%s", at.file->name,
		       at.line, path, colon, text);
}

unsigned section_line(const struct section *s, const char *name)
{
	return place_of(s, name).line;
}

int section_fail(const struct section *s, const char *name, const char *fmt,
		 ...)
{
	char path[SECTION_PATH], text[400];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return fail_at(place_of(s, name), section_path(s, path), text);
}

int section_fail_entry(const struct section *s, const char *name, unsigned i,
		       const char *text)
{
	char path[SECTION_PATH];
	const struct value *v = &section_get(s, name)->entries[i];
	size_t n = strlen(section_path(s, path));

	(void)snprintf(path + n, sizeof(path) - n, "%s%s[%u]", n ? "." : "",
		       name, i);
	return fail_at((struct place){ v->from, v->line }, path, text);
}

int section_check_complete(const struct section *s)
{
	for (unsigned i = 0; s->keys[i].opt.name; i++)
		if (s->keys[i].needed && !s->values[i].line)
			return section_fail(s, NULL, "'%s' is missing",
					    s->keys[i].opt.name);
	return 0;
}

const char *section_key_hint(const struct section *s, const char *name,
			     char *buf, size_t size)
{
	const char *names[MAX_KEYS + 1] = { NULL };

	for (unsigned i = 0; s->keys[i].opt.name && i < MAX_KEYS; i++)
		names[i] = s->keys[i].opt.name;
	return nearest_hint(name, names, buf, size);
}

/* Members are int64_t, or what else a struct of another module has. */
static void put(const struct key *k, int64_t value, void *out)
{
	void *member = (unsigned char *)out + k->opt.offset;

	if (k->bytes == sizeof(int64_t))
		*(int64_t *)member = value;
	else if (k->bytes == sizeof(unsigned))
		*(unsigned *)member = (unsigned)value;
	else if (k->bytes)
		*(bool *)member = value != 0;
}

int section_values(const struct section *s, void *out)
{
	struct cr_err e;
	int64_t v;

	for (unsigned i = 0; s->keys[i].opt.name; i++) {
		const struct key *k = &s->keys[i];

		if (k->kind != KEY_VALUE)
			continue;
		v = k->opt.dflt;
		if (s->values[i].text &&
		    option_parse(&k->opt, s->values[i].text, &v, &e))
			return section_fail(s, k->opt.name, "%.350s", e.text);
		put(k, v, out);
	}
	return 0;
}

int64_t section_number(const struct section *s, const char *name)
{
	const struct key *k = &s->keys[index_of(s, name)];
	const char *text = section_text(s, name);
	int64_t v = k->opt.dflt;

	CR_ASSERT(k->kind == KEY_VALUE);
	CR_ASSERT(!text || option_parse(&k->opt, text, &v, NULL) == 0);
	return v;
}

static int copy(const struct section *s, const char *text, char **out)
{
	char *made = strdup(text);

	if (!made)
		return cr_fail(s->file->err, -ENOMEM, "%s: out of memory",
			       s->file->name);
	*out = made;
	return 0;
}

int section_copy(const struct section *s, const char *name, char **out)
{
	const char *text = section_text(s, name);

	return text ? copy(s, text, out) : 0;
}

int section_copy_list(const struct section *s, const char *name, char ***out,
		      unsigned *count)
{
	const struct value *v = section_get(s, name);
	int rc = 0;

	if (!v->count)
		return 0;
	*out = calloc(v->count, sizeof(**out));
	if (!*out)
		return cr_fail(s->file->err, -ENOMEM, "%s: out of memory",
			       s->file->name);
	for (unsigned i = 0; i < v->count && !rc; i++) {
		rc = copy(s, v->entries[i].text, &(*out)[i]);
		*count += !rc;
	}
	return rc;
}
