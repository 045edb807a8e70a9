/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec-ctl: words become requests of the protocol, results become text, both
 * by the protocol's tables. One thread.
 */
#ifndef APP_CTL_CTL_H
#define APP_CTL_CTL_H

#include <event2/event.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/cli.h"
#include "cr/error.h"
#include "cr/time.h"
#include "protocol/tables/method.h"
#include "rpc/client.h"

/** Exit codes. */
enum { CTL_REFUSED = 1, CTL_USAGE = 2, CTL_UNREACHABLE = 3 };

/* --- show.c: names, units and heads of columns come from the tables; screens
 * only choose which members they show --- */

/** An object with the rows of its members. */
struct ctl_shown {
	const struct field *table; /**< NULL: nothing is known of them    */
	const json_t *now;
	const json_t *before; /**< as it was, for rates; NULL: all was 0  */
	double seconds;	      /**< since then                             */
	json_int_t clock;     /**< now, for points in time                */
};

/** The text at @key of @o, "-" where there is none. */
static inline const char *ctl_text(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "-";
}

/** The number at the dotted @path of @o, by the names of the JSON; 0 where
 * there is none. */
double ctl_real(const json_t *o, const char *path);

/** By how much the number at @path of @s has grown. */
double ctl_growth(const struct ctl_shown *s, const char *path);

/**
 * Print @text with values in it:
 *
 *   {path}       the value with its unit, "-" where there is none
 *   {path:12}    the same, padded
 *   {path#}      without the unit
 *   {path|}      for a cell of Markdown
 *   {path/s}     how much of a counter a second
 *   {path/path}  the quotient, in the unit of the first
 *   [path?text]  text only where the value is there and not 0, false or empty
 *   [!path?text] only where it is there and is one of these
 *   [path*text]  text for each object of a list, whose members it names
 *
 * Paths name rows of @s's table, with dots between.
 */
void ctl_view(const char *text, const struct ctl_shown *s, FILE *out);

/** The objects of the arrays @now and @before (may be NULL) as rows, to be
 * freed, and one more that is empty: those that have the same number @id, by
 * which both rise; without @id, the same place. */
struct ctl_shown *ctl_rows(const json_t *now, const json_t *before,
			   const char *id, double seconds,
			   const struct field *table);

/**
 * Print the first @n rows of ctl_rows() as a table. @columns, with blanks
 * between:
 *
 *   path         a value
 *   path/s       how much of a counter a second; of a time the share
 *   path={...}   text as of ctl_view(), under the head of path
 *   #name        a member that has no row
 *
 * Behind it ! or ?: with @marks, a line with more than 0 of it is bad, or
 * deserves a look.
 */
void ctl_table(const struct ctl_shown *rows, size_t n, const char *columns,
	       bool marks, FILE *out);

/** The same for one array. @columns NULL: all that fit into cells. */
void ctl_list(const json_t *list, const struct field *table,
	      const char *columns, bool marks, FILE *out);

/** Print @result: scalars as "key: value" lines, members of objects with dotted
 * keys; then a table for each array of objects, the first of @columns. @table
 * may be NULL. */
void ctl_show(const json_t *result, const struct field *table,
	      const char *columns, FILE *out);

/** Names of enum node_top_key, NULL-terminated. */
extern const char *const ctl_sorts[];

/** The calls that stand out, see stream.top. */
#define CTL_TOP_COLUMNS                                                        \
	"stream class in_per_s lost_per_s! missing_per_s? late_per_s? load "   \
	"delay delay_max waiting age transcoding to label"

/* --- pages that replace each other on a terminal, and follow each other in a
 * file or pipe --- */

/** Marks that a line may begin with, where its look matters; on terminals
 * only, unless NO_COLOR is set, it is seen. */
enum ctl_mark { CTL_PLAIN, CTL_HEAD, CTL_BAD, CTL_WARN };

/** Lines and columns that there are for pages; false: no terminal. */
bool ctl_page_size(unsigned *lines, unsigned *columns);

/** Show @text (lines) on standard output, in place of the page before where
 * that is a terminal; @first: there is none. 0, or -errno when it cannot be
 * written. */
int ctl_page(const char *text, bool first);

