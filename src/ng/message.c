/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of NG, their encodings (JSON; bencode, of BitTorrent's dictionaries,
 * BEP 3), and words of an answer: what a message quotes of a request may be no
 * UTF-8, or may have been cut in the middle of a character, and such is no
 * JSON.
 *
 *   d7:command4:pinge   {"command": "ping"}
 *
 * Strings are any octets: JSON values that are made here need not be UTF-8.
 * Keys need not be sorted, as proxies do not sort them. Pure but for memory.
 */
#include "ng/message.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cr/error.h"

json_t *ng_text(const char *text)
{
	json_t *as_it_is = json_string(text), *ascii;
	char *copy = as_it_is ? NULL : strdup(text);

	if (!copy)
		return as_it_is;
	for (char *p = copy; *p; p++)
		if ((unsigned char)*p >= 0x80)
			*p = '?';
	ascii = json_string(copy);
	free(copy);
	return ascii;
}

json_t *ng_result(const char *result, const char *key, const char *text)
{
	return json_pack("{s:s, s:o}", "result", result, key, ng_text(text));
}

/* --- reading --- */

struct reader {
	const char *begin, *p, *end;
	unsigned depth;
	struct cr_err *e;
};

static json_t *fail_reading(const struct reader *r, const char *what)
{
	(void)cr_fail(r->e, -EINVAL, "bencode, octet %td: %s", r->p - r->begin,
		      what);
	return NULL;
}

static bool at_octet(const struct reader *r, char c)
{
	return r->p < r->end && *r->p == c;
}

static bool at_digit(const struct reader *r)
{
	return r->p < r->end && *r->p >= '0' && *r->p <= '9';
}

/* Digits up to @stop, which is passed over. Not too many for 64 bits. */
static bool bencode_digits(struct reader *r, char stop, int64_t *out)
{
	const char *from = r->p;
	int64_t n = 0;

	while (at_digit(r)) {
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, *r->p - '0', &n))
			return false;
		r->p++;
	}
	if (r->p == from || (*from == '0' && r->p > from + 1) ||
	    !at_octet(r, stop))
		return false;
	r->p++;
	*out = n;
	return true;
}

static json_t *read_integer(struct reader *r)
{
	bool minus;
	int64_t n;

	r->p++;
	minus = at_octet(r, '-');
	r->p += minus;
	if (!bencode_digits(r, 'e', &n) || (minus && !n))
		return fail_reading(r, "a number is as in i20e or i-3e");
	return json_integer(minus ? -n : n);
}

static bool read_octets(struct reader *r, const char **octets, size_t *bytes)
{
	int64_t n;

	if (!bencode_digits(r, ':', &n) || n > r->end - r->p)
		return false;
	*octets = r->p;
	*bytes = (size_t)n;
	r->p += n;
	return true;
}

static json_t *read_value(struct reader *r);

/* One key and its value into @o. */
static bool read_member(struct reader *r, json_t *o)
{
	char key[256];
	const char *octets;
	size_t bytes;
	json_t *value;

	if (!at_digit(r) || !read_octets(r, &octets, &bytes) ||
	    bytes >= sizeof(key) || memchr(octets, 0, bytes))
		return fail_reading(
			r, "a key is a string of up to 255 octets, none "
			   "of them 0");
	memcpy(key, octets, bytes);
	key[bytes] = '\0';
	if (json_object_get(o, key))
		return fail_reading(r, "a key that was there already");
	value = read_value(r);
	return value && !json_object_set_new_nocheck(o, key, value);
}

static json_t *read_dictionary(struct reader *r)
{
	json_t *o = json_object();

	r->p++;
	while (o && !at_octet(r, 'e'))
		if (!read_member(r, o)) {
			json_decref(o);
			return NULL;
		}
	r->p += o != NULL;
	return o;
}

