/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An entry of the log as a line of text; the journal's message is one without
 * its beginning and its end.
 *
 *     2024-05-01T12:00:00.123Z warn  admit-refused call=7 why="no room"
 *
 * A value is a word, or stands in quotation marks. A word is of printable ASCII
 * and has no blank, quotation mark or backslash. In quotation marks there is no
 * quotation mark (it becomes '), and a backslash is doubled: so both who knows
 * escapes and who does not find the end where it is, whatever a peer has said.
 */
#include <stdio.h>
#include <string.h>

#include "base/disarm.h"
#include "observe/log_line.h"

/* What may yet have to follow: the end of a text, and that something is cut. */
#define CUT " cut=true"
#define SPARE (sizeof("\"" CUT "\n") - 1)

static const char *const level_words[] = { "error", "warn ", "info ", "debug" };
static const char *const level_colours[] = { "\033[31m", "\033[33m", "",
					     "\033[2m" };

/* Append all of @text, if there is room for @spare octets more; else nothing.
 */
static bool put(struct log_line *l, const char *text, size_t n, size_t spare)
{
	bool message = l->style.format == LOG_JOURNAL;
	char *to = message ? l->message : l->text;
	size_t *len = message ? &l->message_len : &l->len;

	if (n + spare > LOG_TEXT_MAX - *len)
		return false;
	memcpy(to + *len, text, n);
	*len += n;
	return true;
}

static void put_string(struct log_line *l, const char *text)
{
	(void)put(l, text, strlen(text), SPARE);
}

void log_text_begin(struct log_line *l, enum log_level level, const char *event)
{
	bool colour = l->style.colour;
	char head[LOG_TIME_MAX + 32], time[LOG_TIME_MAX];

	if (l->style.format != LOG_JOURNAL) {
		log_line_time(time);
		(void)snprintf(head, sizeof(head), "%s %s%s%s ", time,
			       colour ? level_colours[level] : "",
			       level_words[level], colour ? "\033[0m" : "");
		put_string(l, head);
	}
	put_string(l, event);
}

static bool is_word(const struct log_value *v)
{
	for (size_t i = 0; i < v->len; i++)
		if (v->text[i] <= ' ' || v->text[i] > '~' ||
		    v->text[i] == '"' || v->text[i] == '\\')
			return false;
	return v->len;
}

/* One character, harmless; false: no room. */
static bool put_character(struct log_line *l, const char *text, size_t n,
			  size_t *octets)
{
	if (!disarm_is_harmless(text, n, octets))
		return put(l, "?", 1, SPARE);
	if (*text == '"')
		return put(l, "'", 1, SPARE);
	if (*text == '\\')
		return put(l, "\\\\", 2, SPARE);
	return put(l, text, *octets, SPARE);
}

static void put_quoted(struct log_line *l, const char *text, size_t n)
{
	size_t octets;

	(void)put(l, "\"", 1, 0);
	for (; n; text += octets, n -= octets)
		if (!put_character(l, text, n, &octets)) {
			l->cut = true;
			break;
		}
	(void)put(l, "\"", 1, 0);
}

void log_text_value(void *line, const struct log_value *v)
{
	struct log_line *l = line;

	l->cut |= v->cut;
	if (!put(l, "", 0, v->key_len + sizeof(" =\"\"") - 1 + SPARE)) {
		l->cut = true;
		return;
	}
	(void)put(l, " ", 1, 0);
	(void)put(l, v->key, v->key_len, 0);
	(void)put(l, "=", 1, 0);
	if (v->quoted || !is_word(v) || !put(l, v->text, v->len, SPARE))
		put_quoted(l, v->text, v->len);
}

void log_text_end(struct log_line *l)
{
	if (l->cut)
		(void)put(l, CUT, sizeof(CUT) - 1, 0);
	if (l->style.format != LOG_JOURNAL)
		(void)put(l, "\n", 1, 0);
}
