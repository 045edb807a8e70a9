/* SPDX-License-Identifier: Apache-2.0 */
#include "ng/message.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "ng/bencode.h"
#include "ng/text.h"

/* Printable, so that it can stand in a log. */
static int read_cookie(struct ng_message *out, const char *text, size_t bytes,
		       struct cr_err *e)
{
	size_t n = 0;

	while (n < bytes && text[n] > ' ' && text[n] <= '~')
		n++;
	if (!n || n > NG_COOKIE_MAX || n == bytes || text[n] != ' ')
		return cr_fail(e, -EINVAL,
			       "a message begins with a cookie of 1 to %u "
			       "printable characters and a space",
			       NG_COOKIE_MAX);
	memcpy(out->cookie, text, n);
	out->cookie[n] = '\0';
	return (int)n + 1;
}

static json_t *read_json(const char *text, size_t bytes, struct cr_err *e)
{
	json_error_t why;
	json_t *o;

	if (!memory_for_json(bytes)) {
		(void)cr_fail(e, -ENOMEM, "out of memory");
		return NULL;
	}
	o = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &why);
	if (!o)
		(void)cr_fail(e, -EINVAL, "JSON, octet %d: %s", why.position,
			      why.text);
	return o;
}

int ng_message_read(struct ng_message *out, const char *text, size_t bytes,
		    struct cr_err *e)
{
	int n;

	*out = (struct ng_message){ .body = NULL };
	if (bytes > NG_BYTES_MAX)
		return cr_fail(e, -EINVAL,
			       "a message of %zu octets; %u are the most that "
			       "are read",
			       bytes, NG_BYTES_MAX);
	n = read_cookie(out, text, bytes, e);
	if (n < 0)
		return n;
	text += n;
	bytes -= (size_t)n;
	out->encoding = bytes && *text == '{' ? NG_JSON : NG_BENCODE;
	out->body = out->encoding == NG_JSON ? read_json(text, bytes, e)
					     : bencode_read(text, bytes, e);
	if (!out->body)
		return -EINVAL;
	if (json_is_object(out->body))
		return 0;
	ng_message_free(out);
	return cr_fail(e, -EINVAL, "a message is a dictionary");
}

void ng_message_free(struct ng_message *m)
{
	json_decref(m->body);
	m->body = NULL;
}

/* The same without names that bencode can say and JSON cannot. Answers nest as
 * deep as we make them. NULL: out of memory. */
static json_t *readable(const json_t *of)
{
	json_t *copy, *value;
	const char *key;
	size_t i;

	if (json_is_string(of))
		return ng_text(json_string_value(of));
	if (!json_is_object(of) && !json_is_array(of))
		return json_deep_copy(of);
	copy = json_is_object(of) ? json_object() : json_array();
	/* cast: jansson's loops take what they do not change */
	json_object_foreach ((json_t *)(uintptr_t)of, key, value) {
		json_t *name = ng_text(key);

		(void)json_object_set_new(copy, json_string_value(name),
					  readable(value));
		json_decref(name);
	}
	json_array_foreach (of, i, value)
		(void)json_array_append_new(copy, readable(value));
	return copy;
}

/* 0: not to be had, else as json_dumpb(). */
static size_t write_json(const json_t *body, char *text, size_t size)
{
	size_t n = json_dumpb(body, text, size, JSON_COMPACT);
	json_t *other;

	if (n)
		return n;
	other = readable(body);
	n = other ? json_dumpb(other, text, size, JSON_COMPACT) : 0;
	json_decref(other);
	return n;
}

long ng_message_write(const struct ng_message *request, const json_t *body,
		      char *text, size_t size)
{
	size_t cookie = strlen(request->cookie), n;
	long bytes;

	if (size < cookie + 1)
		return -ENOSPC;
	memcpy(text, request->cookie, cookie);
	text[cookie++] = ' ';
	text += cookie;
	size -= cookie;
	if (request->encoding == NG_BENCODE) {
		bytes = bencode_write(body, text, size);
		return bytes < 0 ? bytes : bytes + (long)cookie;
	}
	n = write_json(body, text, size);
	return n && n <= size ? (long)(n + cookie) : -ENOSPC;
}
