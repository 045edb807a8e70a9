/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command lines from one table: parsing, --help, --version and the man page
 * (hidden option --man) all come from the same rows.
 *
 * A program declares its variables with their defaults, points a const
 * struct cli at them and calls cli_parse() first thing in main(). Uses
 * getopt_long(3), so options and operands may be mixed, long names may be
 * shortened, and "--" ends the options. Main thread only.
 */
#ifndef BASE_CLI_H
#define BASE_CLI_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cr/error.h"

/** Most options of one program. */
#define CLI_MAX_OPTS 128u
/** Most values of one CLI_LIST. */
#define CLI_MAX_LIST 32u

/** What an option takes, and which pointer of its row it writes. */
enum cli_kind {
	CLI_SECTION,  /**< no option: a heading; help is its text        */
	CLI_FLAG,     /**< no argument; *flag becomes true               */
	CLI_FLAG_OFF, /**< no argument; *flag becomes false ("--no-...") */
	CLI_STRING,   /**< *text points into argv                        */
	CLI_LIST,     /**< may be repeated; appended to *list            */
	CLI_INT,      /**< "42"; *number                                 */
	CLI_TIME,     /**< "20ms"; *number in ns                         */
	CLI_PPM,      /**< "97%" or "0.97"; *number in ppm               */
	CLI_ENUM      /**< one of names[]; *number is its index          */
};

/** What else holds of an option of a program that has a file of options. */
enum {
	CLI_COMMAND_LINE = 1, /**< it cannot stand in the file; of a
				   section: nor any of its options     */
	CLI_LIVE = 2	      /**< taken while it runs, when the file is read
				   again                               */
};

/** The values of a repeatable option, in order. */
struct cli_list {
	const char *item[CLI_MAX_LIST];
	unsigned count;
};

/** One row. Ends with a row whose name and help are NULL. */
struct cli_opt {
	enum cli_kind kind;
	const char *name; /**< without the dashes; NULL in a CLI_SECTION  */
	char letter;	  /**< 0: no short form                           */
	const char *arg;  /**< "FILE"; NULL: a word that fits the kind    */
	const char *help; /**< sentences; wrapped when printed; NULL: works
			       but is not shown                           */
	union {
		bool *flag;
		const char **text;
		struct cli_list *list;
		int64_t *number;
	};
	int64_t min, max;	  /**< inclusive; both 0: any               */
	const char *const *names; /**< CLI_ENUM: NULL-terminated            */
	const char *dflt; /**< shown as the default instead of the value the
			       variable has when cli_parse() is called; ""
			       shows none                                   */
	unsigned flags;	  /**< CLI_COMMAND_LINE, CLI_LIVE                 */
};

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
	const struct cli_opt *opts;
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
 * Parse @argv (getopt_long may reorder it) into the variables of @c's rows.
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

/** Who is told what is wrong with a command line. */
struct cli_faults {
	void (*add)(void *arg, const char *why);
	void *arg;
};

/**
 * The second half: as cli_parse(), without these questions, but all that is
 * wrong is told to @faults. @given, if it is not NULL, has an element for each
 * row: those that @argv names become true, and a list starts anew with the
 * first value that @argv has for it. Behind an option that is unknown, operands
 * are not counted: one may be its value.
 */
int cli_take(const struct cli *c, int argc, char **argv, bool *given,
	     const struct cli_faults *faults);

/** The last value that @argv has for the option @name, which takes one, or
 * NULL. What else is wrong with @argv does not count. Changes nothing. */
const char *cli_peek(const struct cli *c, int argc, char **argv,
		     const char *name);

/** Give @o, no section, the value @text, which has to stay; flags: yes or no,
 * of what the name says. 0, or -EINVAL with @e as cli_parse(). */
int cli_set(const struct cli_opt *o, const char *text, struct cr_err *e);

/** Value number @i of @o as text that cli_set() reads back, in @buf (of
 * CLI_VALUE bytes) or the variable's own; NULL: it has no such value. But for a
 * list, @i is 0. */
#define CLI_VALUE 64u
const char *cli_value(const struct cli_opt *o, unsigned i, char *buf);

/** Is @o the row that ends a table? */
static inline bool cli_is_end(const struct cli_opt *o)
{
	return !o->name && !o->help;
}

/** As cli_parse(), for the first line of main(): exits with 0 after help, and
 * with 2 after printing the error to stderr. Returns the first operand. */
int cli_parse_or_exit(const struct cli *c, int argc, char **argv);

/** Have what was printed to stdout written. 0; or -errno: some of it is lost,
 * now or earlier. */
int cli_written(void);

/** The same at a program's end. The exit code: 0; or 1, when it is
 * lost, which stderr is told. The last thing a program does with stdout. */
int cli_flush(const char *program);

/** Print the help text, at most 80 columns wide. */
void cli_help(const struct cli *c, FILE *out);

/** Print the man page (troff, man macros, section 1). */
void cli_man(const struct cli *c, FILE *out);

/**
 * The row's default as text: dflt, or the variable's present value. Returns
 * @buf, empty when nothing is worth showing. For help and manual pages.
 */
const char *cli_default(const struct cli_opt *o, char *buf, size_t size);

/** The word for @o's argument ("N", "TIME", "a|b|c"); NULL: takes none. */
const char *cli_argument(const struct cli_opt *o, char *buf, size_t size);

/* --- manual pages: troff with the man macros. One thread at a time for each
 * @out; who has printed all asks cli_written() whether it arrived. --- */

/** Print @text so that troff takes it literally. */
void troff_text(FILE *out, const char *text);

/** The begin of a page, to be gone on with: .TH and @name in capitals. */
void troff_title(FILE *out, const char *name);

/** A paragraph for each line of @text that is not empty. */
void troff_paragraphs(FILE *out, const char *text);

/** What @o does, and its default. */
void troff_help(FILE *out, const struct cli_opt *o);

/** The heading of a group of options. */
void troff_section(FILE *out, const char *heading);

#endif
