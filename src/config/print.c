/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of options, written: what holds, and an example.
 */
#include "config/config.h"

#include <errno.h>
#include <string.h>

#include "config/lines.h"

enum { COLUMNS = 78 };

static bool in_file(const struct cli_opt *o)
{
	return o->kind != CLI_SECTION && !(o->flags & CLI_COMMAND_LINE) &&
	       o->help;
}

/* @text as a comment; '\n' in it ends a line. */
static void put_comment(FILE *out, const char *text)
{
	int column = fprintf(out, "#");

	while (*text) {
		int len = (int)strcspn(text, " \n");

		if (column > 1 && column + 1 + len > COLUMNS)
			column = fprintf(out, "\n#") - 1;
		if (len)
			column += fprintf(out, " %.*s", len, text);
		text += len;
		if (*text == '\n')
			column = fprintf(out, "\n#") - 1;
		text += *text != '\0';
	}
	(void)fprintf(out, "\n");
}

static void put_section(FILE *out, const struct cli_opt *o)
{
	if (!(o->flags & CLI_COMMAND_LINE))
		(void)fprintf(out, "\n# --- %s ---\n", o->help);
}

/* What stands for the value of @o, which has its default. */
static const char *default_of(const struct cli_opt *o, char *buf, size_t size)
{
	if (o->kind <= CLI_FLAG_OFF)
		return cli_value(o, 0, buf);
	if (*cli_default(o, buf, size))
		return buf;
	return cli_argument(o, buf, size);
}

static void put_default(FILE *out, const struct cli_opt *o)
{
	char buf[256];

	(void)fprintf(out, "#%s = %s\n", o->name,
		      default_of(o, buf, sizeof(buf)));
}

static int put_value(FILE *out, const char *name, const char *value,
		     struct cr_err *e)
{
	const char *mark = config_needs_quotes(value) ? "\"" : "";

	if (!config_can_hold(value))
		return cr_fail(e, -EINVAL,
			       "--%s: its value has a control character, is no "
			       "UTF-8 or is too long: no file can have it",
			       name);
	(void)fprintf(out, "%s = %s%s%s\n", name, mark, value, mark);
	return 0;
}

static void put_origin(FILE *out, const struct config *c, unsigned row,
		       unsigned i)
{
	const struct config_origin *from = &c->origin[row];

	if (from->source == CONFIG_COMMAND_LINE)
		(void)fprintf(out, "# command line\n");
	else
		(void)fprintf(out, "# %s:%u\n", c->path,
			      i < from->count ? from->line[i] : 0);
}

static int put_row(FILE *out, const struct config *c, unsigned row,
		   struct cr_err *e)
{
	const struct cli_opt *o = &c->cli->opts[row];
	char buf[CLI_VALUE];

	if (c->origin[row].source == CONFIG_DEFAULT) {
		(void)fprintf(out, "# default\n");
		put_default(out, o);
		return 0;
	}
	for (unsigned i = 0; !i || o->kind == CLI_LIST; i++) {
		const char *value = cli_value(o, i, buf);
		int err;

		if (!value)
			break;
		put_origin(out, c, row, i);
		err = put_value(out, o->name, value, e);
		if (err)
			return err;
	}
	return 0;
}

int config_print(const struct config *c, FILE *out, struct cr_err *e)
{
	int err = 0;

	(void)fprintf(out, "# Options of %s(1), and where each is from.\n",
		      c->cli->program);
	for (unsigned i = 0; !err && !cli_is_end(&c->cli->opts[i]); i++) {
		const struct cli_opt *o = &c->cli->opts[i];

		if (o->kind == CLI_SECTION)
			put_section(out, o);
		else if (in_file(o))
			err = put_row(out, c, i, e);
	}
	return err;
}

void config_print_example(const struct cli *cli, FILE *out)
{
	char text[1024];

	(void)snprintf(
		text, sizeof(text),
		"Options of %s(1), one a line: name = value. What is "
		"shown are the defaults, or a word for what a value is "
		"like where there is none.\n"
		"A command line replaces what is here. %s --check-config "
		"tells what is wrong, %s --dump-config what holds and "
		"why. See %s.conf(5).",
		cli->program, cli->program, cli->program, cli->program);
	put_comment(out, text);
	for (const struct cli_opt *o = cli->opts; !cli_is_end(o); o++) {
		if (o->kind == CLI_SECTION)
			put_section(out, o);
		if (!in_file(o))
			continue;
		(void)snprintf(text, sizeof(text), "%s%s", o->help,
			       o->flags & CLI_LIVE
				       ? "\nSIGHUP takes a new value."
				       : "");
		(void)fprintf(out, "\n");
		put_comment(out, text);
		put_default(out, o);
	}
}
