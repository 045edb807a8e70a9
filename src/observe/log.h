/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log: events with key=value pairs, one line each; or one JSON object a
 * line; or entries of systemd's journal, with a field for each pair.
 *
 *   2024-05-01T12:00:00.123Z warn  admit-refused task=12 why=util
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

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
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

enum log_colour { LOG_COLOUR_AUTO, LOG_COLOUR_NEVER, LOG_COLOUR_ALWAYS };

/** How to log. Zero: errors only, to stderr, colours on terminals, default
 * rate limit. */
struct log_config {
	enum log_level level;	/**< this and more important ones        */
	const char *path;	/**< NULL: stderr; else appended to          */
	enum log_format format; /**< JOURNAL: no path                    */
	/** The journal's socket; NULL: where systemd has it. */
	const char *journal;
	enum log_colour colour; /**< AUTO: terminals only, unless NO_COLOR */
	unsigned per_second;	/**< lines of one call site; 0: 10       */
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

/** Write a line unless @site says too many. For log_event(). */
__attribute__((format(printf, 4, 5))) void log_write(struct log_site *site,
						     enum log_level level,
						     const char *event,
						     const char *fmt, ...);
__attribute__((format(printf, 4, 0))) void log_write_va(struct log_site *site,
							enum log_level level,
							const char *event,
							const char *fmt,
							va_list ap);

/**
 * log_event(LOG_WARN, "admit-refused", "task=%u why=\"%s\"", id, why);
 * The format says what is a value: what stands between "key=" and the next
 * blank, or in quotation marks behind it; "text" is the key of what has none.
 * What the arguments have in them is part of a value and no more: see
 * base/utf8.h for what becomes '?', or is escaped in JSON. "time", "level",
 * "event", "suppressed" and "cut" are no keys of a caller.
 */
#define log_event(level, event, ...)                                           \
	do {                                                                   \
		static struct log_site log_site_;                              \
                                                                               \
		if (log_wants(level))                                          \
			log_write(&log_site_, level, event, __VA_ARGS__);      \
	} while (0)

/** The same for who has been given them; all that come by here have one rate
 * limit. */
#define log_event_va(level, event, fmt, ap)                                    \
	do {                                                                   \
		static struct log_site log_site_;                              \
                                                                               \
		if (log_wants(level))                                          \
			log_write_va(&log_site_, level, event, fmt, ap);       \
	} while (0)

/** An event without values: log_plain(LOG_INFO, "drained"); */
#define log_plain(level, event) log_event(level, event, "%s", "")

#endif