static json_t *read_any(struct reader *r)
{
	const char *octets;
	size_t bytes;

	if (at_octet(r, 'd'))
		return read_dictionary(r);
	if (at_octet(r, 'l')) {
		json_t *list = json_array();

		r->p++;
		while (list && !at_octet(r, 'e')) {
			json_t *item = read_value(r);

			if (!item || json_array_append_new(list, item)) {
				json_decref(list);
				return NULL;
			}
		}
		r->p += list != NULL;
		return list;
	}
	if (at_octet(r, 'i'))
		return read_integer(r);
	if (at_digit(r))
		return read_octets(r, &octets, &bytes)
			       ? json_stringn_nocheck(octets, bytes)
			       : fail_reading(r,
					      "a string is as in 4:ping, and "
					      "not longer than what follows");
	return fail_reading(r, r->p < r->end ? "neither d, l, i nor a length"
					     : "it ends too early");
}

static json_t *read_value(struct reader *r)
{
	json_t *value;

	if (r->depth == BENCODE_DEPTH_MAX)
		return fail_reading(
			r, "too many lists and dictionaries within each "
			   "other");
	r->depth++;
	value = read_any(r);
	r->depth--;
	return value;
}

json_t *bencode_read(const char *text, size_t bytes, struct cr_err *e)
{
	struct cr_err why = { "" };
	struct reader r = {
		.begin = text, .p = text, .end = text + bytes, .e = &why
	};
	json_t *value = read_value(&r);

	if (!value && !why.text[0])
		(void)cr_fail(r.e, -ENOMEM, "out of memory for a message");
	if (value && r.p < r.end) {
		json_decref(value);
		value = fail_reading(&r, "more behind its end");
	}
	if (!value)
		(void)cr_fail(e, -EINVAL, "%s", why.text);
	return value;
}

/* --- writing --- */

struct writer {
	char *p, *end;
	long err; /* 0, -ENOSPC or -EINVAL */
};

static void put_octets(struct writer *w, const char *octets, size_t bytes)
{
	if (w->err || (size_t)(w->end - w->p) < bytes) {
		w->err = w->err ? w->err : -ENOSPC;
		return;
	}
	memcpy(w->p, octets, bytes);
	w->p += bytes;
}

static void put_string(struct writer *w, const char *octets, size_t bytes)
{
	char length[24];
	int n = snprintf(length, sizeof(length), "%zu:", bytes);

	put_octets(w, length, (size_t)n);
	put_octets(w, octets, bytes);
}

static void put_bencode(struct writer *w, const json_t *value)
{
	const char *key;
	char number[24];
	json_t *of;
	size_t i;
	int n;

	switch (json_typeof(value)) {
	case JSON_OBJECT:
		put_octets(w, "d", 1);
		json_object_foreach ((json_t *)value, key, of) {
			put_string(w, key, strlen(key));
			put_bencode(w, of);
		}
		put_octets(w, "e", 1);
		return;
	case JSON_ARRAY:
		put_octets(w, "l", 1);
		json_array_foreach (value, i, of)
			put_bencode(w, of);
		put_octets(w, "e", 1);
		return;
	case JSON_STRING:
		put_string(w, json_string_value(value),
			   json_string_length(value));
		return;
	case JSON_INTEGER:
		n = snprintf(number, sizeof(number),
			     "i%" JSON_INTEGER_FORMAT "e",
			     json_integer_value(value));
		put_octets(w, number, (size_t)n);
		return;
	default:
		w->err = w->err ? w->err : -EINVAL;
		return;
	}
}

long bencode_write(const json_t *value, char *text, size_t size)
{
	struct writer w = { .p = text, .end = text + size };

	put_bencode(&w, value);
	return w.err ? w.err : (long)(w.p - text);
}

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

static json_t *read_json_message(const char *text, size_t bytes,
				 struct cr_err *e)
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
	out->body = out->encoding == NG_JSON ? read_json_message(text, bytes, e)
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
	n = json_dumpb(body, text, size, JSON_COMPACT);
	if (!n) { /* a text of it is no UTF-8 */
		json_t *other = readable(body);

		n = other ? json_dumpb(other, text, size, JSON_COMPACT) : 0;
		json_decref(other);
	}
	return n && n <= size ? (long)(n + cookie) : -ENOSPC;
}

