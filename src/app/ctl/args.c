/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From KEY=VALUE words to a JSON object. Which members are text even when they
 * look like numbers is in the protocol's tables.
 */
#include "app/ctl/args.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum { KEY_MAX = 256 };

/* Is the member at @path text? A quantity is, by the name without a unit. */
static bool is_text(const struct field *table, const char *path)
{
	const struct field *f = table ? field_find_path(table, path) : NULL;
	const char *dot = strrchr(path, '.');

	if (!f)
		return false;
	if (field_has_unit(f))
		return !strcmp(f->name, dot ? dot + 1 : path);
	return f->type == FIELD_TEXT || f->type == FIELD_CODEC ||
	       f->type == FIELD_MODE || f->type == FIELD_CHOICE ||
	       f->type == FIELD_ADDRESS;
}

/* NULL: it looks like JSON and is none. */
static json_t *value_of(bool is_text, const char *text)
{
	json_t *v;

	if (!strcmp(text, "null"))
		return json_null();
	if (is_text)
		return json_string(text);
	if (!strcmp(text, "yes") || !strcmp(text, "no"))
		return json_boolean(text[0] == 'y');
	v = json_loads(text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
	if (!v && text[0] != '{' && text[0] != '[')
		v = json_string(text);
	return v;
}

/* Put @v (taken over) at the dotted @path, which is written to. */
static int put(json_t *object, char *path, json_t *v, const char *word,
	       struct cr_err *e)
{
	char *dot = strchr(path, '.');

	while (dot) {
		json_t *inner;

		*dot = '\0';
		inner = json_object_get(object, path);
		if (!inner && path[0]) {
			inner = json_object();
			(void)json_object_set_new(object, path, inner);
		}
		if (!json_is_object(inner)) {
			json_decref(v);
			return cr_fail(e, -EINVAL,
				       "%s: '%s' is not a group of members",
				       word, path);
		}
		object = inner;
		path = dot + 1;
		dot = strchr(path, '.');
	}
	if (!path[0] || json_object_get(object, path)) {
		json_decref(v);
		return cr_fail(e, -EINVAL,
			       path[0] ? "%s: given twice"
				       : "%s: a member without a name",
			       word);
	}
	return json_object_set_new(object, path, v) ? -ENOMEM : 0;
}

static int put_word(json_t *object, const char *word, const struct field *table,
		    struct cr_err *e)
{
	const char *equals = strchr(word, '=');
	size_t length = equals ? (size_t)(equals - word) : 0;
	char key[KEY_MAX];
	json_t *v;

	if (!length || length >= sizeof(key))
		return cr_fail(e, -EINVAL, "%.100s: should be KEY=VALUE", word);
	memcpy(key, word, length);
	key[length] = '\0';
	v = value_of(is_text(table, key), equals + 1);
	if (!v)
		return cr_fail(e, -EINVAL, "%.100s: the value is not JSON",
			       word);
	return put(object, key, v, word, e);
}

int ctl_object(json_t **object, const char *const *word, unsigned n,
	       const struct field *table, struct cr_err *e)
{
	json_t *o = json_object();

	for (unsigned i = 0; i < n; i++) {
		int rc = put_word(o, word[i], table, e);

		if (rc) {
			json_decref(o);
			return rc;
		}
	}
	*object = o;
	return 0;
}
