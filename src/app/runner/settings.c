/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading of codec-runner's options: once at the start, and again.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/runner/rows.h"

/* What was asked for at the start. */
static struct config_ask asked;

static void choose_file(void)
{
	const char *path =
		cli_peek(asked.cli, asked.argc, asked.argv, "config");

	asked.path = path ? path : RUNNER_CONFIG;
	asked.must = path != NULL;
	if (path && !strcmp(path, "none"))
		asked.path = NULL;
}

static int read_options(struct runner_options *o)
{
	rows_reset();
	(void)config_read(&o->from, &asked);
	rows_asked(o);
	/* what is no value has left the default, which is in order: so that all
	 * that is wrong is told at once */
	rows_fill(o);
	return o->from.faults.n ? -EINVAL : 0;
}

_Noreturn static void refuse(const struct runner_options *o)
{
	config_faults_print(&o->from.faults, rows_cli.program, stderr);
	(void)fprintf(stderr, "Try '%s --help'.\n", rows_cli.program);
	exit(2);
}

_Noreturn static void end_printing(void)
{
	exit(cli_flush(rows_cli.program));
}

static void dump(const struct runner_options *o)
{
	struct cr_err e = { "" };

	if (!config_print(&o->from, stdout, &e))
		return;
	(void)fflush(stdout);
	(void)fprintf(stderr, "%s: %s\n", rows_cli.program, e.text);
	exit(2);
}

/* What is of the table alone, whatever the file says. */
static void answer_of_table(const struct runner_options *o)
{
	if (!o->show_example && !o->show_page)
		return;
	rows_reset();
	if (o->show_example)
		config_print_example(&rows_cli, stdout);
	else
		config_print_page(&rows_cli, RUNNER_CONFIG, stdout);
	end_printing();
}

static void answer(const struct runner_options *o)
{
	if (o->dump)
		dump(o);
	else if (o->check)
		printf("%s: in order\n",
		       o->from.path ? o->from.path : "no file; command line");
	else
		return;
	end_printing();
}

void runner_options_parse(struct runner_options *o, int argc, char **argv)
{
	int err;

	if (cli_asked(&rows_cli, argc, argv))
		end_printing();
	asked = (struct config_ask){ .cli = &rows_cli,
				     .argc = argc,
				     .argv = argv };
	choose_file();
	err = read_options(o);
	answer_of_table(o);
	if (!err) {
		rows_load(o);
		err = (int)o->from.faults.n;
	}
	if (err)
		refuse(o);
	/* that file has to be there from now on, too */
	asked.must = o->from.path != NULL;
	answer(o);
}

int runner_options_again(struct runner_options *o)
{
	return read_options(o);
}

void runner_options_free(struct runner_options *o)
{
	config_free(&o->from);
}
