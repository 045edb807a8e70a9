/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The manual page of a file of options: troff with the man macros. The one
 * under docs/man comes from here, so that it agrees with the program.
 */
#include "config/config.h"

#include "base/troff.h"
#include "config/lines.h"
#include "config/text.h"

static void put_head(const struct cli *cli, FILE *out)
{
	troff_title(out, cli->program);
	(void)fprintf(out,
		      ".CONF 5 \"\" \"codec-runner %s\" \"File Formats\"\n"
		      ".SH NAME\n",
		      CR_VERSION);
	troff_text(out, cli->program);
	(void)fprintf(out, ".conf \\- options of ");
	troff_text(out, cli->program);
	(void)fprintf(out, "(1) in a file\n");
}

static void put_format(FILE *out)
{
	char text[512];

	(void)fprintf(out, ".SH FORMAT\n.PP\n.nf\n.RS\n"
			   "# a comment\n"
			   "name = value\n"
			   "name = \"value\"\n"
			   ".RE\n.fi\n");
	troff_paragraphs(
		out, "Names are those of the options without the dashes, in "
		     "full. Flags are yes or no: no-admission = yes. Options "
		     "that may be given several times have a line each; others "
		     "have one.");
	troff_paragraphs(
		out,
		"A comment is a line of its own, so values may have a "
		"\"#\". Blanks at the ends of a value do not count, unless "
		"it is in quotation marks; between these all is taken as "
		"it is.");
	(void)snprintf(
		text, sizeof(text),
		"The text is UTF-8, with or without a byte order mark; "
		"lines end with LF or CR LF and have up to %u bytes, the "
		"file up to %zu. It has to be a file: no folder, no "
		"FIFO, no device.",
		CONFIG_LINE, CONFIG_BYTES);
	troff_paragraphs(out, text);
	troff_paragraphs(
		out, "The command line replaces what the file has; of an "
		     "option that may be given several times, all of it. There "
		     "--NAME=no takes back a flag.");
	troff_paragraphs(
		out, "If anything is wrong, nothing of the file is used: each "
		     "fault is told with its line, and the program ends with "
		     "2.");
}

static void put_option(FILE *out, const struct cli_opt *o)
{
	char arg[256];
	const char *word = cli_argument(o, arg, sizeof(arg));

	(void)fprintf(out, ".TP\n\\fB");
	troff_text(out, o->name);
	(void)fprintf(out, "\\fR = \\fI");
	troff_text(out, word ? word : "yes|no");
	(void)fprintf(out, "\\fR%s\n", o->flags & CLI_LIVE ? " (SIGHUP)" : "");
	troff_help(out, o);
}

static void put_options(const struct cli *cli, FILE *out)
{
	(void)fprintf(out, ".SH OPTIONS\n");
	troff_paragraphs(out,
			 "(SIGHUP) marks those of which a new value is taken "
			 "while the program runs.");
	for (const struct cli_opt *o = cli->opts; !cli_is_end(o); o++) {
		if (!o->help || o->flags & CLI_COMMAND_LINE)
			continue;
		if (o->kind != CLI_SECTION) {
			put_option(out, o);
			continue;
		}
		troff_section(out, o->help);
	}
}

static void put_again(const struct cli *cli, FILE *out)
{
	const char *before = "";

	(void)fprintf(out, ".SH READING AGAIN\n");
	troff_paragraphs(
		out, "SIGHUP reads the file again. If anything is wrong with "
		     "it, the log says what and nothing changes. Otherwise "
		     "these options take their new values:");
	(void)fprintf(out, ".PP\n");
	for (const struct cli_opt *o = cli->opts; !cli_is_end(o); o++) {
		if (!(o->flags & CLI_LIVE))
			continue;
		(void)fputs(before, out);
		troff_text(out, o->name);
		before = ",\n";
	}
	(void)fprintf(out, ".\n");
	troff_paragraphs(
		out, "Of all others the log says that they need a restart, as "
		     "long as the file has another value than the running "
		     "program. What the command line has given stays.");
}

void config_print_page(const struct cli *cli, const char *path, FILE *out)
{
	put_head(cli, out);
	(void)fprintf(out, ".SH DESCRIPTION\n");
	troff_paragraphs(
		out, "The program reads this file when it starts, if it is "
		     "there; --config names another one, which has to be "
		     "there, or none. --check-config says whether it is in "
		     "order, --dump-config what holds and where each value is "
		     "from.");
	put_format(out);
	put_options(cli, out);
	put_again(cli, out);
	(void)fprintf(out, ".SH FILES\n.TP\n.B ");
	troff_text(out, path);
	(void)fprintf(out, "\nIt is read unless --config is given.\n");
	(void)fprintf(out, ".SH SEE ALSO\n");
	troff_text(out, cli->program);
	(void)fprintf(out, "(1)\n");
}
