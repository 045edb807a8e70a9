/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The --help text of a command line table, wrapped to 80 columns.
 */
#include "base/cli.h"

#include <ctype.h>
#include <string.h>

enum { COLUMNS = 80, HELP_COLUMN = 28 };

/* Where the next character goes, and where new lines begin. */
struct page {
	FILE *out;
	int column, indent;
};

static void new_line(struct page *p)
{
	(void)fputc('\n', p->out);
	p->column = 0;
}

static void pad_to(struct page *p, int column)
{
	for (; p->column < column; p->column++)
		(void)fputc(' ', p->out);
}

/* Prints one word, on a new line when it does not fit any more. */
static void put_word(struct page *p, const char *word, int len)
{
	if (p->column > p->indent && p->column + 1 + len > COLUMNS)
		new_line(p);
	if (p->column > p->indent)
		p->column += fprintf(p->out, " ");
	pad_to(p, p->indent);
	p->column += fprintf(p->out, "%.*s", len, word);
}

/* Prints @text in words; '\n' in it ends a line. */
static void put_text(struct page *p, const char *text)
{
	while (*text) {
		int len = (int)strcspn(text, " \n");

		if (len)
			put_word(p, text, len);
		text += len;
		if (*text == '\n')
			new_line(p);
		text += *text != '\0';
	}
}

static void put_pair(struct page *p, const char *left, const char *right)
{
	p->indent = HELP_COLUMN;
	p->column = fprintf(p->out, "  %s", left);
	if (p->column >= HELP_COLUMN)
		new_line(p);
	pad_to(p, HELP_COLUMN);
	put_text(p, right);
	new_line(p);
}

static void put_option(struct page *p, const struct cli_opt *o)
{
	char left[128], arg[256], dflt[128], right[1024];
	const char *word = cli_argument(o, arg, sizeof(arg));

	(void)cli_default(o, dflt, sizeof(dflt));
	(void)snprintf(left, sizeof(left), "%c%c%c --%s%s%.*s",
		       o->letter ? '-' : ' ', o->letter ? o->letter : ' ',
		       o->letter ? ',' : ' ', o->name, word ? "=" : "", 80,
		       word ? word : "");
	(void)snprintf(right, sizeof(right), "%s%s%s%s", o->help,
		       *dflt ? " (default: " : "", dflt, *dflt ? ")" : "");
	put_pair(p, left, right);
}

static void put_options(struct page *p, const struct cli_opt *o)
{
	if (o->kind != CLI_SECTION)
		(void)fprintf(p->out, "\nOptions:\n");
	for (; o->name || o->help; o++) {
		if (o->kind == CLI_SECTION)
			(void)fprintf(p->out, "\n%s:\n", o->help);
		else if (o->help)
			put_option(p, o);
	}
	(void)fprintf(p->out, "\nGeneral:\n");
	put_pair(p, "-h, --help", "print this text and exit");
	put_pair(p, "    --version", "print the version and exit");
}

static void put_lines(struct page *p, const char *title,
		      const struct cli_line *line)
{
	if (!line)
		return;
	(void)fprintf(p->out, "\n%s:\n", title);
	for (; line->left; line++)
		put_pair(p, line->left, line->right);
}

static void put_examples(struct page *p, const struct cli_line *line)
{
	if (!line)
		return;
	(void)fprintf(p->out, "\nExamples:\n");
	for (; line->left; line++) {
		(void)fprintf(p->out, "  %s\n", line->left);
		p->column = 0;
		p->indent = 6;
		put_text(p, line->right);
		new_line(p);
	}
}

static void put_usage(struct page *p, const struct cli *c)
{
	const char *line = c->synopsis;

	for (int first = 1; *line; first = 0) {
		int len = (int)strcspn(line, "\n");

		(void)fprintf(p->out, "%s %s %.*s\n",
			      first ? "Usage:" : "  or: ", c->program, len,
			      line);
		line += len;
		line += *line == '\n';
	}
}

void cli_help(const struct cli *c, FILE *out)
{
	struct page p = { .out = out };
	char summary[256];

	put_usage(&p, c);
	(void)fprintf(out, "\n");
	(void)snprintf(summary, sizeof(summary), "%s", c->summary);
	/* In the man page it follows a dash: there it begins small. */
	summary[0] = (char)toupper((unsigned char)summary[0]);
	put_text(&p, summary);
	(void)fprintf(out, ".\n");
	p.column = 0;
	if (c->text) {
		(void)fprintf(out, "\n");
		put_text(&p, c->text);
		new_line(&p);
	}
	put_lines(&p, "Operands", c->operands);
	put_options(&p, c->opts);
	put_examples(&p, c->examples);
	put_lines(&p, "Exit codes", c->exits);
}
