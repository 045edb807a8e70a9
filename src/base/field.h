/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one row format: what a value is called, is, means and may be, and where
 * it is in a plain C struct. An option of a program (base/cli.h,
 * config/config.h) or of a policy (cr/option.h), a key of a campaign
 * (campaign/section.h), a member of a request or a result of the protocol
 * (protocol/field_json.h), a metric (http/metrics.h) is a row. Values are read
 * from every syntax by their row, checked against it here, refused in one
 * spelling, and described for people: help, man pages, Markdown.
 *
 *   INT   42            TIME  10ms, 750us, 5.12s, 0, never
 *   BOOL  yes, no       SHARE 97%, 0.97
 *   RATE  50/s, 0.5/s   CHOICE one of the row's names
 *
 * A table ends with a row that has neither name nor help. Those of the protocol
 * are made of a name and a struct:
 *
 *   FIELD_TABLE_DECLARE(page, struct page_request)          in a header
 *   const struct field page_fields[] = {
 *           { ROW_INT(page, "limit", limit), .min = 1, .max = 200,
 *             .dflt = 50, .help = "most entries in one reply" },
 *           { 0 },
 *   };
 *
 * The macros take offset and C type from the struct: a row that does not fit
 * its member does not compile.
 *
 * A quantity with a unit (a time, a rate) has two names there: as "ptime" it is
 * text with a unit ("20ms"), as "ptime_ms" a number. A request may use either,
 * a result always has the number.
 *
 * Tables are constant; pure functions, any thread.
 */
#ifndef BASE_FIELD_H
#define BASE_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "cr/error.h"
#include "cr/option.h"
#include "cr/time.h"

enum field_kind {
	FIELD_INT = CR_OPT_INT,
	FIELD_TIME = CR_OPT_TIME, /**< the struct has ns */
	FIELD_SHARE = CR_OPT_PPM, /**< the struct has ppm */
	FIELD_BOOL = CR_OPT_BOOL,
	FIELD_CHOICE = CR_OPT_ENUM, /**< the struct has the name's index */
	FIELD_RATE,		    /**< the struct has per second * 10^6 */
	FIELD_REAL,		    /**< of results */
	FIELD_TEXT,
	FIELD_CODEC, /**< text: the name of a codec */
	FIELD_MODE,  /**< text: the name of a mode of the codec beside it */
	FIELD_ADDRESS,
	FIELD_TEXTS,  /**< texts, each given by itself: struct field_texts */
	FIELD_OBJECT, /**< of .members: an object, a section */
	FIELD_INLINE, /**< .members are members of this object, too */
	FIELD_LIST,   /**< of objects of .members */
	FIELD_MAP,    /**< .members: two, whose first one is the key */
	FIELD_FIXED,  /**< refused, for .help, if anybody gives it */
	FIELD_HEADING /**< of a command line: text is .help */
};

/** The type of the C member; found by the macros of the protocol's tables. */
enum field_store {
	/** As the kind says: an integer of .size bytes (field_range of a
	 * FIELD_RANGE), const char * or what .read makes of it, field_texts. */
	FIELD_C_BY_KIND,
	FIELD_C_UNSIGNED, /**< bool, too */
	FIELD_C_SIGNED,
	FIELD_C_DOUBLE,
	FIELD_C_TEXT,  /**< const char *; NULL: none */
	FIELD_C_CHARS, /**< char[]                   */
	FIELD_C_ADDRESS,
	FIELD_C_STRUCT,
	FIELD_C_POINTER, /**< to a struct; NULL: null   */
	FIELD_C_ARRAY,	 /**< with a count beside it    */
	FIELD_C_EACH	 /**< struct field_each         */
};

enum {
	/** A result leaves it out when it is 0. */
	FIELD_OMIT_ZERO = 1,
	/** A result has null where there is no text; else it is left out. */
	FIELD_NULL = 2,
	/** A result has a TIME as a whole number of its unit, a REAL with four
	 * decimals. */
	FIELD_ROUND = 4,
	/** The unit of a result is what the member "unit" beside it says. */
	FIELD_UNIT_MEMBER = 8,
	FIELD_OFF = 16,	 /**< a BOOL whose member has the opposite: "no-..." */
	FIELD_ZERO = 32, /**< a number that may be 0, too, below its bounds  */
	FIELD_COMMAND_LINE = 64, /**< cannot stand in a file of options; of a
				      heading: nor any of its options        */
	FIELD_LIVE = 128, /**< taken when the file is read again           */
	FIELD_UNIT = 256, /**< a SHARE that needs its unit: 90%, not 0.9   */
	/** An INT whose member has one more than its value: -1 is 0 there. */
	FIELD_PLUS_ONE = 1024,
	FIELD_SECRET = 2048, /**< an option whose value no log has */
	FIELD_RANGE = 512    /**< a number, or two: "1ms..2ms", of which the
				  second is not below the first               */
};

