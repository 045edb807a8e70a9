/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows that say everything about a member of a request or a result: its name,
 * type, unit, range, default and help, and where it is in a plain C struct.
 * All code that reads or writes JSON, or prints help or metrics, goes by them.
 *
 * A table is made of a name and a struct:
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
 * A quantity with a unit (a time, a rate) has two names: as "ptime" it is text
 * with a unit ("20ms"), as "ptime_ms" a number. A request may use either, a
 * result always has the number.
 *
 * Tables are constant; pure functions, any thread.
 *
 * JSON to structs and back, by tables (protocol/field.h). Errors name the
 * member and the way out: "out.codec: unknown 'amrr'; did you mean 'amr'?".
 *
 * Any thread.
 */
#ifndef PROTOCOL_FIELD_H
#define PROTOCOL_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include <jansson.h>

#include "cr/error.h"
#include "cr/time.h"

enum field_type {
	FIELD_BOOL,
	FIELD_INT,
	FIELD_REAL,
	FIELD_TEXT,
	FIELD_CODEC,  /**< text: the name of a codec */
	FIELD_MODE,   /**< text: the name of a mode of the codec beside it */
	FIELD_CHOICE, /**< one of .choices; the struct has its index */
	FIELD_TIME,   /**< the struct has ns */
	FIELD_RATE,   /**< the struct has per second * 10^6 */
	FIELD_ADDRESS,
	FIELD_OBJECT, /**< of .members */
	FIELD_INLINE, /**< .members are members of this object, too */
	FIELD_LIST,   /**< of objects of .members */
	FIELD_MAP,    /**< .members: two, whose first one is the key */
	FIELD_FIXED   /**< refused, for .help, if anybody gives it */
};

/** What the C member is; found by the macros. */
enum field_store {
	FIELD_NO_STORE,
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
	FIELD_UNIT_MEMBER = 8
};

/** A list that is made while it is written. */
struct field_each {
	/** Fill @item with number @i, asked for in rising order. False: there
	 * are no more. */
	bool (*at)(void *arg, unsigned i, void *item);
	void *arg;
};

/** How Prometheus sees a number. */
struct field_metric {
	const char *name;   /**< behind "codec_runner_" */
	const char *type;   /**< "counter", "gauge", "histogram" */
	const char *help;   /**< NULL: a further row of the same metric */
	const char *labels; /**< "{outcome=\"done\"}"; NULL: none */
	double scale;	    /**< of a number that is no time; 0: 1 */
};

struct field {
	const char *name; /**< NULL ends the table */
	enum field_type type;
	enum field_store store;
	unsigned flags;
	/** TIME: "ns", "us", "ms" or "s", RATE: "per_s": the end of the
	 * number's name. Others: for people; of an INT a unit of time, too; of
	 * a REAL from 0 to 1 "share". */
	const char *unit;
	/** In the struct's unit. If min and max are both 0, there is no range.
	 */
	int64_t min, max, dflt;
	/** Text for the default, if .dflt does not say it. */
	const char *without;
	/** NULL: it may be left out. Else it may not, and this is the question
	 * that the refusal asks ("which call?"), or "". */
	const char *required;
	/** NULL-terminated; of a TEXT: what it may be, in a result */
	const char *const *choices;
	const struct field *members;
	size_t offset, size, count; /**< count: where an ARRAY's is */
	const char *help;
	const char *label; /**< head of a column; field_text_label() */
	const struct field_metric *metric;
};

/* --- the macros --- */

#define FIELD_TABLE_DECLARE(table, type)                                       \
	typedef type table##_struct;                                           \
	extern const struct field table##_fields[]

#define FIELD_MEMBER(table, m) (((table##_struct *)0)->m)

