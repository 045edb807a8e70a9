/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings: one value of a campaign, in the place of what its file says. Only
 * what was written is changed, before anybody reads it: what it may be is
 * judged where the file's own values are.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "campaign/campaign.h"
#include "campaign/section.h"

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

static int no_memory(const struct walk *w)
{
	return cr_fail(w->file->err, -ENOMEM, "%s: out of memory",
		       w->file->name);
}

static const struct key *key_of(const struct walk *w)
{
	return &w->in->keys[w->index];
}

static struct value *value_of(const struct walk *w)
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
	unsigned i = 0;

	(void)snprintf(name, sizeof(name), "%.*s", (int)n, w->path);
	while (w->in->keys[i].opt.name &&
	       strcmp(w->in->keys[i].opt.name, name) != 0)
		i++;
	if (!w->in->keys[i].opt.name) {
		(void)section_path(w->in, path);
		return fail(w, "%s%sunknown key '%s'; %s", path,
			    *path ? ": " : "", name,
			    section_key_hint(w->in, name, hint, sizeof(hint)));
	}
	w->index = i;
	w->entry = -1;
	w->path += n;
	return 0;
}

/* "[2]" of a list. */
static int step_by_number(struct walk *w)
{
	const struct value *list = value_of(w);
	char *end;
	unsigned long i = strtoul(w->path + 1, &end, 10);

	if (end == w->path + 1 || *end != ']')
		return fail(w, "%s[: needs a number from 0, as in %s[0]",
			    key_of(w)->opt.name, key_of(w)->opt.name);
	if (i >= list->count)
		return fail(w, "%s: has %u, counted from 0; there is no [%lu]",
			    key_of(w)->opt.name, list->count, i);
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
	const struct value *list = value_of(w);
	char made[MAX_NAMES][CAMPAIGN_NAME_MAX], name[65], hint[300];
	const char *names[MAX_NAMES + 1] = { NULL };

	(void)snprintf(name, sizeof(name), "%.*s",
		       (int)strcspn(w->path + 1, "."), w->path + 1);
	for (unsigned i = 0; i < list->count && i < MAX_NAMES; i++)
		names[i] = entry_name(list, i, made[i]);
	return fail(w, "%s: there is no '%s'; %s", key_of(w)->opt.name, name,
		    nearest_hint(name, names, hint, sizeof(hint)));
}

/* ".speech" of a list of sections. Names may have dots: the longest that
 * fits. */
static int step_by_name(struct walk *w)
{
	const struct value *list = value_of(w);
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
	return key_of(w)->kind == KEY_SECTIONS ? step_by_name(w)
					       : fail(w,
						      "%s: is a list of "
						      "values; there is "
						      "nothing below it",
						      key_of(w)->opt.name);
}

/* Into the section where @w stands. What the file does not have begins here. */
static int step_into(struct walk *w)
{
	struct section *below = value_of(w)->below;

	if (!below || *w->path != '.')
		return fail(w, "%s: there is nothing below it, such as '%.64s'",
			    key_of(w)->opt.name, w->path);
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
		enum key_kind kind = key_of(w)->kind;

		if ((kind == KEY_SECTIONS || kind == KEY_LIST) && w->entry < 0)
			rc = step_to_entry(w);
		else
			rc = step_into(w);
	}
	return rc;
}

/* Nothing is said to the key any more. */
static int clear(const struct walk *w)
{
	struct value *v = value_of(w);
	bool section = v->below != NULL;

	section_free_value(v);
	if (!section)
		return 0;
	v->below = section_new(w->file, w->in, key_of(w), w->entry);
	return v->below ? 0 : no_memory(w);
}

static int put(const struct walk *w)
{
	int rc;

	if (!*w->value && w->entry >= 0)
		return fail(w, "an entry of a list cannot be taken away; write "
			       "the whole list");
	rc = clear(w);
	if (rc || !*w->value)
		return rc;
	return section_parse_value(w->file, w->value, w->in, key_of(w),
				   w->entry, value_of(w));
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
		return no_memory(&w);
	w.path = path;
	w.value = equals + 1;
	rc = walk_along(&w);
	if (!rc)
		rc = put(&w);
	free(path);
	return rc;
}
