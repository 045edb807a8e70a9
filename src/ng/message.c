/* SPDX-License-Identifier: Apache-2.0 */
#include "ng/message.h"

#include <errno.h>
#include <string.h>

#include "ng/bencode.h"

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
	json_t *o = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &why);

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
	return n && n <= size ? (long)(n + cookie) : -ENOSPC;
}
