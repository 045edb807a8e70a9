/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text to names and values.
 */
#include "config/lines.h"

#include <errno.h>
#include <string.h>

#include "base/utf8.h"

/* Room for the name, " = " and quotation marks on a line with a value. */
enum { BESIDE_VALUE = 64 };

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Where @text stops being UTF-8; @len: it does not. */
static size_t utf8_end(const char *text, size_t len)
{
	size_t at = 0, n;

	while ((n = utf8_length(text + at, len - at)))
		at += n;
	return at;
}

/* Cut blanks off both ends of @text, of @len bytes; it gets a NUL. */
static char *trim(char *text, size_t len)
{
	while (len && is_blank(*text)) {
		text++;
		len--;
	}
	while (len && is_blank(text[len - 1]))
		len--;
	text[len] = '\0';
	return text;
}

/* A file of another encoding is wrong once, not on every line. */
static int not_text(struct config_lines *l, const char *what, struct cr_err *e)
{
	l->over = true;
	return cr_fail(e, -EINVAL, "%s", what);
}

/* Skip the byte order mark. */
static int begin(struct config_lines *l, struct cr_err *e)
{
	if (l->size >= 2 && (!memcmp(l->text, "\xff\xfe", 2) ||
			     !memcmp(l->text, "\xfe\xff", 2))) {
		l->line = 1;
		return not_text(l, "this is UTF-16: save the file as UTF-8", e);
	}
	if (l->size >= 3 && !memcmp(l->text, "\xef\xbb\xbf", 3)) {
		l->text += 3;
		l->size -= 3;
	}
	return 0;
}

/* Take the next line out, and its end. */
static char *take_line(struct config_lines *l, size_t *len)
{
	char *line = l->text, *end = memchr(line, '\n', l->size);
	size_t whole;

	*len = end ? (size_t)(end - line) : l->size;
	whole = *len + (end != NULL);
	l->text += whole;
	l->size -= whole;
	l->line++;
	if (*len && line[*len - 1] == '\r')
		--*len;
	return line;
}

static int not_utf8(struct config_lines *l, const char *line, size_t at,
		    struct cr_err *e)
{
	l->over = true;
	return cr_fail(
		e, -EINVAL,
		"octet %zu (0x%02x) is not UTF-8: save the file as UTF-8",
		at + 1, (unsigned char)line[at]);
}

static int check_line(struct config_lines *l, const char *line, size_t len,
		      struct cr_err *e)
{
	size_t end;

	if (memchr(line, '\0', len))
		return not_text(l, "a NUL byte: this is no text file", e);
	if (len > CONFIG_LINE)
		return cr_fail(e, -EINVAL,
			       "a line of %zu bytes; %u are the most", len,
			       CONFIG_LINE);
	for (size_t i = 0; i < len; i++)
		if (utf8_is_control(line[i]))
			return cr_fail(e, -EINVAL,
				       "a control character (0x%02x)",
				       (unsigned char)line[i]);
	end = utf8_end(line, len);
	return end < len ? not_utf8(l, line, end, e) : 0;
}

/* Takes the quotation marks off *@value. */
static int unquote(char **value, struct cr_err *e)
{
	size_t len = strlen(*value);

	if (**value != '"')
		return 0;
	if (len < 2 || (*value)[len - 1] != '"')
		return cr_fail(e, -EINVAL,
			       "a quotation mark is not closed; what is behind "
			       "the value?");
	(*value)[len - 1] = '\0';
	(*value)++;
	return 0;
}

static int split(char *line, char **name, char **value, struct cr_err *e)
{
	char *sign = strchr(line, '=');

	if (!sign)
		return cr_fail(
			e, -EINVAL,
			"\"%.64s\" has no value: write name = value, and "
			"comments on lines of their own",
			line);
	*name = trim(line, (size_t)(sign - line));
	*value = trim(sign + 1, strlen(sign + 1));
	if (!**name)
		return cr_fail(e, -EINVAL, "there is no name before the \"=\"");
	if (!**value)
		return cr_fail(e, -EINVAL,
			       "%.64s has no value: leave the line out for the "
			       "default",
			       *name);
	return unquote(value, e);
}

int config_lines_next(struct config_lines *l, char **name, char **value,
		      struct cr_err *e)
{
	int err = l->line ? 0 : begin(l, e);

	while (!err && l->size && !l->over) {
		size_t len;
		char *line = take_line(l, &len);

		err = check_line(l, line, len, e);
		if (err)
			break;
		line = trim(line, len);
		if (!*line || *line == '#')
			continue;
		err = split(line, name, value, e);
		return err ? err : 1;
	}
	return err;
}

bool config_needs_quotes(const char *value)
{
	size_t len = strlen(value);

	return !len || *value == '"' || is_blank(*value) ||
	       is_blank(value[len - 1]);
}

bool config_can_hold(const char *value)
{
	size_t len = strlen(value);

	for (size_t i = 0; i < len; i++)
		if (utf8_is_control(value[i]))
			return false;
	return len <= CONFIG_LINE - BESIDE_VALUE && utf8_end(value, len) == len;
}
