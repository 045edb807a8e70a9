/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From KEY=VALUE words to a JSON object. Knows no method, only which members
 * are text even when they look like numbers.
 */
#include "app/ctl/args.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum { KEY_MAX = 256 };

static const char *const text_members[] = { "codec",	"mode",	  "name",
					    "deadline", "source", "address",
					    "class",	"port",	  NULL };

static bool is_text(const char *member)
{
	const char *const *t = text_members;

	while (*t && strcmp(*t, member) != 0)
		t++;
	return *t;
}

/* NULL: it looks like JSON and is none. */
static json_t *value_of(const char *member, const char *text)
{
	json_t *v;

	if (!strcmp(text, "null"))
		return json_null();
	if (is_text(member))
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

static int put_word(json_t *object, const char *word, struct cr_err *e)
{
	const char *equals = strchr(word, '=');
	size_t length = equals ? (size_t)(equals - word) : 0;
	char key[KEY_MAX];
	const char *member;
	json_t *v;

	if (!length || length >= sizeof(key))
		return cr_fail(e, -EINVAL, "%.100s: should be KEY=VALUE", word);
	memcpy(key, word, length);
	key[length] = '\0';
	member = strrchr(key, '.');
	v = value_of(member ? member + 1 : key, equals + 1);
	if (!v)
		return cr_fail(e, -EINVAL, "%.100s: the value is not JSON",
			       word);
	return put(object, key, v, word, e);
}

int ctl_object(json_t **object, const char *const *word, unsigned n,
	       struct cr_err *e)
{
	json_t *o = json_object();

	for (unsigned i = 0; i < n; i++) {
		int rc = put_word(o, word[i], e);

		if (rc) {
			json_decref(o);
			return rc;
		}
	}
	*object = o;
	return 0;
}
