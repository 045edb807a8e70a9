/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command lines from one table: parsing, --help, --version and the man page
 * (hidden option --man) all come from the same rows.
 *
 * A program has a struct of variables, rows (base/field.h) that say what goes
 * there, and a const struct cli with both, and calls cli_parse() first thing in
 * main(). Uses getopt_long(3), so options and operands may be mixed, long names
 * may be shortened, and "--" ends the options. Main thread only.
 */
#ifndef BASE_CLI_H
#define BASE_CLI_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/field.h"
#include "cr/error.h"

/** Most options of one program. */
#define CLI_MAX_OPTS 128u

/** A line of the examples or of the exit codes. Ends with a NULL left. */
struct cli_line {
	const char *left, *right;
};

/** A program's command line. */
struct cli {
	const char *program;  /**< "codec-feeder"                         */
	const char *synopsis; /**< "[OPTION]... CAMPAIGN"; one per line   */
	const char *summary;  /**< one line, no full stop: NAME of the man
				   page                                   */
	const char *text;     /**< paragraphs, '\n' between them; or NULL */
	const struct field *opts;
	void *vars; /**< the struct that the rows' members are in        */
	const struct cli_line *operands; /**< "CAMPAIGN", what it is; or NULL */
	const struct cli_line *examples; /**< command, what it does; or NULL  */
	const struct cli_line *exits;	 /**< "0", when; or NULL              */
	const char *see_also;		 /**< man page references; or NULL    */
	int min_args, max_args;		 /**< operands; max -1: any number    */
	/** Its options may come from a file, too (config/config.h). So that the
	 * command line can take back a flag, flags have a word, if any:
	 * --flag=no. */
	bool has_file;
};

/**
 * Give the variables of @c's rows their defaults, then what @argv says
 * (getopt_long may reorder it).
 *
 * Returns the index of the first operand (argc when there is none), 0 when
 * --help, --version or --man was asked for and has been printed to stdout, or
 * -EINVAL with @e: unknown option (with the nearest name), bad value, value
 * out of bounds, wrong number of operands; the first of these. Rows that are in
 * order have been written then.
 */
int cli_parse(const struct cli *c, int argc, char **argv, struct cr_err *e);

/** The first half of cli_parse(): was --help, --version or --man asked for? It
 * has been printed to stdout then. Changes neither @argv nor variables. Exits
 * with 1 if there is no memory to look at @argv. */
bool cli_asked(const struct cli *c, int argc, char **argv);

enum cli_source { CLI_DEFAULT, CLI_FILE, CLI_COMMAND_LINE };

/** The texts given for a row. */
struct cli_given {
	enum cli_source source;
	struct field_texts text;	/**< has one, but of a FIELD_TEXTS   */
	unsigned line[FIELD_TEXTS_MAX]; /**< of a file, of each              */
};

/** The destination of values. */
struct cli_target {
	const struct cli *cli;
	void *vars;		 /**< its rows' members             */
	struct cli_given *given; /**< [CLI_MAX_OPTS], by row        */
	/** Called for each error. */
	void (*fault)(void *arg, const char *why);
	void *arg;
};

/** Give row @o, no section, the value @text, which has to stay, from @source
 * (and @line): in place of what it has from another one. 0, or -EINVAL with @e
 * as cli_parse(). */
int cli_give(const struct cli_target *to, const struct field *o,
	     enum cli_source source, unsigned line, const char *text,
	     struct cr_err *e);

/**
 * The second half of cli_parse(), without defaults: all that is wrong is a
 * fault. Behind an option that is unknown, operands are not counted: one may be
 * its value.
 */
int cli_take(const struct cli_target *to, int argc, char **argv);

/** The last value that @argv has for the option @name, "" of a flag without
 * one, or NULL. What else is wrong with @argv does not count. Changes nothing.
 */
const char *cli_peek(const struct cli *c, int argc, char **argv,
		     const char *name);

/** As cli_parse(), for the first line of main(): exits with 0 after help, and
 * with 2 after printing the error to stderr. Returns the first operand. */
int cli_parse_or_exit(const struct cli *c, int argc, char **argv);

/** Have what was printed to stdout written. 0; or -errno: some of it is lost,
 * now or earlier. */
int cli_written(void);

/** The same at a program's end, the last thing that it does with stdout.
 * Returns the exit code: 0; or 1 when output is lost, with a line on stderr. */
int cli_flush(const char *program);

/** Print the help text, at most 80 columns wide. */
void cli_help(const struct cli *c, FILE *out);

/** Print the man page (troff, man macros, section 1). */
void cli_man(const struct cli *c, FILE *out);

#endif
