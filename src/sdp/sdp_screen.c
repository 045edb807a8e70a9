/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must not reach the library: it loops for ever over a media line ("m=")
 * that has something else than tokens where these belong
 * (libsofia-sip-ua 1.12.11).
 */
#include <errno.h>
#include <string.h>

#include "sdp/sdp_impl.h"

/* RFC 8866, 9: token-char. */
static bool is_token(unsigned char c)
{
	return c == '!' || (c >= '#' && c <= '\'') || c == '*' || c == '+' ||
	       c == '-' || c == '.' || (c >= '0' && c <= '9') ||
	       (c >= 'A' && c <= 'Z') || (c >= '^' && c <= '~');
}

static bool is_digit(unsigned char c)
{
	return c >= '0' && c <= '9';
}

/* Pass over characters that @is, one at least. */
static bool pass(const char **p, const char *end, bool (*is)(unsigned char))
{
	const char *from = *p;

	while (*p < end && is((unsigned char)**p))
		(*p)++;
	return *p > from;
}

static bool pass_one(const char **p, const char *end, char c)
{
	return *p < end && *(*p)++ == c;
}

/* audio 49170/2 RTP/AVP 0 96 */
static bool is_media(const char *p, const char *end)
{
	if (!pass(&p, end, is_token) || !pass_one(&p, end, ' ') ||
	    !pass(&p, end, is_digit))
		return false;
	if (p < end && *p == '/' && (p++, !pass(&p, end, is_digit)))
		return false;
	if (!pass_one(&p, end, ' ') || !pass(&p, end, is_token))
		return false;
	while (p < end && *p == '/')
		if (p++, !pass(&p, end, is_token))
			return false;
	while (p < end)
		if (!pass_one(&p, end, ' ') ||
		    (p < end && !pass(&p, end, is_token)))
			return false;
	return true;
}

static int screen_line(const char *line, size_t bytes, struct cr_err *e)
{
	if (memchr(line, 0, bytes))
		return cr_fail(e, -EINVAL, "this is no SDP: it has an octet 0");
	if (bytes &&
	    (bytes < 2 || line[0] < 'a' || line[0] > 'z' || line[1] != '='))
		return cr_fail(
			e, -EINVAL,
			"this is no SDP: %.*s: a line is a small letter, "
			"=, and a value",
			(int)(bytes < 40 ? bytes : 40), line);
	if (bytes < 2 || memcmp(line, "m=", 2) != 0 ||
	    is_media(line + 2, line + bytes))
		return 0;
	return cr_fail(e, -EINVAL,
		       "%.*s: a media line is as in m=audio 5004 RTP/AVP 0 8",
		       (int)(bytes < 100 ? bytes : 100), line);
}

/* CR and LF, or LF alone: for the library, a CR alone may be within a line. */
int sdp_screen(const char *text, size_t bytes, struct cr_err *e)
{
	const char *end = text + bytes;
	int err = 0;

	while (text < end && !err) {
		const char *lf = memchr(text, '\n', (size_t)(end - text));
		const char *stop = lf ? lf : end;
		size_t n = (size_t)(stop - text);

		if (n && text[n - 1] == '\r')
			n--;
		err = memchr(text, '\r', n)
			      ? cr_fail(e, -EINVAL,
					"this is no SDP: it has an octet 0x0d "
					"within a line")
			      : screen_line(text, n, e);
		text = stop + 1;
	}
	return err;
}
