/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program's options: its defaults, then a file (config/lines.h), then the
 * command line, each by the same table (base/cli.h). What is given more to the
 * right replaces what is given further to the left; of an option that may be
 * repeated, the command line replaces all that the file has.
 *
 * Where each value comes from is kept: for messages, and to show.
 *
 * Main thread only.
 */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include "base/cli.h"
#include "config/faults.h"

enum config_source { CONFIG_DEFAULT, CONFIG_FILE, CONFIG_COMMAND_LINE };

/** Where the values of a row come from. */
struct config_origin {
	enum config_source source;
	unsigned line[CLI_MAX_LIST]; /**< of the file, of each value */
	unsigned count;		     /**< of these                   */
};

struct config {
	const struct cli *cli;
	char *path; /**< of the file that was read; NULL: none          */
	char *text; /**< of it: values of rows point into it            */
	struct config_origin origin[CLI_MAX_OPTS];
	/** What each row has: its values, a line each; NULL: none. */
	char *value[CLI_MAX_OPTS];
	struct config_faults faults;
};

/** What is read. */
struct config_ask {
	const struct cli *cli; /**< cli_asked() has said no             */
	int argc;
	char **argv;
	const char *path; /**< of the file; NULL: none                  */
	bool must;	  /**< it has to be there                       */
};

/**
 * Read what @ask says into the variables of its rows, which have their
 * defaults. 0; or -EINVAL: something is wrong, and @c->faults has all of it.
 * @c, if not: config_free() it when no value is used any more.
 */
int config_read(struct config *c, const struct config_ask *ask);
void config_free(struct config *c); /**< zero is fine */

/** Value number @i of the option @name (NULL: of several) is wrong, as @why
 * says: into @c->faults, with where it comes from. */
void config_blame(struct config *c, const char *name, unsigned i,
		  const char *why);

/** Does row number @i have the same in both? */
bool config_same(const struct config *a, const struct config *b, unsigned i);

/** The row number of @name, which is there. */
unsigned config_row(const struct config *c, const char *name);

/**
 * Write what the rows have as a file that says the same, with where each value
 * comes from; defaults are comments. 0; or -EINVAL with @e: a value that no
 * file can have.
 */
int config_print(const struct config *c, FILE *out, struct cr_err *e);

/** Write a file with every option and its help as a comment, and the default.
 * Before anything is read. */
void config_print_example(const struct cli *cli, FILE *out);

/** Write the manual page (troff, section 5) of the file @path. */
void config_print_page(const struct cli *cli, const char *path, FILE *out);

#endif
