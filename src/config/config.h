/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program's options: its defaults, then a file, then the command line, each
 * by the same table (base/cli.h). What is given more to the right replaces what
 * is given further to the left; of an option that may be repeated, the command
 * line replaces all that the file has. Where each value comes from is kept: for
 * messages, and to show. All errors are reported at once.
 *
 * The lines of a file of options:
 *
 *     # a comment: a line of its own, so that values may have a '#'
 *     name = value
 *     name = "value"       to keep blanks at its ends, or to have none
 *
 * The '=' is needed: a line without it is an error. The text is UTF-8, with
 * or without a byte order mark; lines end with LF, CR LF, or the file. What is
 * between quotation marks is taken as it is; there are no escapes.
 *
 * Main thread only; lines are pure.
 */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cli.h"
#include "cr/error.h"

/** Those that are kept; the rest is counted. */
#define CONFIG_FAULTS_MAX 100u

/** Zero: none. */
struct config_faults {
	unsigned n;    /**< of text[]   */
	unsigned more; /**< beyond that */
	struct cr_err text[CONFIG_FAULTS_MAX];
};

/** Add one. Never has control characters: a file is anybody's text. */
__attribute__((format(printf, 2, 3))) void config_faults_add(
	struct config_faults *f, const char *fmt, ...);

/** Print them, a line each behind "@program: ". */
void config_faults_print(const struct config_faults *f, const char *program,
			 FILE *out);

struct config {
	const struct cli *cli;
	char *path; /**< of the file that was read; NULL: none          */
	char *text; /**< of it: values of rows point into it            */
	struct cli_given given[CLI_MAX_OPTS]; /**< by row */
	struct config_faults faults;
};

/** The sources of the options. */
struct config_ask {
	const struct cli *cli; /**< cli_asked() has said no             */
	void *vars;	       /**< in place of those of @cli           */
	int argc;
	char **argv;
	const char *path; /**< of the file; NULL: none                  */
	bool must;	  /**< it has to be there                       */
};

/**
 * Give the variables of @ask's rows their defaults, and then what it says; have
 * texts that count read by .read of their rows. 0; or -EINVAL: something is
 * wrong, and @c->faults has all of it. @c, if not: config_free() it when no
 * value is used any more.
 */
int config_read(struct config *c, const struct config_ask *ask);
void config_free(struct config *c); /**< zero is fine */

/** Value number @i of the option @name (NULL: of several) is wrong, as @why
 * says: into @c->faults, with where it comes from. */
void config_blame(struct config *c, const char *name, unsigned i,
		  const char *why);

/** Text number @i of row @o: what was given or, if nothing, its default. NULL:
 * there is none. In @buf, of CONFIG_VALUE bytes, or as it stands. */
#define CONFIG_VALUE 64u
const char *config_text(const struct config *c, const struct field *o,
			unsigned i, char *buf);

/** The values given for the option @name, which exists. */
const struct cli_given *config_given(const struct config *c, const char *name);

/** Does row @o have the same in both? */
bool config_same(const struct config *a, const struct config *b,
		 const struct field *o);

/** The row of @name, which is there. */
const struct field *config_row(const struct config *c, const char *name);

/**
 * Write what the rows have as a file that says the same, with where each value
 * comes from; defaults are comments. 0; or -EINVAL with @e: a value that no
 * file can have.
 */
int config_print(const struct config *c, FILE *out, struct cr_err *e);

/** Write a file with every option and its help as a comment, and the default.
 */
void config_print_example(const struct cli *cli, FILE *out);

/** Write the manual page (troff, section 5) of the file @path. */
void config_print_page(const struct cli *cli, const char *path, FILE *out);

/** Bytes that a line may have. */
#define CONFIG_LINE 4096u

/** A position in a text: set text and size. */
struct config_lines {
	char *text; /**< the rest of it; written to */
	size_t size;
	unsigned line; /**< number of the last one, from 1 */
	bool over;     /**< it is no text: no more errors are reported */
};

/**
 * Go on to the next line that says something, or is wrong. 1: *@name and
 * *@value, within the text; -EINVAL: it is wrong, and @e says why; 0: there is
 * none.
 */
int config_lines_next(struct config_lines *l, char **name, char **value,
		      struct cr_err *e);

/** Has @value to be in quotation marks? */
bool config_needs_quotes(const char *value);

/** Can a file have @value at all? Not what has control characters, is no UTF-8,
 * or is too long. */
bool config_can_hold(const char *value);

/** Bytes that such a file may have. */
#define CONFIG_BYTES ((size_t)1 << 20)

#endif