/** Most values of one FIELD_TEXTS. */
#define FIELD_TEXTS_MAX 32u

/** The values of a repeatable option, in order. */
struct field_texts {
	const char *item[FIELD_TEXTS_MAX];
	unsigned count;
};

/** The member of a FIELD_RANGE: a time or, of clocks, ppm, drawn evenly from
 * least to most; both 0: none. */
struct field_range {
	int64_t least, most;
};

/** A list that is made while it is written. */
struct field_each {
	/** Fill @item with number @i, asked for in rising order. False: there
	 * are no more. */
	bool (*at)(void *arg, unsigned i, void *item);
	void *arg;
};

/** A word that a number may be written as. */
struct field_word {
	const char *name; /**< NULL ends them */
	int64_t value;
};

/** Prometheus's view of a number. */
struct field_metric {
	const char *name;   /**< behind "codec_runner_" */
	const char *type;   /**< "counter", "gauge", "histogram" */
	const char *help;   /**< NULL: a further row of the same metric */
	const char *labels; /**< "{outcome=\"done\"}"; NULL: none */
	double scale;	    /**< of a number that is no time; 0: 1 */
};

/** Read @text into @to. 0, or -EINVAL with @e: why not, without the name. */
typedef int field_text_reader(const char *text, void *to, struct cr_err *e);

struct field {
	const char *name;
	const char *help; /**< of an option NULL: works, but is not shown */
	enum field_kind kind;
	enum field_store store;
	unsigned flags;
	size_t offset, size, count; /**< size 0: no member; count: where an
					 ARRAY's is */
	/** In the struct's unit. If min and max are both 0, any goes. */
	int64_t min, max, dflt;
	/** Text for the default, if .dflt does not say it; "": shows none. Of
	 * an option that is a TEXT: the default. */
	const char *without;
	/** NULL-terminated; of a TEXT: what it may be, in a result */
	const char *const *names;
	const struct field *members;
	/** NULL: it may be left out. Else it may not, and this is the question
	 * that the refusal asks ("which call?"), or "". */
	const char *required;
	/** Of the protocol: TIME: "ns", "us", "ms" or "s", RATE: "per_s": the
	 * end of the number's name. Others: for people; of an INT a unit of
	 * time, too; of a REAL from 0 to 1 "share". */
	const char *unit;
	/** The word for its value: "FILE" of an option, the head of a column
	 * (field_text_label()). NULL: what fits the kind, or the name. */
	const char *label;
	const struct field_metric *metric;
	const struct field_word *words; /**< of a number; or NULL         */
	field_text_reader *read;	/**< of a TEXT; or NULL           */
	char letter; /**< of the command line; 0: no short form        */
	/** Of the table's first row, the values (bits) with which this one may
	 * be given, 0: all; and with which it must be. */
	unsigned models, needed_by;
	const char *with; /**< a key that has to be given, too; or NULL    */
};

/*
 * --- rows of options and keys ---
 *
 * They need no C type: such a row is read only, and its kind and size say how.
 * A row of the protocol is written as a result, too, so its macro takes the
 * type from the struct.
 */

/** A row's member @m of struct @type. */
#define FIELD_IN(type, m)                                                      \
	.offset = offsetof(type, m), .size = sizeof(((type *)0)->m)

/* clang-format off */
/** A row of a command line, with its FIELD_IN(). */
#define OPT(k, n, word, h, ...)                                                \
	{ .kind = (k), .name = (n), .label = (word), .help = (h), __VA_ARGS__ }

/** A heading of a command line. */
#define OPT_HEADING(text, ...)                                                 \
	{ .kind = FIELD_HEADING, .help = (text), __VA_ARGS__ }
/* clang-format on */

/* --- rows of the protocol --- */

#define FIELD_TABLE_DECLARE(table, type)                                       \
	typedef type table##_struct;                                           \
	extern const struct field table##_fields[]

#define FIELD_MEMBER(table, m) (((table##_struct *)0)->m)

#define FIELD_AT(table, m) FIELD_IN(table##_struct, m)

