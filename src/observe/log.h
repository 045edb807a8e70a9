/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log: events with key=value pairs, one line each; or one JSON object a
 * line; or entries of systemd's journal, with a field for each pair.
 *
 *   2024-05-01T12:00:00.123Z info  admit-refused why=util
 *
 * Levels: error = someone must act, warn = degraded, info = life cycle, debug
 * = off. Every call site has its own rate limit; the first line after a
 * silence says suppressed=N. Any thread. Between log_open() and log_close() a
 * thread of the log's own writes them, in order: whoever logs never waits for
 * whoever reads. When the reader stalls, lines are dropped, and counted, and a
 * line says how many when it reads again. Otherwise a line is one write(2) to
 * stderr, which may wait. Never under a run-queue lock, never on the data path
 * unless rare.
 */
#ifndef OBSERVE_LOG_H
#define OBSERVE_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cr/error.h"
#include "cr/time.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/** Names of the levels, NULL-terminated, for option tables. */
extern const char *const log_level_names[];

/** AUTO: to the journal, if stderr is the journal and no file is named; else
 * text. */
enum log_format { LOG_AUTO, LOG_TEXT, LOG_JSON, LOG_JOURNAL };

/** Their names, NULL-terminated, for option tables. */
extern const char *const log_format_names[];

/** The settings of the log. Zero: errors only, to stderr, default rate limit.
 */
struct log_config {
	enum log_level level;	/**< this and more important ones        */
	const char *path;	/**< NULL: stderr; else appended to          */
	enum log_format format; /**< JOURNAL: no path                    */
	/** The journal's socket; NULL: where systemd has it. */
	const char *journal;
	unsigned per_second; /**< lines of one call site; 0: 10       */
	/** Monotonic ns for the rate limit; NULL: the machine's clock. */
	cr_ns (*clock)(void);
};

/** A call site's rate limit. Made by log_event(); zero is fresh. */
struct log_site {
	_Atomic int64_t second; /**< of the lines counted below */
	atomic_uint lines;	/**< in that second             */
	atomic_uint suppressed; /**< since the last line        */
};

/** Lines since log_open(); suppressed ones since the process began. */
struct log_stats {
	uint64_t written; /**< taken by the kernel                        */
	uint64_t dropped; /**< its reader was too slow                    */
	uint64_t failed;  /**< could not be written: a full disk, no reader */
	uint64_t suppressed; /**< over the rate limit of their call site     */
};

/**
 * Configure the process's log; without it, info and above go to stderr.
 * Returns 0, or -errno with @e (the file cannot be opened, or there is no
 * journal: nothing changes; or there is no thread to write it: as after
 * log_close()). While no other thread logs.
 */
int log_open(const struct log_config *config, struct cr_err *e);

/** Write what waits, for up to a second if its reader stalls; back to stderr.
 * While no other thread logs. By itself at exit(3); _exit(2) needs log_flush().
 */
void log_close(void);

/** Wait until all that was logged is written, for @limit at most. False: it is
 * not. Any thread. */
bool log_flush(cr_ns limit);

/** Any thread, while the log is not opened or closed. */
void log_stats(struct log_stats *to);

/** Open the log's file by its name again, as somebody has moved it away: what
 * was logged until now goes into the old one. 0; or -errno with @e: all does.
 * Nothing, if it is stderr or the journal. Any one thread, while others log. */
int log_reopen(struct cr_err *e);

/** Change the level. Any thread. */
void log_set_level(enum log_level level);

/** Would @level be written? */
bool log_wants(enum log_level level);

enum log_kind { LOG_KIND_WORD, LOG_KIND_STR, LOG_KIND_INT, LOG_KIND_REAL };

/** A value of an event, made by the macros below. */
struct log_field {
	const char *key; /**< [A-Za-z0-9_-]+; NULL ends a list */
	enum log_kind kind;
	unsigned decimals; /**< of a REAL */
	union {
		const char *text;
		int64_t number;
		double real;
	};
};

/** A text, in quotation marks where it is no single word. */
#define LOG_WORD(k, v)                                                         \
	{                                                                      \
		.key = (k), .kind = LOG_KIND_WORD, .text = (v)                 \
	}
/** A text, always in quotation marks. */
#define LOG_STR(k, v)                                                          \
	{                                                                      \
		.key = (k), .kind = LOG_KIND_STR, .text = (v)                  \
	}
/** A whole number. */
#define LOG_INT(k, v)                                                          \
	{                                                                      \
		.key = (k), .kind = LOG_KIND_INT, .number = (int64_t)(v)       \
	}
/** A number with @d decimals. */
#define LOG_REAL(k, v, d)                                                      \
	{                                                                      \
		.key = (k), .kind = LOG_KIND_REAL, .decimals = (d),            \
		.real = (v)                                                    \
	}

/** A list of values for the functions that take one. */
#define LOG_FIELDS(...)                                                        \
	((const struct log_field[]){ __VA_ARGS__, { .key = NULL } })

/** Write a line with @fields (NULL: none) unless @site says too many. For
 * log_event(). */
void log_write(struct log_site *site, enum log_level level, const char *event,
	       const struct log_field *fields);

/** Put @fields as a line of text has them, "call=7 why=\"no room\"", into @to.
 * Longer entries are cut. Any thread. */
void log_text(const struct log_field *fields, char *to, size_t size);

/** An event with a list of values. */
#define log_list(level, event, fields)                                         \
	do {                                                                   \
		static struct log_site log_site_;                              \
                                                                               \
		if (log_wants(level))                                          \
			log_write(&log_site_, level, event, fields);           \
	} while (0)

/**
 * log_event(LOG_WARN, "record-dropped", LOG_INT("call", c), LOG_STR("why", e));
 * Texts do no harm: see base/utf8.h for the characters that become '?', or are
 * escaped in JSON. "time", "level", "event", "suppressed" and "cut" are no keys
 * of a caller.
 */
#define log_event(level, event, ...)                                           \
	log_list(level, event, LOG_FIELDS(__VA_ARGS__))

/** An event without values: log_plain(LOG_INFO, "drained"); */
#define log_plain(level, event) log_list(level, event, NULL)

#endif
