/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An entry of the log as a JSON object (RFC 8259): always a whole one, whatever
 * octets values have and however long they are.
 *
 *     {"time":"...","level":"warn","event":"admit-refused","call":7}
 */
#include <stdio.h>
#include <string.h>

#include "base/disarm.h"
#include "base/utf8.h"
#include "observe/log_line.h"

/* What may yet have to follow: the end of a text, and that it was cut. */
#define CUT ",\"cut\":true"
#define SPARE (sizeof("\"" CUT "}\n") - 1)

/* In place of what is no character: U+FFFD. */
#define NO_CHARACTER "\\ufffd"

static bool put_string(struct log_line *l, const char *text)
{
	return log_line_put(l, text, strlen(text), SPARE);
}

/* One character, or octet that is none; returns its octets, 0: no room. */
static size_t put_character(struct log_line *l, const char *text, size_t n)
{
	size_t octets;
	bool harmless = disarm_is_harmless(text, n, &octets);
	char escape[8];

	if (!utf8_length(text, n))
		return put_string(l, NO_CHARACTER);
	if (*text == '"' || *text == '\\')
		(void)snprintf(escape, sizeof(escape), "\\%c", *text);
	else if (!harmless)
		(void)snprintf(escape, sizeof(escape), "\\u%04x",
			       utf8_code(text, octets) & 0xffff);
	else
		return log_line_put(l, text, octets, SPARE) ? octets : 0;
	return put_string(l, escape) ? octets : 0;
}

static void put_text(struct log_line *l, const char *text, size_t n)
{
	(void)log_line_put(l, "\"", 1, 0);
	while (n) {
		size_t octets = put_character(l, text, n);

		if (!octets) {
			l->cut = true;
			break;
		}
		text += octets;
		n -= octets;
	}
	(void)log_line_put(l, "\"", 1, 0);
}

/* ',"key":' with room for two quotation marks; false: there is none. */
static bool put_key(struct log_line *l, const char *key, size_t n)
{
	size_t need = n + sizeof(",\"\":\"\"") - 1;

	if (!log_line_put(l, "", 0, need + SPARE)) {
		l->cut = true;
		return false;
	}
	if (l->text[l->len - 1] != '{')
		(void)log_line_put(l, ",", 1, 0);
	(void)log_line_put(l, "\"", 1, 0);
	(void)log_line_put(l, key, n, 0);
	(void)log_line_put(l, "\":", 2, 0);
	return true;
}

static void put_member(struct log_line *l, const char *key, const char *text)
{
	if (put_key(l, key, strlen(key)))
		put_text(l, text, strlen(text));
}

void log_json_begin(struct log_line *l, enum log_level level, const char *event)
{
	char time[LOG_TIME_MAX];

	log_line_time(time);
	(void)log_line_put(l, "{", 1, 0);
	put_member(l, "time", time);
	put_member(l, "level", log_level_names[level]);
	put_member(l, "event", event);
}

void log_json_value(void *line, const struct log_value *v)
{
	struct log_line *l = line;

	l->cut |= v->cut;
	if (!put_key(l, v->key, v->key_len))
		return;
	if (v->number && log_line_put(l, v->text, v->len, SPARE))
		return;
	put_text(l, v->text, v->len);
}

void log_json_end(struct log_line *l)
{
	if (l->cut)
		(void)log_line_put(l, CUT, sizeof(CUT) - 1, 0);
	(void)log_line_put(l, "}\n", 2, 0);
}
