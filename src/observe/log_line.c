/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An entry of the log: its values, and how they look in each format.
 *
 * As a line of text; the journal's message is one without its beginning and
 * end:
 *
 *     2024-05-01T12:00:00.123Z warn  record-dropped call=7 why="no room"
 *
 * A value is a word, or stands in quotation marks. A word is of printable ASCII
 * and has no blank, quotation mark or backslash. In quotation marks there is no
 * quotation mark (it becomes '), and a backslash is doubled: so both who knows
 * escapes and who does not find the end where it is, whatever a peer has said.
 *
 * As a JSON object (RFC 8259): always a whole one, whatever octets values have
 * and however long they are.
 *
 *     {"time":"...","level":"warn","event":"record-dropped","call":7}
 *
 * As an entry of systemd's journal, by its native protocol, which systemd
 * documents as stable (JOURNAL_NATIVE_PROTOCOL) and which needs no library: a
 * datagram of FIELD=value lines for each entry.
 *
 *     PRIORITY=4
 *     SYSLOG_IDENTIFIER=codec-runner
 *     CR_EVENT=record-dropped
 *     CR_CALL=7
 *     MESSAGE=record-dropped call=7
 *
 * No value has a line break, so none needs the binary form; journalctl shows
 * what is no UTF-8 as numbers, so none has such octets either.
 */
#define _GNU_SOURCE
#include "observe/log_line.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/utf8.h"

/** A value that is longer is cut. */
enum { LOG_VALUE_MAX = 1024 };

enum { LOG_TIME_MAX = 96 };

/* A field's value as text. */
struct log_value {
	const char *key, *text; /* any octets */
	size_t key_len, len;
	bool quoted; /* in quotation marks */
	bool cut;    /* it was longer */
	bool number; /* one that JSON has */
	char digits[64];
};

static void read_field(struct log_value *v, const struct log_field *f)
{
	*v = (struct log_value){ .key = f->key, .key_len = strlen(f->key) };
	v->text = v->digits;
	switch (f->kind) {
	case LOG_KIND_WORD:
	case LOG_KIND_STR:
		v->text = f->text ? f->text : "";
		v->quoted = f->kind == LOG_KIND_STR;
		break;
	case LOG_KIND_INT:
		v->number = true;
		(void)snprintf(v->digits, sizeof(v->digits), "%" PRId64,
			       f->number);
		break;
	case LOG_KIND_REAL: /* JSON has neither infinite numbers nor NaN */
		v->number = isfinite(f->real);
		(void)snprintf(v->digits, sizeof(v->digits), "%.*f",
			       (int)f->decimals, f->real);
		break;
	}
	v->len = strnlen(v->text, LOG_VALUE_MAX + 1);
	v->cut = v->len > LOG_VALUE_MAX;
	v->len -= v->cut;
}

/* "2024-05-01T12:00:00.123Z" of now, into @buf. */
static void log_line_time(char buf[LOG_TIME_MAX])
{
	cr_ns now = clock_read(CLOCK_REALTIME);
	time_t seconds = (time_t)(now / CR_SEC);
	struct tm tm;

	(void)gmtime_r(&seconds, &tm);
	(void)snprintf(buf, LOG_TIME_MAX, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ",
		       tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour,
		       tm.tm_min, tm.tm_sec, (int)(now % CR_SEC / CR_MS));
}

/*
 * Append all of @text, if @l has room for it and for @spare octets more; else
 * nothing.
 */
static bool log_line_put(struct log_line *l, const char *text, size_t n,
			 size_t spare)
{
	if (n + spare > sizeof(l->text) - l->len)
		return false;
	memcpy(l->text + l->len, text, n);
	l->len += n;
	return true;
}

/* Room for what may follow: the end of a text, and the mark of a cut. */
#define TEXT_CUT " cut=true"
#define TEXT_SPARE (sizeof("\"" TEXT_CUT "\n") - 1)

static const char *const level_words[] = { "error", "warn ", "info ", "debug" };

/* Append all of @text, if there is room for @spare octets more; else nothing.
 */
static bool put_or_cut(struct log_line *l, const char *text, size_t n,
		       size_t spare)
{
	bool message = l->format == LOG_JOURNAL;
	char *to = message ? l->message : l->text;
	size_t *len = message ? &l->message_len : &l->len;

	if (n + spare > LOG_TEXT_MAX - *len)
		return false;
	memcpy(to + *len, text, n);
	*len += n;
	return true;
}

static void put_text_string(struct log_line *l, const char *text)
{
	(void)put_or_cut(l, text, strlen(text), TEXT_SPARE);
}

/* A line of text, or the journal's message. */
static void log_text_begin(struct log_line *l, enum log_level level,
			   const char *event)
{
	char head[LOG_TIME_MAX + 32], time[LOG_TIME_MAX];

	if (l->format != LOG_JOURNAL) {
		log_line_time(time);
		(void)snprintf(head, sizeof(head), "%s %s ", time,
			       level_words[level]);
		put_text_string(l, head);
	}
	put_text_string(l, event);
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
static bool put_text_character(struct log_line *l, const char *text, size_t n,
			       size_t *octets)
{
	if (!disarm_is_harmless(text, n, octets))
		return put_or_cut(l, "?", 1, TEXT_SPARE);
	if (*text == '"')
		return put_or_cut(l, "'", 1, TEXT_SPARE);
	if (*text == '\\')
		return put_or_cut(l, "\\\\", 2, TEXT_SPARE);
	return put_or_cut(l, text, *octets, TEXT_SPARE);
}

static void put_quoted(struct log_line *l, const char *text, size_t n)
{
	size_t octets;

	(void)put_or_cut(l, "\"", 1, 0);
	for (; n; text += octets, n -= octets)
		if (!put_text_character(l, text, n, &octets)) {
			l->cut = true;
			break;
		}
	(void)put_or_cut(l, "\"", 1, 0);
}

static void put_text_value(struct log_line *l, const struct log_value *v)
{
	l->cut |= v->cut;
	if (!put_or_cut(l, "", 0,
			v->key_len + sizeof(" =\"\"") - 1 + TEXT_SPARE)) {
		l->cut = true;
		return;
	}
	(void)put_or_cut(l, " ", 1, 0);
	(void)put_or_cut(l, v->key, v->key_len, 0);
	(void)put_or_cut(l, "=", 1, 0);
	if (v->quoted || !is_word(v) ||
	    !put_or_cut(l, v->text, v->len, TEXT_SPARE))
		put_quoted(l, v->text, v->len);
}

/* Room for what may follow: the end of a text, and the mark of a cut. */
#define JSON_CUT ",\"cut\":true"
#define JSON_SPARE (sizeof("\"" JSON_CUT "}\n") - 1)

/* In place of what is no character: U+FFFD. */
#define JSON_NO_CHARACTER "\\ufffd"

static bool put_json_string(struct log_line *l, const char *text)
{
	return log_line_put(l, text, strlen(text), JSON_SPARE);
}

/* One character, or octet that is none; returns its octets, 0: no room. */
static size_t put_json_character(struct log_line *l, const char *text, size_t n)
{
	size_t octets;
	bool harmless = disarm_is_harmless(text, n, &octets);
	char escape[8];

	if (!utf8_length(text, n))
		return put_json_string(l, JSON_NO_CHARACTER);
	if (*text == '"' || *text == '\\')
		(void)snprintf(escape, sizeof(escape), "\\%c", *text);
	else if (!harmless)
		(void)snprintf(escape, sizeof(escape), "\\u%04x",
			       utf8_code(text, octets) & 0xffff);
	else
		return log_line_put(l, text, octets, JSON_SPARE) ? octets : 0;
	return put_json_string(l, escape) ? octets : 0;
}

static void put_json_text(struct log_line *l, const char *text, size_t n)
{
	(void)log_line_put(l, "\"", 1, 0);
	while (n) {
		size_t octets = put_json_character(l, text, n);

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
static bool put_json_key(struct log_line *l, const char *key, size_t n)
{
	size_t need = n + sizeof(",\"\":\"\"") - 1;

	if (!log_line_put(l, "", 0, need + JSON_SPARE)) {
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

static void put_json_member(struct log_line *l, const char *key,
			    const char *text)
{
	if (put_json_key(l, key, strlen(key)))
		put_json_text(l, text, strlen(text));
}

/* One JSON object a line. */
static void log_json_begin(struct log_line *l, enum log_level level,
			   const char *event)
{
	char time[LOG_TIME_MAX];

	log_line_time(time);
	(void)log_line_put(l, "{", 1, 0);
	put_json_member(l, "time", time);
	put_json_member(l, "level", log_level_names[level]);
	put_json_member(l, "event", event);
}

static void put_json_value(struct log_line *l, const struct log_value *v)
{
	l->cut |= v->cut;
	if (!put_json_key(l, v->key, v->key_len))
		return;
	if (v->number && log_line_put(l, v->text, v->len, JSON_SPARE))
		return;
	put_json_text(l, v->text, v->len);
}

/* Of a field's name, as the journal takes it; ours begin with a prefix, so that
 * none is another one's. */
#define JOURNAL_PREFIX "CR_"
enum { NAME_MAX_LEN = 64 };

/* Room for what follows the fields, beside the message's own text. */
#define JOURNAL_MESSAGE "MESSAGE="

/* In place of what is no character: U+FFFD. */
#define JOURNAL_NO_CHARACTER "\xef\xbf\xbd"

static const char priorities[] = { '3', '4', '6', '7' }; /* of syslog(3) */

/* --- an entry --- */

/* Room for the message, which is behind the fields. */
static size_t journal_spare(void)
{
	return sizeof(JOURNAL_MESSAGE) + LOG_TEXT_MAX + sizeof("\n\n");
}

/* One character, harmless, if @l has room for @more behind it. */
static size_t put_journal_character(struct log_line *l, const char *text,
				    size_t n, size_t more)
{
	size_t octets;
	bool harmless = disarm_is_harmless(text, n, &octets);

	if (!utf8_length(text, n))
		return log_line_put(l, JOURNAL_NO_CHARACTER,
				    sizeof(JOURNAL_NO_CHARACTER) - 1, more);
	if (!log_line_put(l, harmless ? text : "?", harmless ? octets : 1,
			  more))
		return 0;
	return octets;
}

static void put_journal_text(struct log_line *l, const char *text, size_t n,
			     size_t more)
{
	size_t octets = 1;

	for (; n && octets; text += octets, n -= octets)
		octets = put_journal_character(l, text, n, more);
}

/* "needs-restart" as "CR_NEEDS_RESTART". */
static size_t journal_name_of(char name[NAME_MAX_LEN], const char *key,
			      size_t n)
{
	size_t len = sizeof(JOURNAL_PREFIX) - 1;

	memcpy(name, JOURNAL_PREFIX, len);
	for (size_t i = 0; i < n && len < NAME_MAX_LEN; i++) {
		char c = key[i];

		if (c >= 'a' && c <= 'z')
			c = (char)(c - 'a' + 'A');
		else if (c == '-')
			c = '_';
		name[len++] = c;
	}
	return len;
}

static void put_journal_field(struct log_line *l, const char *key,
			      size_t key_len, const char *text, size_t len)
{
	char name[NAME_MAX_LEN];
	size_t n = journal_name_of(name, key, key_len);
	size_t end = journal_spare() + sizeof("\n");

	if (!log_line_put(l, "", 0, n + sizeof("=") + end))
		return;
	(void)log_line_put(l, name, n, 0);
	(void)log_line_put(l, "=", 1, 0);
	put_journal_text(l, text, len, end);
	(void)log_line_put(l, "\n", 1, 0);
}

/* Fields of the journal's native protocol. */
static void log_journal_begin(struct log_line *l, enum log_level level,
			      const char *event)
{
	char text[320];
	int n = snprintf(text, sizeof(text),
			 "PRIORITY=%c\nSYSLOG_IDENTIFIER=%.255s\n",
			 priorities[level], program_invocation_short_name);

	(void)log_line_put(l, text, (size_t)n, journal_spare());
	put_journal_field(l, "event", sizeof("event") - 1, event,
			  strlen(event));
	log_text_begin(l, level, event);
}

/* --- any of them --- */

void log_line_begin(struct log_line *l, enum log_format format,
		    enum log_level level, const char *event)
{
	l->format = format;
	l->cut = false;
	l->len = l->message_len = 0;
	if (format == LOG_JSON)
		log_json_begin(l, level, event);
	else if (format == LOG_JOURNAL)
		log_journal_begin(l, level, event);
	else
		log_text_begin(l, level, event);
}

void log_line_add(struct log_line *l, const struct log_field *fields)
{
	struct log_value v;

	for (; fields && fields->key; fields++) {
		read_field(&v, fields);
		if (l->format == LOG_JSON) {
			put_json_value(l, &v);
			continue;
		}
		if (l->format == LOG_JOURNAL)
			put_journal_field(l, v.key, v.key_len, v.text, v.len);
		put_text_value(l, &v);
	}
}

void log_line_end(struct log_line *l)
{
	if (l->format == LOG_JSON) {
		if (l->cut)
			(void)log_line_put(l, JSON_CUT, sizeof(JSON_CUT) - 1,
					   0);
		(void)log_line_put(l, "}\n", 2, 0);
		return;
	}
	if (l->cut)
		(void)put_or_cut(l, TEXT_CUT, sizeof(TEXT_CUT) - 1, 0);
	if (l->format != LOG_JOURNAL) {
		(void)put_or_cut(l, "\n", 1, 0);
		return;
	}
	(void)log_line_put(l, JOURNAL_MESSAGE, sizeof(JOURNAL_MESSAGE) - 1, 0);
	put_journal_text(l, l->message, l->message_len, sizeof("\n\n"));
	(void)log_line_put(l, "\n\n", 2, 0);
}

const char *log_line_ending(enum log_format format)
{
	return format == LOG_JOURNAL ? "\n\n" : "\n";
}

void log_text(const struct log_field *fields, char *to, size_t size)
{
	struct log_line l = { .format = LOG_TEXT };

	log_line_add(&l, fields);
	(void)snprintf(to, size, "%.*s", (int)l.len - (l.len > 0),
		       l.text + (l.len > 0));
}
