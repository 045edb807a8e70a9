/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the trace of a running node begins: one JSON object, written here as
 * text, since what nodes are made of knows no JSON. Keys are in order.
 */
#include "observe/trace_head.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

/* Is there one more byte of a character at @s? */
static bool goes_on(unsigned char s)
{
	return (s & 0xc0) == 0x80;
}

/* The bytes of the character at @s, or 0: that is no UTF-8 (RFC 3629). */
static unsigned utf8_length(const unsigned char *s)
{
	if (s[0] < 0x80)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4 || !goes_on(s[1]))
		return 0;
	if (s[0] < 0xe0)
		return 2;
	if (!goes_on(s[2]) || (s[0] == 0xe0 && s[1] < 0xa0) ||
	    (s[0] == 0xed && s[1] > 0x9f))
		return 0;
	if (s[0] < 0xf0)
		return 3;
	if (!goes_on(s[3]) || (s[0] == 0xf0 && s[1] < 0x90) ||
	    (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return 4;
}

/* @text in quotes; '?' for each byte that is no UTF-8. */
static void put_quoted(FILE *f, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	unsigned n;

	(void)fputc('"', f);
	for (; *s; s += n ? n : 1) {
		n = utf8_length(s);
		if (!n)
			(void)fputc('?', f);
		else if (*s < 0x20)
			(void)fprintf(f, "\\u%04x", (unsigned)*s);
		else if (*s == '"' || *s == '\\')
			(void)fprintf(f, "\\%c", *s);
		else
			(void)fwrite(s, 1, n, f);
	}
	(void)fputc('"', f);
}

static void put_member(FILE *f, const char *key, const char *text)
{
	(void)fprintf(f, "\"%s\":", key);
	put_quoted(f, text);
	(void)fputc(',', f);
}

static void put_head(FILE *f, const struct trace_head *h)
{
	struct utsname u = { 0 };

	(void)uname(&u);
	(void)fprintf(f, "{\"cpus_per_rq\":%u,\"live\":true,\"machine\":{",
		      h->cpus_per_rq);
	put_member(f, "arch", u.machine);
	put_member(f, "kernel", u.release);
	(void)fputs("\"node\":", f);
	put_quoted(f, u.nodename);
	(void)fputs("},", f);
	put_member(f, "options", h->options);
	put_member(f, "program", h->program);
	put_member(f, "scheduler", h->scheduler);
	put_member(f, "version", h->version);
	(void)fprintf(f, "\"workers\":%u}", h->workers);
}

char *trace_head_text(const struct trace_head *h)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	bool bad;

	if (!f)
		return NULL;
	put_head(f, h);
	bad = ferror(f);
	if (fclose(f) || bad) {
		free(text);
		return NULL;
	}
	return text;
}

int trace_start_live(struct trace *t, const char *path,
		     const struct trace_head *h, struct cr_err *e)
{
	char *text = trace_head_text(h);
	int err;

	if (!text)
		return cr_fail(e, -ENOMEM, "out of memory");
	err = trace_start(t, path, text, e);
	free(text);
	return err;
}
