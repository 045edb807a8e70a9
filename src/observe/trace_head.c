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

#include "base/utf8.h"

/* @text in quotes; '?' for each byte that is no UTF-8. */
static void put_quoted(FILE *f, const char *text)
{
	size_t left = strlen(text), n;

	(void)fputc('"', f);
	for (; left; text += n ? n : 1, left -= n ? n : 1) {
		n = utf8_length(text, left);
		if (!n)
			(void)fputc('?', f);
		else if ((unsigned char)*text < 0x20)
			(void)fprintf(f, "\\u%04x", (unsigned)*text);
		else if (*text == '"' || *text == '\\')
			(void)fprintf(f, "\\%c", *text);
		else
			(void)fwrite(text, 1, n, f);
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
	(void)fprintf(f, "\"max_age_ns\":%lld,", (long long)h->max_age);
	put_member(f, "options", h->options);
	put_member(f, "program", h->program);
	(void)fprintf(f, "\"ring_frames\":%u,", h->ring_frames);
	put_member(f, "scheduler", h->scheduler);
	put_member(f, "shed", h->shed ? h->shed : "age");
	(void)fprintf(f, "\"shed_wait_ns\":%lld,", (long long)h->shed_wait);
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
