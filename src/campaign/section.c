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

#include "base/units.h"
#include "base/assert.h"
#include "base/nearest.h"
#include "base/options.h"
#include "campaign/campaign.h"

struct section *section_new(const struct campaign_file *file,
			    const struct section *around,
			    const struct option_row *key, int entry)
{
	const struct option_row *keys = key ? key->below : campaign_keys;
	struct section *s;
	size_t n = 0;

	while (!option_is_end(&keys[n]))
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
		if (keys[i].kind != OPTION_SECTION)
			continue;
		s->values[i].below = section_new(file, s, &keys[i], -1);
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

const char *section_path(const struct section *s, char *buf)
{
	size_t n;

	buf[0] = '\0';
	if (!s->around)
		return buf;
	n = strlen(section_path(s->around, buf));
	n += (size_t)snprintf(buf + n, SECTION_PATH - n, "%s%s", n ? "." : "",
			      s->key->name);
	if (s->entry >= 0)
		(void)snprintf(buf + n, SECTION_PATH - n, "[%d]", s->entry);
	return buf;
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

const struct section *section_below(const struct section *s, const char *name)
{
	return section_get(s, name)->below;
}

/* Where something is said. */
struct place {
	const struct campaign_file *file;
	unsigned line;
};

static struct place value_place_of(const struct section *s, const char *name)
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
	return value_place_of(s, name).line;
}

int section_fail(const struct section *s, const char *name, const char *fmt,
		 ...)
{
	char path[SECTION_PATH], text[400];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return fail_at(value_place_of(s, name), section_path(s, path), text);
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
	for (unsigned i = 0; s->keys[i].name; i++)
		if (s->keys[i].flags & OPTION_NEEDED && !s->values[i].line)
			return section_fail(s, NULL, "'%s' is missing",
					    s->keys[i].name);
	return 0;
}

int section_values(const struct section *s, void *out)
{
	struct cr_err e;

	for (unsigned i = 0; s->keys[i].name; i++) {
		const struct option_row *k = &s->keys[i];

		if (k->kind >= OPTION_TEXT)
			continue;
		option_reset(k, out);
		if (s->values[i].text &&
		    option_set(k, out, s->values[i].text, &e))
			return section_fail(s, k->name, "%.350s", e.text);
	}
	return 0;
}

int64_t section_number(const struct section *s, const char *name)
{
	const struct option_row *k = key_of(s, name);
	const char *text = section_text(s, name);
	int64_t v = k->dflt;

	CR_ASSERT(!text || option_parse(k, text, &v, NULL) == 0);
	return v;
}

static int copy_text(const struct section *s, const char *text, char **out)
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

	return text ? copy_text(s, text, out) : 0;
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
		rc = copy_text(s, v->entries[i].text, &(*out)[i]);
		*count += !rc;
	}
	return rc;
}

/* --- values that are more than one number --- */

int section_rate(const struct section *s, const char *name, int64_t *ppm)
{
	const char *text = section_text(s, name);
	int64_t rate;

	if (!text)
		return 0;
	if (units_parse_rate(text, &rate) || rate < CAMPAIGN_RATE_MIN ||
	    rate > CAMPAIGN_RATE_MAX)
		return section_fail(s, name,
				    "%s=%.64s: needs a number per second, such "
				    "as 5/s or 0.5/s, from 0.001/s to "
				    "100000/s",
				    name, text);
	*ppm = rate;
	return 0;
}

unsigned section_series(const char *text, series_parse_fn *parse, int64_t *out,
			unsigned most)
{
	for (unsigned n = 0; n < most; n++) {
		const char *dots = strstr(text, "..");
		size_t length = dots ? (size_t)(dots - text) : strlen(text);
		char one[UNITS_TEXT];

		if (length >= sizeof(one))
			return 0;
		memcpy(one, text, length);
		one[length] = '\0';
		if (parse(one, &out[n]))
			return 0;
		if (!dots)
			return n + 1;
		text = dots + 2;
	}
	return 0;
}

/*
 * --- settings ---
 *
 * One value of a campaign, in the place of what its file says. Only
 * what was written is changed, before anybody reads it: what it may be is
 * judged where the file's own values are.
 */

#define MAX_NAMES 64u

/* A walk along the path of a setting. */
struct walk {
	const struct campaign_file *file; /* the setting's */
	const char *path;		  /* what is left of it */
	const char *value;
	/* where it stands: a key of a section, or an entry of its list */
	struct section *in;
	unsigned index;
	int entry; /* -1: none */
};

__attribute__((format(printf, 2, 3))) static int fail(const struct walk *w,
						      const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return cr_fail(w->file->err, -EINVAL, "%s: %s", w->file->name, text);
}

static int no_memory_to_set(const struct walk *w)
{
	return cr_fail(w->file->err, -ENOMEM, "%s: out of memory",
		       w->file->name);
}

static const struct option_row *set_key_of(const struct walk *w)
{
	return &w->in->keys[w->index];
}

static struct value *set_value_of(const struct walk *w)
{
	struct value *v = &w->in->values[w->index];

	return w->entry < 0 ? v : &v->entries[w->entry];
}

static bool at_end(const struct walk *w)
{
	return !*w->path;
}