#define FIELD_AT(table, m)                                                     \
	.offset = offsetof(table##_struct, m),                                 \
	.size = sizeof(FIELD_MEMBER(table, m))

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
	.name = (n), .type = FIELD_BOOL, FIELD_AT(table, m),                   \
	.store = _Generic(FIELD_MEMBER(table, m),                              \
		bool: FIELD_C_UNSIGNED,                                        \
		int: FIELD_C_SIGNED)

#define ROW_INT(table, n, m)                                                   \
	.name = (n), .type = FIELD_INT, FIELD_AT(table, m),                    \
	.store = FIELD_STORE_INT(FIELD_MEMBER(table, m))

#define ROW_REAL(table, n, m)                                                  \
	.name = (n), .type = FIELD_REAL, FIELD_AT(table, m),                   \
	.store = _Generic(FIELD_MEMBER(table, m), double: FIELD_C_DOUBLE)

#define ROW_TEXT_OF(kind, table, n, m)                                         \
	.name = (n), .type = (kind), FIELD_AT(table, m),                       \
	.store = FIELD_STORE_TEXT(FIELD_MEMBER(table, m))

#define ROW_TEXT(table, n, m) ROW_TEXT_OF(FIELD_TEXT, table, n, m)
#define ROW_CODEC(table, n, m) ROW_TEXT_OF(FIELD_CODEC, table, n, m)
#define ROW_MODE(table, n, m) ROW_TEXT_OF(FIELD_MODE, table, n, m)

/* an enum is an unsigned int to both compilers, or an int */
#define ROW_CHOICE(table, n, m, names)                                         \
	.name = (n), .type = FIELD_CHOICE, .choices = (names),                 \
	FIELD_AT(table, m),                                                    \
	.store = _Generic(FIELD_MEMBER(table, m),                              \
		uint32_t: FIELD_C_UNSIGNED,                                    \
		int: FIELD_C_SIGNED)

#define ROW_QUANTITY(kind, table, n, m, u)                                     \
	.name = (n), .type = (kind), .unit = (u), FIELD_AT(table, m),          \
	.store = _Generic(FIELD_MEMBER(table, m),                              \
		int64_t: FIELD_C_SIGNED,                                       \
		unsigned long long: FIELD_C_UNSIGNED,                          \
		double: FIELD_C_DOUBLE)

/** A time in ns; @u: its unit in results. */
#define ROW_TIME(table, n, m, u) ROW_QUANTITY(FIELD_TIME, table, n, m, u)
#define ROW_RATE(table, n, m) ROW_QUANTITY(FIELD_RATE, table, n, m, "per_s")

#define ROW_ADDRESS(table, n, m)                                               \
	.name = (n), .type = FIELD_ADDRESS, FIELD_AT(table, m),                \
	.store = _Generic(FIELD_MEMBER(table, m),                              \
		struct sockaddr_storage: FIELD_C_ADDRESS)

#define ROW_STRUCT(kind, table, n, m, sub)                                     \
	.name = (n), .type = (kind), .members = sub##_fields,                  \
	FIELD_AT(table, m),                                                    \
	.store =                                                               \
		_Generic(FIELD_MEMBER(table, m), sub##_struct: FIELD_C_STRUCT)

/** A struct within the struct, with a table of its own. */
#define ROW_OBJECT(table, n, m, sub) ROW_STRUCT(FIELD_OBJECT, table, n, m, sub)
/** The same; its members are this object's own. */
#define ROW_INLINE(table, m, sub) ROW_STRUCT(FIELD_INLINE, table, #m, m, sub)

/** Members of the struct itself, from another table. */
#define ROW_SHARED(table, sub)                                                 \
	.name = #sub, .type = FIELD_INLINE, .members = sub##_fields,           \
	.offset = 0, .size = sizeof(table##_struct),                           \
	.store = _Generic((table##_struct *)0, sub##_struct *: FIELD_C_STRUCT)

/** Members of the struct itself, in an object of their own. */
#define ROW_WHOLE(table, n, sub)                                               \
	.name = (n), .type = FIELD_OBJECT, .members = sub##_fields,            \
	.offset = 0, .size = sizeof(table##_struct),                           \
	.store = _Generic((table##_struct *)0, sub##_struct *: FIELD_C_STRUCT)

/** A pointer to a struct; results only. */
#define ROW_POINTER(table, n, m, sub)                                          \
	.name = (n), .type = FIELD_OBJECT, .members = sub##_fields,            \
	FIELD_AT(table, m),                                                    \
	.store = _Generic(FIELD_MEMBER(table, m),                              \
		const sub##_struct *: FIELD_C_POINTER)

#define ROW_ARRAY(kind, table, n, m, c, sub)                                   \
	.name = (n), .type = (kind), .members = sub##_fields,                  \
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
	.name = (n), .type = FIELD_LIST, .members = sub##_fields,              \
	.offset = offsetof(table##_struct, m), .size = sizeof(sub##_struct),   \
	.store = _Generic(FIELD_MEMBER(table, m),                              \
		struct field_each: FIELD_C_EACH)
/* clang-format on */

#define ROW_FIXED(n, why) .name = (n), .type = FIELD_FIXED, .help = (why)

/* --- what goes by them --- */

/** What a RATE may be, per second * 10^6. */
#define FIELD_RATE_MIN INT64_C(1000)
#define FIELD_RATE_MAX INT64_C(100000000000)

/** Longest name, with its unit and NUL. */
#define FIELD_NAME_MAX 64u

/** Is it a quantity with a unit, which has two names? */
bool field_has_unit(const struct field *f);

/** The name that a result has it under, in @buf (FIELD_NAME_MAX) where it ends
 * in a unit: valid as long as both. */
const char *field_wire_name(const struct field *f, char *buf);

/** The row of @table called @name, by either of its names, or NULL. */
const struct field *field_find(const struct field *table, const char *name);

/** The same by a path of names with dots between: "in.codec". Looks into
 * objects, not into lists and maps. */
const struct field *field_find_path(const struct field *table,
				    const char *path);

/** ns of a unit of time: "ms" is 1000000. */
int64_t field_unit_ns(const char *unit);

/** Where the member is in the struct at @base. */
static inline void *field_at(const struct field *f, void *base)
{
	return (unsigned char *)base + f->offset;
}

static inline const void *field_at_const(const struct field *f,
					 const void *base)
{
	return (const unsigned char *)base + f->offset;
}

/** A BOOL, INT, CHOICE, TIME or RATE as the struct has it. */
int64_t field_integer(const struct field *f, const void *base);
/** Any number, in the unit that results have. */
double field_number(const struct field *f, const void *base);
/** A text; NULL: none. */
const char *field_string(const struct field *f, const void *base);

/** Set all members that @table has in the struct at @base to their defaults:
 * what goes when nothing is given. */
void field_defaults(const struct field *table, void *base);
/** What field_walk() calls for every row but OBJECT and INLINE; @path is its
 * name in a result, from the outside in: "rx.cpu_ns". @base: of its struct. */
typedef void field_visit(void *arg, const char *path, const struct field *f,
			 const void *base);

/** Visit the rows of @table and of its objects, not those of lists. @base may
 * be NULL (then it is NULL for all); so is what a NULL pointer leads to. */
void field_walk(const struct field *table, const void *base, field_visit *visit,
		void *arg);

/**
 * Read the members of @object into the struct at @out by @table. What is
 * missing keeps the value that it has there (see field_defaults()); null sets
 * its default. NULL or JSON null for @object: all are missing. Texts are
 * borrowed from @object. Returns 0, or -EINVAL with @e: not an object, an
 * unknown member (with the nearest name), a wrong type or unit, out of range, a
 * quantity given twice; @out is half written then.
 */
int field_read(const struct field *table, const json_t *object, void *out,
	       struct cr_err *e);

/** Is everything there that @table requires? 0, or -EINVAL with @e. */
int field_complete(const struct field *table, const void *in, struct cr_err *e);

/** The struct at @in as an object. NULL: out of memory. */
json_t *field_write(const struct field *table, const void *in);

/** The request at @in as an object that field_read() makes it from: what is as
 * field_defaults() has it is left out, but not in the items of a list. NULL:
 * out of memory. */
json_t *field_write_request(const struct field *table, const void *in);

#endif
