/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The man page of a command line table: troff with the man macros. Pages
 * under docs/man come from here, so that they agree with the program.
 */
#include "base/cli.h"

#include <string.h>

#include "base/troff.h"

static void put_synopsis(FILE *out, const struct cli *c)
{
	const char *line = c->synopsis;

	(void)fprintf(out, ".SH SYNOPSIS\n");
	while (*line) {
		size_t len = strcspn(line, "\n");

		(void)fprintf(out, ".B ");
		troff_text(out, c->program);
		(void)fprintf(out, "\n");
		troff_bytes(out, line, len);
		(void)fprintf(out, "\n");
		line += len;
		if (*line == '\n') {
			(void)fprintf(out, ".br\n");
			line++;
		}
	}
}

static void put_option(FILE *out, const struct cli_opt *o)
{
	char arg[256];
	const char *word = cli_argument(o, arg, sizeof(arg));

	(void)fprintf(out, ".TP\n");
	if (o->letter)
		(void)fprintf(out, "\\fB\\-%c\\fR, ", o->letter);
	(void)fprintf(out, "\\fB\\-\\-");
	troff_text(out, o->name);
	(void)fprintf(out, "\\fR");
	if (word) {
		(void)fprintf(out, "=\\fI");
		troff_text(out, word);
		(void)fprintf(out, "\\fR");
	}
	(void)fprintf(out, "\n");
	troff_help(out, o);
}

static void put_options(FILE *out, const struct cli_opt *o)
{
	(void)fprintf(out, ".SH OPTIONS\n");
	for (; o->name || o->help; o++) {
		if (o->kind == CLI_SECTION) {
			troff_section(out, o->help);
		} else if (o->name && o->help) {
			put_option(out, o);
		}
	}
	(void)fprintf(out, ".SS General\n"
			   ".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\n"
			   "Print a summary of the options and exit.\n"
			   ".TP\n\\fB\\-\\-version\\fR\n"
			   "Print the version and exit.\n");
}

static void put_lines(FILE *out, const char *title, const struct cli_line *line)
{
	if (!line)
		return;
	(void)fprintf(out, ".SH %s\n", title);
	for (; line->left; line++) {
		(void)fprintf(out, ".TP\n.B ");
		troff_text(out, line->left);
		(void)fprintf(out, "\n");
		troff_text(out, line->right);
		(void)fprintf(out, "\n");
	}
}

static void put_examples(FILE *out, const struct cli_line *line)
{
	if (!line)
		return;
	(void)fprintf(out, ".SH EXAMPLES\n");
	for (; line->left; line++) {
		(void)fprintf(out, ".PP\n");
		troff_text(out, line->right);
		(void)fprintf(out, "\n.PP\n.nf\n.RS\n");
		troff_text(out, line->left);
		(void)fprintf(out, "\n.RE\n.fi\n");
	}
}

void cli_man(const struct cli *c, FILE *out)
{
	troff_title(out, c->program);
	(void)fprintf(out, " 1 \"\" \"codec-runner %s\" \"User Commands\"\n",
		      CR_VERSION);
	(void)fprintf(out, ".SH NAME\n");
	troff_text(out, c->program);
	(void)fprintf(out, " \\- ");
	troff_text(out, c->summary);
	(void)fprintf(out, "\n");
	put_synopsis(out, c);
	(void)fprintf(out, ".SH DESCRIPTION\n");
	troff_paragraphs(out, c->text ? c->text : c->summary);
	put_lines(out, "OPERANDS", c->operands);
	put_options(out, c->opts);
	put_examples(out, c->examples);
	put_lines(out, "EXIT STATUS", c->exits);
	if (c->see_also) {
		(void)fprintf(out, ".SH SEE ALSO\n");
		troff_text(out, c->see_also);
		(void)fprintf(out, "\n");
	}
}
