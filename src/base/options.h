/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values by rows: what an option of a policy (cr/option.h), of a program
 * (base/cli.h, config/config.h) or a key of a campaign is called, means and may
 * be, and where its value goes. Read from text, written as text, described for
 * people. Every function is pure and may be called by any thread.
 *
 *   int   42            time  10ms, 750us, 5.12s, 0, never
 *   bool  yes, no       ppm   97%, 0.97
 *   enum  one of the row's names
 *   rate  50/s, 0.5/s
 */
#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

#include <stdbool.h>

#include "cr/error.h"
#include "cr/option.h"

/** Kinds of rows that policies do not have. */
enum {
	OPTION_RATE = CR_OPT_ENUM + 1, /**< stored as per second * 10^6     */
	OPTION_TEXT,	/**< const char *, or what .read makes of it     */
	OPTION_LIST,	/**< texts, each given by itself: option_list    */
	OPTION_SECTION, /**< rows below; of a command line a heading,
			     whose text is .help                         */
	OPTION_SECTIONS /**< a list of such sections                     */
};

enum {
	OPTION_OFF = 1,	 /**< a BOOL whose member has the opposite: "no-..." */
	OPTION_ZERO = 2, /**< a number that may be 0, too, below its bounds  */
	OPTION_NEEDED = 4,	 /**< a key that must be there           */
	OPTION_COMMAND_LINE = 8, /**< cannot stand in a file of options; of a
				      section: nor any of its options    */
	OPTION_LIVE = 16,	 /**< taken when the file is read again  */
	OPTION_UNIT = 32, /**< a PPM that needs its unit: 90%, not 0.9      */
	OPTION_RANGE = 64 /**< a number, or two: "1ms..2ms", of which the
			    second is not below the first; two of int64_t */
};

/** Most values of one OPTION_LIST. */
#define OPTION_LIST_MAX 32u

/** The values of a repeatable option, in order. */
struct option_list {
	const char *item[OPTION_LIST_MAX];
	unsigned count;
};

/** A word that a number may be written as. */
struct option_word {
	const char *name; /**< NULL ends them */
	int64_t value;
};

/** Read @text into @to. 0, or -EINVAL with @e: why not, without the name. */
typedef int option_read(const char *text, void *to, struct cr_err *e);

/** A row. A table ends with one that has neither name nor help. */
struct option_row {
	union {
		struct cr_opt opt;
		struct { /* its members, so that tables can name them */
			const char *name;
			const char *help; /**< NULL: works, but is not shown */
			unsigned kind;	  /**< enum cr_opt_kind, or one above */
			size_t offset;
			int64_t min, max, dflt; /**< both bounds 0: any */
			const char *const *names;
		};
	};
	unsigned bytes; /**< of the member at .offset; 0: it has none      */
	unsigned flags;
	char letter;	 /**< of the command line; 0: no short form        */
	const char *arg; /**< "FILE"; NULL: a word that fits the kind      */
	/** Text for the default, if .dflt does not say it; "": shows none. Of a
	 * TEXT: the default. */
	const char *without;
	const struct option_word *words; /**< of a number; or NULL         */
	option_read *read;		 /**< of a TEXT; or NULL           */
	const struct option_row *below;	 /**< of sections                  */
	/** Of the table's first row, the values (bits) with which this one may
	 * be given, 0: all; and with which it must be. */
	unsigned models, needed_by;
	const char *with; /**< a key that has to be given, too; or NULL    */
};

_Static_assert(sizeof(enum cr_opt_kind) == sizeof(unsigned) &&
		       offsetof(struct option_row, names) ==
			       offsetof(struct cr_opt, names),
	       "the members of an option_row are those of its opt");

/** A row's member @m of struct @type. */
#define OPTION_AT(type, m)                                                     \
	.offset = offsetof(type, m), .bytes = sizeof(((type *)0)->m)

/* clang-format off */
/** A row of a command line, with its OPTION_AT(). */
#define OPT(k, n, a, h, ...)                                                   \
	{ .kind = (k), .name = (n), .arg = (a), .help = (h), __VA_ARGS__ }

/** A heading of a command line. */
#define OPTION_HEADING(text, ...)                                              \
	{ .kind = OPTION_SECTION, .help = (text), __VA_ARGS__ }
/* clang-format on */

static inline bool option_is_end(const struct option_row *row)
{
	return !row->name && !row->help;
}

/** The row called @name, or NULL. */
const struct option_row *option_find(const struct option_row *rows,
				     const char *name);

/** "did you mean 'load'?", "known: ...": of the rows without @flags, those that
 * are like @name. Returns @buf. */
const char *option_hint(const struct option_row *rows, unsigned flags,
			const char *name, char *buf, size_t size);

/** Up to @most numbers with two dots between ("20%..110%..20%"). Returns how
 * many; 0: one cannot be read, or they are too many, and @out is of no use. */
unsigned option_series(const struct option_row *row, const char *text,
		       int64_t *out, unsigned most);

/** One number (of an OPTION_RANGE, two): *@out is @text as @row means it;
 * -EINVAL with @e, which begins with "name=text: ". */
int option_parse(const struct option_row *row, const char *text, int64_t *out,
		 struct cr_err *e);

/** The integer or bool of @bytes at @at: read, one of an int's size with its
 * sign or as unsigned, smaller ones as unsigned; written. */
int64_t integer_get(const void *at, size_t bytes, bool with_sign);
void integer_put(void *at, size_t bytes, int64_t value);

/** Put what @text says (which has to stay) into the member that @row has in the
 * struct at @base, if it has one. 0, or -EINVAL with @e. */
int option_set(const struct option_row *row, void *base, const char *text,
	       struct cr_err *e);

/** Set the members of @row, of all @rows, to their defaults. */
void option_reset(const struct option_row *row, void *base);
void options_reset(const struct option_row *rows, void *base);

/** @text as it is written for people: numbers in their shortest form. Returns
 * @buf, or @text. */
const char *option_text(const struct option_row *row, const char *text,
			char *buf, size_t size);

/** The default as text; "": there is nothing worth showing. Returns @buf. */
const char *option_default(const struct option_row *row, char *buf,
			   size_t size);

/** The word for what is to be given: "N", "TIME", "a|b|c". Returns @buf. */
const char *option_argument(const struct option_row *row, char *buf,
			    size_t size);

/* --- tables of policies: "key=value,key=value"; a NULL table has no options.
 */

/** Set every option of @vals to its default. */
void options_defaults(const struct cr_opt *table, void *vals);

/**
 * Set those options of @vals that @text (may be NULL) names. All or nothing:
 * -EINVAL with @e (unknown key with the nearest valid one, bad value, out of
 * bounds, given twice) leaves @vals as it was.
 */
int options_parse(const struct cr_opt *table, void *vals, const char *text,
		  struct cr_err *e);

/** Write all options as text that options_parse() reads back exactly. */
void options_format(const struct cr_opt *table, const void *vals, char *buf,
		    size_t size);

/** Write one value as options_format() does. */
void option_format(const struct cr_opt *row, int64_t value, char *buf,
		   size_t size);

/** The value of @row in @vals. */
int64_t option_get(const struct cr_opt *row, const void *vals);

/** A row as one line of help: "quantum=TIME  a turn (10us..1s, 1ms)". */
void option_describe(const struct cr_opt *row, char *buf, size_t size);

#endif