/* --- the end of a message ---
 *
 *   BEFORE -> COOKIE -> BEGIN -+-> ITEM <-> INTEGER, LENGTH -> OCTETS -+-> END
 *                              +-> JSON <-> STRING <-> ESCAPE ---------+
 *
 * and from all but END to LOST.
 */

static enum framing_state lose_framing(struct framing *f, const char *why)
{
	f->why = why;
	return FRAMING_LOST;
}

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

static enum framing_state end_one(struct framing *f, enum framing_state in)
{
	return --f->depth ? in : FRAMING_END;
}

static enum framing_state item(struct framing *f, char c)
{
	if (digit(c)) {
		f->left = (size_t)(c - '0');
		return FRAMING_LENGTH;
	}
	switch (c) {
	case 'd':
	case 'l':
		f->depth++;
		return FRAMING_ITEM;
	case 'i':
		return FRAMING_INTEGER;
	case 'e':
		return end_one(f, FRAMING_ITEM);
	default:
		return lose_framing(f,
				    "bencode: neither d, l, i, e nor a length");
	}
}

static enum framing_state next_state(struct framing *f, char c)
{
	switch (f->state) {
	case FRAMING_BEFORE:
	case FRAMING_COOKIE:
		if (c == ' ' && f->bytes > 1)
			return FRAMING_BEGIN;
		if (c <= ' ' || c > '~' || f->bytes > NG_COOKIE_MAX)
			return lose_framing(f, "no cookie and space");
		return FRAMING_COOKIE;
	case FRAMING_BEGIN:
		f->depth = 1;
		if (c == '{')
			return FRAMING_JSON;
		if (c == 'd')
			return FRAMING_ITEM;
		return lose_framing(f, "no dictionary behind the cookie");
	case FRAMING_ITEM:
		return item(f, c);
	case FRAMING_INTEGER:
		if (c == 'e')
			return FRAMING_ITEM;
		return c == '-' || digit(c)
			       ? FRAMING_INTEGER
			       : lose_framing(f, "bencode: no number behind i");
	case FRAMING_LENGTH:
		if (c == ':')
			return f->left ? FRAMING_OCTETS : FRAMING_ITEM;
		if (!digit(c))
			return lose_framing(
				f, "bencode: no colon behind a length");
		f->left = f->left * 10 + (size_t)(c - '0');
		return f->left <= NG_BYTES_MAX
			       ? FRAMING_LENGTH
			       : lose_framing(
					 f,
					 "bencode: a string that is too long");
	case FRAMING_OCTETS:
		return --f->left ? FRAMING_OCTETS : FRAMING_ITEM;
	case FRAMING_JSON:
		if (c == '"')
			return FRAMING_STRING;
		if (c == '}' || c == ']')
			return end_one(f, FRAMING_JSON);
		f->depth += c == '{' || c == '[';
		return FRAMING_JSON;
	case FRAMING_STRING:
		return c == '"'	   ? FRAMING_JSON
		       : c == '\\' ? FRAMING_ESCAPE
				   : FRAMING_STRING;
	case FRAMING_ESCAPE:
		return FRAMING_STRING;
	case FRAMING_END:
	case FRAMING_LOST:
		break;
	}
	return f->state;
}

enum framing_is framing_feed(struct framing *f, const char *text, size_t bytes,
			     size_t *used)
{
	size_t n = 0;

	if (f->state == FRAMING_END)
		*f = (struct framing){ .state = FRAMING_BEFORE };
	while (n < bytes && f->state == FRAMING_BEFORE &&
	       strchr(" \t\r\n", text[n]) && text[n])
		n++;
	while (n < bytes && f->state < FRAMING_END) {
		f->bytes++;
		f->state =
			f->bytes > NG_BYTES_MAX
				? lose_framing(f, "a message that is too long")
				: next_state(f, text[n]);
		n++;
	}
	*used = n;
	if (f->state == FRAMING_END)
		return FRAMING_DONE;
	return f->state == FRAMING_LOST ? FRAMING_BROKEN : FRAMING_MORE;
}