/* --- command.c: every method has the command of its name ("call start" or
 * call.start), with no code here; some have a shorter one, too. Pure. --- */

/** The action for the words. */
enum ctl_action {
	CTL_ASK,       /**< one request                                     */
	CTL_FOLLOW,    /**< the same; then wait until the conversion is over */
	CTL_MOVE,      /**< requests to two servers: a call goes over      */
	CTL_RAW,       /**< one request, as it was typed                    */
	CTL_WATCH,     /**< pages, anew every interval                      */
	CTL_TOP,       /**< the same, of the calls that stand out           */
	CTL_HELP,      /**< no request: what is known of a method           */
	CTL_REFERENCE, /**< no request: the reference                       */
	CTL_SCHEMA     /**< no request: that of records                     */
};

struct ctl_command;

/** The request that words stand for. */
struct ctl_request {
	enum ctl_action action;
	char name[64];		     /**< of the method to ask              */
	const struct method *method; /**< its tables; NULL: none are known   */
	json_t *params;		     /**< the caller's; NULL: none           */
	const struct ctl_command *command;
	cr_ns interval; /**< of pages                           */
	unsigned times; /**< number of pages; 0: until interrupted */
};

/** The commands with what they do, for --help; ends with a NULL left. */
const struct cli_line *ctl_commands(void);

/** Read @words as a request. 0, or -EINVAL with @e: unknown command (with
 * the nearest name), words missing or too many, a bad KEY=VALUE. */
int ctl_request(struct ctl_request *r, const char *const *words, unsigned n,
		struct cr_err *e);

/** Print the @result of @r for people. */
void ctl_print(const struct ctl_request *r, const json_t *result, FILE *out);

/** Print what needs no server. False: @r does. */
bool ctl_print_own(const struct ctl_request *r, FILE *out);

/* --- reference.c --- */

/** For a terminal: the parameters and the result of @m; NULL: all methods,
 * notifications and error codes, a line each. */
void ctl_help(const struct method *m, FILE *out);

/** Markdown: methods, notifications, objects, metrics, errors. */
void ctl_reference(FILE *out);

/** A JSON Schema (draft 2020-12) of the lines of --records. */
void ctl_reference_records(FILE *out);

/* --- live_page.c: what goes on until it ends or is interrupted --- */

struct ctl_live {
	struct event_base *base;
	struct rpc_client *client;
	/** Ask @client, all pages of a list; returns an exit code, has said
	 * why, and the result if it is 0. Takes @params over. */
	int (*ask)(struct rpc_client *c, const char *method, json_t *params,
		   json_t **result);
	bool top;	/**< the calls that stand out; else rates of all    */
	bool json;	/**< lines of JSON, not pages                       */
	cr_ns interval; /**< of pages                                       */
	unsigned times; /**< their number; 0: until it is interrupted       */
	int sort;	/**< of top: enum node_top_key                      */
	unsigned limit; /**< of top: calls; 0: what fits                    */
};

/** Show pages until a signal, or at a terminal q, ends it. Returns an exit
 * code. */
int ctl_live(struct ctl_live *l);

/**
 * Start the conversion @params (taken over) and wait. SIGINT and SIGTERM cancel
 * it, and its end is waited for; a second one leaves at once. Progress goes to
 * stderr if that is a terminal. Returns an exit code: 0, and *@result is the
 * conversion as it ended, the caller's; 1 when it was refused, failed or
 * cancelled, said on stderr; or what ask() said.
 */
int ctl_follow(struct ctl_live *l, json_t *params, json_t **result);

/** The results of stats, and of stream.list or stream.top, at one moment. */
struct ctl_sample {
	json_t *stats, *calls;
};

/** Release what @s holds; it may be empty. */
void ctl_sample_free(struct ctl_sample *s);

/** A page of watch: totals, workers, streams by class and codecs, and those
 * that lose most: what happened from @before to @now, in rates. */
void ctl_watch_page(const struct ctl_sample *before,
		    const struct ctl_sample *now, FILE *out);

/** A page of top, lines with marks. @keys: are read, and are explained. */
void ctl_top_page(const struct ctl_sample *now, bool keys, FILE *out);

#endif
