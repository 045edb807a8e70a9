/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of pages, each as text and as troff.
 */
#include "base/page.h"

#include <ctype.h>
#include <string.h>

enum { ITEM_COLUMN = 28, EXAMPLE_COLUMN = 6 };

static void new_line(struct page *p)
{
	p->column = fprintf(p->out, "\n%s", p->prefix) - 1;
}

static void pad_to(struct page *p, int column)
{
	for (; p->column < column; p->column++)
		(void)fputc(' ', p->out);
}

/* Print one word, on a new line when it does not fit any more. */
static void put_help_word(struct page *p, const char *word, int len)
{
	if (p->column > p->indent && p->column + 1 + len > p->width)
		new_line(p);
	if (p->column > p->indent)
		p->column += fprintf(p->out, " ");
	pad_to(p, p->indent);
	p->column += fprintf(p->out, "%.*s", len, word);
}

/* Print @len bytes of @text so that troff takes them literally. */
static void troff_bytes(FILE *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (!i && (text[i] == '.' || text[i] == '\''))
			(void)fputs("\\&", out);
		if (text[i] == '\\')
			(void)fputs("\\e", out);
		else if (text[i] == '-')
			(void)fputs("\\-", out);
		else
			(void)fputc(text[i], out);
	}
}

void page_text(struct page *p, const char *text)
{
	if (p->man) {
		troff_bytes(p->out, text, strlen(text));
		return;
	}
	while (*text) {
		int len = (int)strcspn(text, " \n");

		if (len)
			put_help_word(p, text, len);
		text += len;
		if (*text == '\n')
			new_line(p);
		text += *text != '\0';
	}
}

void page_paragraphs(struct page *p, const char *text)
{
	if (!p->man) {
		page_text(p, text);
		(void)fputc('\n', p->out);
		p->column = 0;
		return;
	}
	while (*text) {
		size_t len = strcspn(text, "\n");

		if (len) {
			(void)fprintf(p->out, ".PP\n");
			troff_bytes(p->out, text, len);
			(void)fprintf(p->out, "\n");
		}
		text += len;
		text += *text == '\n';
	}
}

static void put_capitals(FILE *out, const char *text)
{
	for (; *text; text++)
		(void)fputc(toupper((unsigned char)*text), out);
}

void page_title(struct page *p, const char *name, const char *suffix,
		char section, const char *volume, const char *summary)
{
	(void)fprintf(p->out, ".TH ");
	put_capitals(p->out, name);
	put_capitals(p->out, suffix);
	(void)fprintf(p->out, " %c \"\" \"codec-runner %s\" \"%s\"\n", section,
		      CR_VERSION, volume);
	(void)fprintf(p->out, ".SH NAME\n");
	page_text(p, name);
	(void)fprintf(p->out, "%s \\- ", suffix);
	page_text(p, summary);
	(void)fprintf(p->out, "\n");
}

void page_section(struct page *p, const char *title)
{
	if (p->man) {
		(void)fprintf(p->out, ".SH ");
		put_capitals(p->out, title);
		(void)fprintf(p->out, "\n");
	} else {
		(void)fprintf(p->out, "\n%s:\n", title);
	}
}

void page_group(struct page *p, const char *title)
{
	if (p->man) {
		(void)fprintf(p->out, ".SS ");
		page_text(p, title);
		(void)fprintf(p->out, "\n");
	} else {
		page_section(p, title);
	}
}

/* @text in the column behind a term that has been printed. */
static void put_meaning(struct page *p, const char *text)
{
	if (!p->man) {
		p->indent = ITEM_COLUMN;
		if (p->column >= ITEM_COLUMN)
			new_line(p);
		pad_to(p, ITEM_COLUMN);
	}
	page_text(p, text);
	(void)fputc('\n', p->out);
	p->column = p->indent = 0;
}

void page_item(struct page *p, const char *term, const char *text)
{
	if (p->man) {
		(void)fprintf(p->out, ".TP\n.B ");
		page_text(p, term);
		(void)fputc('\n', p->out);
	} else {
		p->column = fprintf(p->out, "  %s", term);
	}
	put_meaning(p, text);
}

static void put_man_term(struct page *p, const struct field *f, bool in_file,
			 const char *word)
{
	(void)fprintf(p->out, ".TP\n");
	if (f->letter && !in_file)
		(void)fprintf(p->out, "\\fB\\-%c\\fR, ", f->letter);
	(void)fprintf(p->out, in_file ? "\\fB" : "\\fB\\-\\-");
	page_text(p, f->name);
	(void)fprintf(p->out, "\\fR");
	if (*word) {
		(void)fprintf(p->out, in_file ? " = \\fI" : "=\\fI");
		page_text(p, word);
		(void)fprintf(p->out, "\\fR");
	}
	(void)fprintf(p->out, "%s\n",
		      in_file && f->flags & FIELD_LIVE ? " (SIGHUP)" : "");
}

void page_option(struct page *p, const struct field *f, bool in_file)
{
	char word[256] = "", dflt[128] = "", text[2048];
	bool flag = f->kind == FIELD_BOOL;

	if (!flag || in_file)
		(void)field_text_argument(f, word, sizeof(word));
	if (!flag)
		(void)field_text_default(f, dflt, sizeof(dflt));
	(void)snprintf(text, sizeof(text), "%s%s%s%s", f->help,
		       *dflt ? " (default: " : "", dflt, *dflt ? ")" : "");
	if (p->man)
		put_man_term(p, f, in_file, word);
	else
		p->column = fprintf(
			p->out, "  %c%c%c --%s%s%.*s", f->letter ? '-' : ' ',
			f->letter ? f->letter : ' ', f->letter ? ',' : ' ',
			f->name, *word ? "=" : "", 80, word);
	put_meaning(p, text);
}

void page_example(struct page *p, const char *command, const char *text)
{
	if (p->man) {
		page_paragraphs(p, text);
		(void)fprintf(p->out, ".PP\n.nf\n.RS\n");
		page_text(p, command);
		(void)fprintf(p->out, "\n.RE\n.fi\n");
		return;
	}
	(void)fprintf(p->out, "  %s\n", command);
	p->column = 0;
	p->indent = EXAMPLE_COLUMN;
	page_text(p, text);
	(void)fputc('\n', p->out);
	p->column = p->indent = 0;
}