/* clang-format off */
#define FIELD_STORE_INT(x)                                                     \
	_Generic((x),                                                          \
		uint8_t: FIELD_C_UNSIGNED,                                     \
		uint16_t: FIELD_C_UNSIGNED,                                    \
		uint32_t: FIELD_C_UNSIGNED,                                    \
		unsigned long: FIELD_C_UNSIGNED,                               \
		unsigned long long: FIELD_C_UNSIGNED,                          \
		int: FIELD_C_SIGNED,                                           \
		long: FIELD_C_SIGNED,                                          \
		long long: FIELD_C_SIGNED,                                     \
		double: FIELD_C_DOUBLE)

#define FIELD_STORE_TEXT(x)                                                    \
	_Generic(&(x),                                                         \
		const char **: FIELD_C_TEXT,                                   \
		default: _Generic((x),                                         \
			const char *: FIELD_C_TEXT,                            \
			char *: FIELD_C_CHARS))

/* an int has a third value for what is not said */
#define ROW_BOOL(table, n, m)                                                  \
	.name = (n), .kind = FIELD_BOOL, FIELD_AT(table, m),                   \
	.store = _Generic(FIELD_MEMBER(table, m),                              \
		bool: FIELD_C_UNSIGNED,                                        \
		int: FIELD_C_SIGNED)

#define ROW_INT(table, n, m)                                                   \
	.name = (n), .kind = FIELD_INT, FIELD_AT(table, m),                    \
	.store = FIELD_STORE_INT(FIELD_MEMBER(table, m))

#define ROW_REAL(table, n, m)                                                  \
	.name = (n), .kind = FIELD_REAL, FIELD_AT(table, m),                   \
	.store = _Generic(FIELD_MEMBER(table, m), double: FIELD_C_DOUBLE)

#define ROW_TEXT_OF(what, table, n, m)                                         \
	.name = (n), .kind = (what), FIELD_AT(table, m),                       \
	.store = FIELD_STORE_TEXT(FIELD_MEMBER(table, m))

#define ROW_TEXT(table, n, m) ROW_TEXT_OF(FIELD_TEXT, table, n, m)
#define ROW_CODEC(table, n, m) ROW_TEXT_OF(FIELD_CODEC, table, n, m)
#define ROW_MODE(table, n, m) ROW_TEXT_OF(FIELD_MODE, table, n, m)

/* an enum is an unsigned int to both compilers, or an int */
#define ROW_CHOICE(table, n, m, words)                                         \
	.name = (n), .kind = FIELD_CHOICE, .names = (words),                   \
	FIELD_AT(table, m),                                                    \
	.store = _Generic(FIELD_MEMBER(table, m),                              \
		uint32_t: FIELD_C_UNSIGNED,                                    \
		int: FIELD_C_SIGNED)

#define ROW_QUANTITY(what, table, n, m, u)                                     \
	.name = (n), .kind = (what), .unit = (u), FIELD_AT(table, m),          \
	.store = _Generic(FIELD_MEMBER(table, m),                              \
		int64_t: FIELD_C_SIGNED,                                       \
		unsigned long long: FIELD_C_UNSIGNED,                          \
		double: FIELD_C_DOUBLE)

/** Bounds of a RATE of the protocol, per second * 10^6. */
#define FIELD_RATE_MIN INT64_C(1000)
#define FIELD_RATE_MAX INT64_C(100000000000)

/** A time in ns; @u: its unit in results. */
#define ROW_TIME(table, n, m, u) ROW_QUANTITY(FIELD_TIME, table, n, m, u)
#define ROW_RATE(table, n, m)                                                  \
	ROW_QUANTITY(FIELD_RATE, table, n, m, "per_s"), .min = FIELD_RATE_MIN, \
	.max = FIELD_RATE_MAX

#define ROW_ADDRESS(table, n, m)                                               \
	.name = (n), .kind = FIELD_ADDRESS, FIELD_AT(table, m),                \
	.store = _Generic(FIELD_MEMBER(table, m),                              \
		struct sockaddr_storage: FIELD_C_ADDRESS)