/* The path begins with a key of @w->in; step on it. */
static int step_to_key(struct walk *w)
{
	size_t n = strcspn(w->path, ".[");
	char name[65], hint[300], path[SECTION_PATH];
	const struct option_row *k;

	(void)snprintf(name, sizeof(name), "%.*s", (int)n, w->path);
	k = option_find(w->in->keys, name);
	if (!k) {
		(void)section_path(w->in, path);
		return fail(
			w, "%s%sunknown key '%s'; %s", path, *path ? ": " : "",
			name,
			option_hint(w->in->keys, 0, name, hint, sizeof(hint)));
	}
	w->index = (unsigned)(k - w->in->keys);
	w->entry = -1;
	w->path += n;
	return 0;
}

/* "[2]" of a list. */
static int step_by_number(struct walk *w)
{
	const struct value *list = set_value_of(w);
	char *end;
	unsigned long i = strtoul(w->path + 1, &end, 10);

	if (end == w->path + 1 || *end != ']')
		return fail(w, "%s[: needs a number from 0, as in %s[0]",
			    set_key_of(w)->name, set_key_of(w)->name);
	if (i >= list->count)
		return fail(w, "%s: has %u, counted from 0; there is no [%lu]",
			    set_key_of(w)->name, list->count, i);
	w->entry = (int)i;
	w->path = end + 1;
	return 0;
}

/* The name of entry @i of a list of sections, as reports have it. */
static const char *entry_name(const struct value *list, unsigned i, char *buf)
{
	const char *given = section_text(list->entries[i].below, "name");

	if (given)
		return given;
	(void)snprintf(buf, CAMPAIGN_NAME_MAX, "flow%u", i + 1);
	return buf;
}

static int unknown_entry(const struct walk *w)
{
	const struct value *list = set_value_of(w);
	char made[MAX_NAMES][CAMPAIGN_NAME_MAX], name[65], hint[300];
	const char *names[MAX_NAMES + 1] = { NULL };

	(void)snprintf(name, sizeof(name), "%.*s",
		       (int)strcspn(w->path + 1, "."), w->path + 1);
	for (unsigned i = 0; i < list->count && i < MAX_NAMES; i++)
		names[i] = entry_name(list, i, made[i]);
	return fail(w, "%s: there is no '%s'; %s", set_key_of(w)->name, name,
		    nearest_hint(name, names, hint, sizeof(hint)));
}

/* ".speech" of a list of sections. Names may have dots: the longest that
 * fits. */
static int step_by_name(struct walk *w)
{
	const struct value *list = set_value_of(w);
	char made[CAMPAIGN_NAME_MAX];
	size_t longest = 0;

	for (unsigned i = 0; i < list->count; i++) {
		const char *name = entry_name(list, i, made);
		size_t n = strlen(name);

		if (n <= longest || strncmp(w->path + 1, name, n) != 0 ||
		    (w->path[1 + n] && w->path[1 + n] != '.'))
			continue;
		longest = n;
		w->entry = (int)i;
	}
	if (!longest)
		return unknown_entry(w);
	w->path += 1 + longest;
	return 0;
}

static int step_to_entry(struct walk *w)
{
	if (*w->path == '[')
		return step_by_number(w);
	return set_key_of(w)->kind == OPTION_SECTIONS
		       ? step_by_name(w)
		       : fail(w,
			      "%s: is a list of "
			      "values; there is "
			      "nothing below it",
			      set_key_of(w)->name);
}

/* Into the section where @w stands. What the file does not have begins here. */
static int step_into(struct walk *w)
{
	struct section *below = set_value_of(w)->below;

	if (!below || *w->path != '.')
		return fail(w, "%s: there is nothing below it, such as '%.64s'",
			    set_key_of(w)->name, w->path);
	if (!below->line) {
		below->file = w->file;
		below->line = 1;
	}
	w->in = below;
	w->path++;
	return step_to_key(w);
}

static int walk_along(struct walk *w)
{
	int rc = step_to_key(w);

	while (!rc && !at_end(w)) {
		unsigned kind = set_key_of(w)->kind;

		if ((kind == OPTION_SECTIONS || kind == OPTION_LIST) &&
		    w->entry < 0)
			rc = step_to_entry(w);
		else
			rc = step_into(w);
	}
	return rc;
}

/* Nothing is said to the key any more. */
static int clear_value(const struct walk *w)
{
	struct value *v = set_value_of(w);
	bool section = v->below != NULL;

	section_free_value(v);
	if (!section)
		return 0;
	v->below = section_new(w->file, w->in, set_key_of(w), w->entry);
	return v->below ? 0 : no_memory_to_set(w);
}

static int put_set_value(const struct walk *w)
{
	int rc;

	if (!*w->value && w->entry >= 0)
		return fail(w, "an entry of a list cannot be taken away; write "
			       "the whole list");
	rc = clear_value(w);
	if (rc || !*w->value)
		return rc;
	return section_parse_value(w->file, w->value, w->in, set_key_of(w),
				   w->entry, set_value_of(w));
}

int section_set(struct section *top, const struct campaign_file *f,
		const char *setting)
{
	const char *equals = strchr(setting, '=');
	struct walk w = { .file = f, .in = top, .entry = -1 };
	char *path;
	int rc;

	if (!equals || equals == setting)
		return fail(&w, "needs KEY=VALUE, such as "
				"flows.speech.load=110%%");
	path = strndup(setting, (size_t)(equals - setting));
	if (!path)
		return no_memory_to_set(&w);
	w.path = path;
	w.value = equals + 1;
	rc = walk_along(&w);
	if (!rc)
		rc = put_set_value(&w);
	free(path);
	return rc;
}