#define ROW_STRUCT(what, table, n, m, sub)                                     \
	.name = (n), .kind = (what), .members = sub##_fields,                  \
	FIELD_AT(table, m),                                                    \
	.store =                                                               \
		_Generic(FIELD_MEMBER(table, m), sub##_struct: FIELD_C_STRUCT)

/** A struct within the struct, with a table of its own. */
#define ROW_OBJECT(table, n, m, sub) ROW_STRUCT(FIELD_OBJECT, table, n, m, sub)
/** The same; its members are this object's own. */
#define ROW_INLINE(table, m, sub) ROW_STRUCT(FIELD_INLINE, table, #m, m, sub)

/** Members of the struct itself, from another table. */
#define ROW_SHARED(table, sub)                                                 \
	.name = #sub, .kind = FIELD_INLINE, .members = sub##_fields,           \
	.offset = 0, .size = sizeof(table##_struct),                           \
	.store = _Generic((table##_struct *)0, sub##_struct *: FIELD_C_STRUCT)

/** Members of the struct itself, in an object of their own. */
#define ROW_WHOLE(table, n, sub)                                               \
	.name = (n), .kind = FIELD_OBJECT, .members = sub##_fields,            \
	.offset = 0, .size = sizeof(table##_struct),                           \
	.store = _Generic((table##_struct *)0, sub##_struct *: FIELD_C_STRUCT)

/** A pointer to a struct; results only. */
#define ROW_POINTER(table, n, m, sub)                                          \
	.name = (n), .kind = FIELD_OBJECT, .members = sub##_fields,            \
	FIELD_AT(table, m),                                                    \
	.store = _Generic(FIELD_MEMBER(table, m),                              \
		const sub##_struct *: FIELD_C_POINTER)

/** Members of the struct that a pointer leads to; without it there are none.
 * Results only. */
#define ROW_PART(table, m, sub)                                                \
	.name = #m, .kind = FIELD_INLINE, .members = sub##_fields,             \
	FIELD_AT(table, m),                                                    \
	.store = _Generic(FIELD_MEMBER(table, m),                              \
		const sub##_struct *: FIELD_C_POINTER)

#define ROW_ARRAY(what, table, n, m, c, sub)                                   \
	.name = (n), .kind = (what), .members = sub##_fields,                  \
	.offset = offsetof(table##_struct, m),                                 \
	.size = sizeof(FIELD_MEMBER(table, m)[0]),                             \
	.count = offsetof(table##_struct, c),                                  \
	.store = _Generic(&FIELD_MEMBER(table, c),                             \
		unsigned *: _Generic(&FIELD_MEMBER(table, m)[0],               \
			sub##_struct *: FIELD_C_ARRAY))

/** An array within the struct, of which @c (unsigned) are there. In a request
 * .max is the number of its places, and members are complete or not. */
#define ROW_LIST(table, n, m, c, sub) ROW_ARRAY(FIELD_LIST, table, n, m, c, sub)
#define ROW_MAP(table, n, m, c, sub) ROW_ARRAY(FIELD_MAP, table, n, m, c, sub)

/** A struct field_each within the struct; results only. */
#define ROW_EACH(table, n, m, sub)                                             \
	.name = (n), .kind = FIELD_LIST, .members = sub##_fields,              \
	.offset = offsetof(table##_struct, m), .size = sizeof(sub##_struct),   \
	.store = _Generic(FIELD_MEMBER(table, m),                              \
		struct field_each: FIELD_C_EACH)
/* clang-format on */

#define ROW_FIXED(n, why) .name = (n), .kind = FIELD_FIXED, .help = (why)

/* --- what goes by them --- */

/** Longest name, with its unit and NUL. */
#define FIELD_NAME_MAX 64u

/** Enough for any text about a row. */
#define FIELD_TEXT_MAX 200u

static inline bool field_is_end(const struct field *f)
{
	return !f->name && !f->help;
}

/** Is it a quantity with a unit, which has two names? */
static inline bool field_has_unit(const struct field *f)
{
	return f->unit && (f->kind == FIELD_TIME || f->kind == FIELD_RATE);
}

/** The name that a result has it under, in @buf (FIELD_NAME_MAX) where it ends
 * in a unit: valid as long as both. */
const char *field_wire_name(const struct field *f, char *buf);

/** The row of @table (or NULL) called @name, by either of its names, or NULL.
 */
const struct field *field_find(const struct field *table, const char *name);

/** The same by a path of names with dots between: "in.codec". Looks into
 * objects, not into lists and maps. */
const struct field *field_find_path(const struct field *table,
				    const char *path);

/** "did you mean 'load'?", "known: ...": of the rows without @flags, those that
 * are like @name; "": there are none. Returns @buf. */
const char *field_hint(const struct field *table, unsigned flags,
		       const char *name, char *buf, size_t size);

/** ns of a unit of time: "ms" is 1000000. */
int64_t field_unit_ns(const char *unit);

/* --- members --- */

/** The member of the struct at @base. */
static inline void *field_at(const struct field *f, void *base)
{
	return (unsigned char *)base + f->offset;
}

static inline const void *field_at_const(const struct field *f,
					 const void *base)
{
	return (const unsigned char *)base + f->offset;
}

/** Write the integer or bool of @size bytes at @at. */
void integer_put(void *at, size_t size, int64_t value);

/** A BOOL, INT, CHOICE, TIME or RATE of the protocol as the struct has it. */
int64_t field_integer(const struct field *f, const void *base);
/** Any number, in the unit that results have. */
double field_number(const struct field *f, const void *base);
/** A text; NULL: none. */
const char *field_string(const struct field *f, const void *base);

void field_set_integer(const struct field *f, void *base, int64_t value);

/** Set the member of @f, all members that @table has in the struct at @base, to
 * their defaults: what goes when nothing is given. */
void field_default(const struct field *f, void *base);
void field_defaults(const struct field *table, void *base);

/**
 * The callback of field_walk(), for every row. @path: its name from the outside
 * in, as "calls[].in.codec"; of an INLINE, that of its struct. @name: @path, or
 * for a quantity, as a result has it: "contract.rate_per_s". @base: of its
 * struct; NULL: there is none. Returns whether to visit its members, if it has
 * any.
 */
typedef bool field_visit(void *arg, const struct field *f, const char *path,
			 const char *name, const void *base);

/** Visit all rows of @table, in its order. @base: of its struct, or NULL; then
 * it is NULL for all. So it is for items of lists, and for what a NULL pointer
 * leads to. */
void field_walk(const struct field *table, const void *base, field_visit *visit,
		void *arg);

/* --- values, as texts --- */

/** The number in @text, whether or not it is within bounds. */
bool field_read_number(const struct field *f, const char *text, int64_t *out);

/** Is @v within the bounds? */
bool field_fits(const struct field *f, int64_t v);

/** Why @text, what was given, is refused: "needs auto, or a time with its unit
 * (ns, us, ms, s) from 1ms to 1s"; of a CHOICE, "no such name; did you mean
 * 'soft'?". @plain: it was no text, but a number of the row's unit, or true or
 * false. Returns @buf. */
const char *field_needs(const struct field *f, const char *text, bool plain,
			char *buf, size_t size);

/** Up to @most numbers with two dots between ("20%..110%..20%"). Returns how
 * many; 0: one cannot be read, or they are too many, and @out is of no use. */
unsigned field_series(const struct field *f, const char *text, int64_t *out,
		      unsigned most);

/** One number (of a FIELD_RANGE, two): *@out is @text as @f means it; -EINVAL
 * with @e, which begins with "name=text: ". */
int field_parse(const struct field *f, const char *text, int64_t *out,
		struct cr_err *e);

/** Put what @text says (which has to stay) into the member that @f, of an
 * option or a key, has in the struct at @base, if it has one. 0, or -EINVAL
 * with @e. */
int field_set(const struct field *f, void *base, const char *text,
	      struct cr_err *e);

/** Write @value as field_parse() reads it. Returns @buf. */
const char *field_format(const struct field *f, int64_t value, char *buf,
			 size_t size);

/** @text as it is written for people: numbers in their shortest form. Returns
 * @buf, or @text. */
const char *field_shortest(const struct field *f, const char *text, char *buf,
			   size_t size);

/* --- rows in words: all write into @buf, cut what does not fit, and return it;
 * "" where there is nothing to say --- */

/** The default. */
const char *field_text_default(const struct field *f, char *buf, size_t size);

/** The bounds of the value, in words: "5ms..60ms", "soft, hard". */
const char *field_text_range(const struct field *f, char *buf, size_t size);

/** The word for what is to be given: "N", "TIME", "a|b|c". */
const char *field_text_argument(const struct field *f, char *buf, size_t size);

/** The type of a parameter, in words: "whole number", "time, as \"20ms\"". */
const char *field_text_param(const struct field *f, char *buf, size_t size);

/** The type of a member of a result, in words: "number of ms", "text". */
const char *field_text_result(const struct field *f, char *buf, size_t size);

/** The head of a column of the member at @path of @table, which has to be
 * there: "IN_CODEC" of "in.codec". Labels along the path; NULL ones are left
 * out, but the last, which is the name in upper case then. */
const char *field_text_label(const struct field *table, const char *path,
			     char *buf, size_t size);

/** Rows of a table whose rows are numbered or listed, at most. */
#define FIELD_ROWS_MAX 128u

/* --- tables of policies: "key=value,key=value"; a NULL table has no options.
 * A cr_opt outside is a row in here. --- */

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

/** A row as one line of help: "quantum=TIME  a turn (10us..1s, 1ms)". */
void option_describe(const struct cr_opt *row, char *buf, size_t size);

#endif
